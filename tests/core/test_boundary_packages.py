"""Wheels and npm tarballs of strangers: what is wanted is read, hostile ones are refused."""

import gzip
import io
import tarfile
import zipfile

import pytest

from dudley.core.boundary import limits, packages
from dudley.core.errors import InputError


def anything(name: str) -> bool:
    return True


def tarball(path, members):
    """A .tgz of (TarInfo, content)."""
    with tarfile.open(path, "w:gz") as archive:
        for member, content in members:
            archive.addfile(member, io.BytesIO(content))
    return path


def member(name, size, **fields):
    info = tarfile.TarInfo(name)
    info.size = size
    for field, value in fields.items():
        setattr(info, field, value)
    return info


def test_what_is_wanted_is_read_under_its_name_in_the_package(tmp_path):
    parts = [(member(f"package/{n}", 1), n.encode()) for n in "abc"]
    path = tarball(tmp_path / "x.tgz", parts)
    assert packages.tarball_files(path, lambda name: name in "ac") == {"a": b"a", "c": b"c"}
    with zipfile.ZipFile(tmp_path / "x.whl", "w") as archive:
        for name in "abc":
            archive.writestr(name, name)
    wheel = packages.wheel_files(tmp_path / "x.whl", lambda name: name in "ac")
    assert wheel == {"a": b"a", "c": b"c"}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"}, "regular files"),
        ({"type": tarfile.LNKTYPE, "linkname": "package/b"}, "regular files"),
        ({"type": tarfile.FIFOTYPE}, "regular files"),
    ],
)
def test_links_and_pipes_are_no_files(tmp_path, fields, words):
    path = tarball(tmp_path / "x.tgz", [(member("package/a", 0, **fields), b"")])
    with pytest.raises(InputError, match=words):
        packages.tarball_files(path, anything)


def test_a_name_that_leads_elsewhere_leads_nowhere(tmp_path):
    outside = tmp_path / "outside"
    path = tarball(tmp_path / "x.tgz", [(member("../outside", 4), b"evil")])
    assert packages.tarball_files(path, anything) == {"outside": b"evil"}
    assert not outside.exists() and [file.name for file in tmp_path.iterdir()] == ["x.tgz"]


def test_a_name_comes_once(tmp_path):
    path = tarball(tmp_path / "x.tgz", [(member("package/a", 1), b"a"), (member("p/a", 1), b"b")])
    with pytest.raises(InputError, match="each once"):
        packages.tarball_files(path, anything)
    with (
        pytest.warns(UserWarning, match="Duplicate"),
        zipfile.ZipFile(tmp_path / "x.whl", "w") as archive,
    ):
        archive.writestr("a", "1")
        archive.writestr("a", "2")
    with pytest.raises(InputError, match="come once"):
        packages.wheel_files(tmp_path / "x.whl", anything)


def test_bombs_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "UNPACKED", 1 << 20)
    zeros = bytes(1 << 21)
    path = tarball(tmp_path / "x.tgz", [(member("package/a", len(zeros)), zeros)])
    for wanted in (anything, lambda name: False):  # passed over, it is unpacked all the same
        with pytest.raises(InputError, match="at most 1 MiB"):
            packages.tarball_files(path, wanted)
    with zipfile.ZipFile(tmp_path / "x.whl", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", zeros)
    with pytest.raises(InputError, match="at most 1 MiB unpacked"):
        packages.wheel_files(tmp_path / "x.whl", anything)


def test_a_header_of_a_tarball_has_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "PACKAGE_HEADER", 1 << 16)
    long = member("package/a", 0, pax_headers={"comment": "x" * (1 << 17)})
    path = tarball(tmp_path / "x.tgz", [(long, b"")])
    with pytest.raises(InputError, match="at once"):
        packages.tarball_files(path, anything)


def test_too_many_files_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "PACKAGE_MEMBERS", 3)
    path = tarball(tmp_path / "x.tgz", [(member(f"package/{i}", 0), b"") for i in range(4)])
    with pytest.raises(InputError, match="at most 3 files"):
        packages.tarball_files(path, anything)
    with zipfile.ZipFile(tmp_path / "x.whl", "w") as archive:
        for i in range(4):
            archive.writestr(str(i), "")
    with pytest.raises(InputError, match="at most 3 files"):
        packages.wheel_files(tmp_path / "x.whl", anything)


@pytest.mark.parametrize(
    "raw", [b"", b"PK\5\6", b"no archive", gzip.compress(b"no tar" * 99, mtime=0)]
)
def test_what_is_no_archive_is_refused(tmp_path, raw):
    path = tmp_path / "x"
    path.write_bytes(raw)
    with pytest.raises(InputError, match="expected"):
        packages.wheel_files(path, anything)
    with pytest.raises(InputError, match="expected"):
        packages.tarball_files(path, anything)


def test_a_damaged_archive_is_refused_wherever_it_breaks_off(tmp_path):
    path = tarball(tmp_path / "x.tgz", [(member("package/a", 4096), bytes(range(256)) * 16)])
    whole = path.read_bytes()
    for end in range(0, len(whole) - 12, 7):
        path.write_bytes(whole[:end])
        with pytest.raises(InputError, match="expected"):
            packages.tarball_files(path, anything)
