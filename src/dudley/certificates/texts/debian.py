"""Texts of Debian packages: one for each source package, and nothing that two of them share.

A root is a Debian system, or a folder into which packages and their records were unpacked. The
records say which files a binary package has (``var/lib/dpkg/info/NAME.list``), and of which source
and version it is (``var/lib/dpkg/status``). All binary packages of a source are one unit, since
they are one work in parts.

**Read** are files below `PLACES` that are UTF-8 without a byte 0, unpacked where they end in
``.gz``, the first mebibyte of each; not copyright files, from which the licences are taken, nor
changelogs. Links are passed over. The text of a unit is its paragraphs, in the order of the paths.

**Left out** is a paragraph (lines between empty ones) that also stands in another source package,
from all of them, and one that has stood before in its own. Two paragraphs are the same if they are
after lower-casing and with one space between words. So the texts of licences, generated pages and
vendored files count for no package. What the remaining texts share is not found: translations, or
the same paragraph with a word changed.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dudley.core.boundary.paths import regular
from dudley.core.errors import InputError

PLACES = (
    "usr/include", "usr/lib/python3", "usr/share/doc", "usr/share/info", "usr/share/man",
    "usr/share/perl5",
)  # fmt: skip
APART = re.compile(r"(copyright|changelog(\..*)?|NEWS\.Debian)(\.gz)?", re.IGNORECASE)
PLAIN = re.compile(r"[A-Za-z0-9+.:~-]+")
MOST_FILE = 1 << 20
MOST_RECORD = 1 << 28
UNNAMED = "not machine-readable"
SHARED = -1


@dataclass(frozen=True)
class PackageText:
    """The text of a source package; how many paragraphs are in it, and how many were left out."""

    source: str
    version: str
    licences: tuple[str, ...]
    paragraphs: int
    shared: int
    text: str


@dataclass(frozen=True)
class SourcePackage:
    """A source package, and the files of its binary packages below a root."""

    name: str
    version: str
    files: tuple[Path, ...]
    copyrights: tuple[Path, ...]


def package_texts(root: Path) -> Iterator[PackageText]:
    """The texts of all source packages of a root that have one, by name."""
    packages = source_packages(root)
    owners: dict[bytes, int] = {}
    for number, package in enumerate(packages):
        for paragraph in _paragraphs(package):
            key = _key(paragraph)
            owners[key] = number if owners.get(key, number) == number else SHARED
    for package in packages:
        paragraphs, seen, shared = [], set(), 0
        for paragraph in _paragraphs(package):
            key = _key(paragraph)
            shared += owners[key] == SHARED
            if owners[key] != SHARED and key not in seen:
                seen.add(key)
                paragraphs.append(paragraph)
        if paragraphs:
            yield PackageText(
                package.name, package.version, _licences(package), len(paragraphs), shared,
                "\n\n".join(paragraphs),
            )  # fmt: skip


def source_packages(root: Path) -> tuple[SourcePackage, ...]:
    """What the records of a root say, by name."""
    status = root / "var/lib/dpkg/status"
    if not status.is_file():
        raise InputError(str(root), "a root with var/lib/dpkg/status", "none")
    made: dict[str, tuple[str, set[Path], set[Path]]] = {}
    for record in _records(status):
        if not record.get("status", "").endswith(" installed"):
            continue
        name, version = _source(record)
        _, files, copyrights = made.setdefault(name, (version, set(), set()))
        for path in _listed(root, record):
            (copyrights if path.name == "copyright" else files).add(path)
    return tuple(
        SourcePackage(name, version, tuple(sorted(files)), tuple(sorted(copyrights)))
        for name, (version, files, copyrights) in sorted(made.items())
    )


def _records(status: Path) -> Iterator[dict[str, str]]:
    with regular(status).open("rb") as file:
        whole = file.read(MOST_RECORD).decode("utf-8", "replace")
    for stanza in whole.split("\n\n"):
        pairs = re.findall(r"^([A-Za-z-]+): *(.*)$", stanza, re.MULTILINE)
        if pairs:
            yield {name.lower(): value for name, value in pairs}


def _source(record: dict[str, str]) -> tuple[str, str]:
    """``Source: NAME (VERSION)``, and where it is not said that of the binary package."""
    stated = re.fullmatch(r"(\S+)(?: \((.*)\))?", record.get("source", record.get("package", "")))
    version = record.get("version", "")
    return (stated[1], stated[2] or version) if stated else (record.get("package", ""), version)


def _listed(root: Path, record: dict[str, str]) -> Iterator[Path]:
    package, folder = record.get("package", ""), root / "var/lib/dpkg/info"
    names = (f"{package}.list", f"{package}:{record.get('architecture', '')}.list")
    there = (name for name in names if PLAIN.fullmatch(name) and (folder / name).is_file())
    name = next(there, None)
    if name is None:
        return
    place = folder / name
    for line in place.read_text("utf-8", "replace").splitlines():
        path = root / line.lstrip("/")
        below = line.lstrip("/").startswith(tuple(f"{name}/" for name in PLACES))
        if below and ".." not in path.parts and path.is_file() and not path.is_symlink():
            yield path


def _paragraphs(package: SourcePackage) -> Iterator[str]:
    for path in package.files:
        if not APART.fullmatch(path.name):
            yield from filter(None, map(str.strip, re.split(r"\n\s*\n", _text(path))))


def _text(path: Path) -> str:
    """The beginning of a file, if it is a text."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            raw = file.read(MOST_FILE)
        return "" if b"\0" in raw else raw.decode("utf-8")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError):
        return ""  # no text, or one that cannot be read


def _key(paragraph: str) -> bytes:
    return hashlib.sha256(" ".join(paragraph.lower().split()).encode()).digest()[:12]


def _licences(package: SourcePackage) -> tuple[str, ...]:
    """The short names of machine-readable copyright files."""
    names: set[str] = set()
    for path in package.copyrights:
        names |= set(re.findall(r"^License: *(\S.*?)\s*$", _text(path), re.MULTILINE)[:100])
    return tuple(sorted(names)) or (UNNAMED,)
