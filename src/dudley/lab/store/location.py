"""Where a run is kept: a folder, or a PostgreSQL database and the run's name in it.

A folder is the default and needs no server. ``postgresql://user@host/database#run`` is a database
that many runs share; what follows ``#`` names one of them.

>>> RunLocation.of("runs/and") / "round-1"
RunLocation('runs/and/round-1')
>>> shared = RunLocation.of("postgresql://ada:secret@db.lab/dudley#and") / "round-1"
>>> print(shared)
postgresql://ada@db.lab/dudley#and/round-1

A password is better kept out of the address: libpq reads it from ``~/.pgpass`` or ``PGPASSWORD``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from dudley.core.errors import InputError
from dudley.core.provenance import hidden

SCHEMES = ("postgresql", "postgres")
SPELLED = "a folder, or postgresql://user@host/database#run"
WORD = r"(?!\.{1,2}(?:/|$))[^\s#/]+"  # neither . nor ..: a name is no way out of a folder
NAME = re.compile(f"{WORD}(/{WORD})*")


@dataclass(frozen=True, repr=False)
class RunLocation:
    """Either ``folder`` is set, or ``url`` (of the database) and ``run`` (its name there)."""

    folder: Path | None = None
    url: str | None = None
    run: str | None = None

    @staticmethod
    def of(where: RunLocation | Path | str) -> RunLocation:
        """The location that somebody named."""
        if isinstance(where, RunLocation):
            return where
        if isinstance(where, Path):
            if where.parts and where.parts[0].rstrip(":") in SCHEMES and ":" in where.parts[0]:
                raise InputError("location of a run", "an address as a string", f"the path {where}")
            return RunLocation(folder=where)
        if not where or (
            ":" in where and where.partition(":")[0] in SCHEMES and "://" not in where
        ):
            raise InputError("location of a run", SPELLED, hidden(where) or "nothing")
        if "://" not in where:
            return RunLocation(folder=Path(where))
        try:
            parts = urlsplit(where)
            _ = parts.port
        except ValueError:
            fix = "quote what is no letter or digit in a password (%2F for /), or use ~/.pgpass"
            raise InputError(
                "location of a run", SPELLED, "an address that cannot be read", fix
            ) from None
        if parts.scheme not in SCHEMES or not parts.path.strip("/"):
            raise InputError("location of a run", SPELLED, hidden(where.partition("#")[0]))
        if not NAME.fullmatch(parts.fragment):
            fix = "end the address with # and the name of the run, words joined by /"
            raise InputError("name of a run", "a word after #", repr(parts.fragment), fix)
        return RunLocation(url=where.partition("#")[0], run=parts.fragment)

    def __truediv__(self, name: str) -> RunLocation:
        """A location below: a folder in the folder, or a longer name in the same database."""
        if self.folder is not None:
            return RunLocation(folder=self.folder / name)
        return RunLocation(url=self.url, run=f"{self.run}/{name}")

    @property
    def description(self) -> str:
        """As errors name it."""
        return f"run folder {self}" if self.folder is not None else f"run {self}"

    @property
    def another(self) -> str:
        """What to do where something else is there."""
        return "name another folder" if self.folder is not None else "name another run after #"

    def __str__(self) -> str:
        return str(self.folder) if self.url is None else f"{hidden(self.url)}#{self.run}"

    def __repr__(self) -> str:
        return f"RunLocation({str(self)!r})"
