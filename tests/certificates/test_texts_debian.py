"""Texts of Debian packages: units are sources, what two share is in none, licences are named."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from dudley.certificates.texts.debian import UNNAMED, package_texts
from dudley.core.errors import InputError

STATUS = """Package: libcat1
Status: install ok installed
Source: cat (1.0)
Architecture: amd64
Version: 1.0-2+b1

Package: cat-doc
Status: install ok installed
Source: cat
Architecture: all
Version: 1.0-2

Package: dog
Status: install ok installed
Architecture: all
Version: 3

Package: gone
Status: deinstall ok config-files
Architecture: all
Version: 3

Package: empty
Status: install ok installed
Architecture: all
Version: 1
"""
LICENCE = "This program is free software.\nIt has no warranty."


def put(root: Path, package: str, files: dict[str, bytes]) -> None:
    records = root / "var/lib/dpkg/info"
    records.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    names = ["/.", "/usr/share/../../etc/passwd", *(f"/{name}" for name in files)]
    (records / f"{package}.list").write_text("\n".join(names) + "\n")


@pytest.fixture
def root(tmp_path):
    doc = "usr/share/doc"
    put(tmp_path, "libcat1:amd64", {
        f"{doc}/libcat1/copyright": b"Format: dep5\n\nLicense: MIT\n text\n\nLicense: GPL-2+\n",
        "usr/include/cat.h": f"/* {LICENCE.upper()}\n*/".encode(),
        "usr/include/cat.c": f"{LICENCE}\n\nint   cat;\n\nint cat;\n".encode(),
        "usr/lib/cat.so": b"not read",
        f"{doc}/libcat1/changelog.Debian.gz": gzip.compress(b"no changelog"),
    })  # fmt: skip
    put(tmp_path, "cat-doc", {
        f"{doc}/cat-doc/manual.txt.gz": gzip.compress("the cät\n\nsat".encode()),
        f"{doc}/cat-doc/broken.gz": b"\x1f\x8b no",
        f"{doc}/cat-doc/picture": b"\0\1", f"{doc}/cat-doc/latin": b"\xe4",
    })  # fmt: skip
    put(tmp_path, "dog", {f"{doc}/dog/README": f"a dog\n \n{LICENCE}\n".encode()})
    put(tmp_path, "gone", {f"{doc}/gone/README": b"gone"})
    (tmp_path / doc / "dog/link").symlink_to("/etc/passwd")
    (tmp_path / "var/lib/dpkg/status").write_text(STATUS)
    return tmp_path


def test_a_unit_is_a_source_package_without_what_others_have(root):
    cat, dog = package_texts(root)
    assert (cat.source, cat.version, cat.licences) == ("cat", "1.0", ("GPL-2+", "MIT"))
    assert cat.text == "int   cat;\n\n/* THIS PROGRAM IS FREE SOFTWARE.\nIT HAS NO WARRANTY.\n*/" \
        "\n\nthe cät\n\nsat"  # fmt: skip
    assert (cat.paragraphs, cat.shared) == (4, 1)
    assert (dog.source, dog.text, dog.licences) == ("dog", "a dog", (UNNAMED,))
    assert dog.shared == 1


def test_a_folder_without_records_is_refused(tmp_path):
    with pytest.raises(InputError, match="dpkg/status"):
        next(package_texts(tmp_path))
