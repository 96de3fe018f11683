"""SQLite and PostgreSQL pass the published suite; what it looks for, it finds."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy.exc import IntegrityError

from dudley.lab.store import claims
from dudley.lab.store.conformance import CHECKS, Backend, Inapplicable
from dudley.lab.store.location import RunLocation
from dudley.lab.store.schema import sa
from live import lives
from postgres_server import Server

ROOM = 256 << 10  # bytes that a file may still grow by
SERVER_ROOM = 4 << 20  # bytes of a file of the server's: above the 1 MiB of its log's


@dataclass(frozen=True)
class Folders(Backend):
    """SQLite, in folders."""

    folder: Path

    def location(self, name: str) -> RunLocation:
        return RunLocation.of(self.folder / name)

    @contextmanager
    def full(self, location: RunLocation) -> Iterator[None]:
        assert location.folder is not None
        largest = max(path.stat().st_size for path in location.folder.iterdir())
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest + ROOM, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)


@dataclass(frozen=True)
class Shared(Backend):
    """PostgreSQL, in one database."""

    url: str
    server: Server

    def location(self, name: str) -> RunLocation:
        return RunLocation.of(f"{self.url}#{name}")

    @contextmanager
    def full(self, location: RunLocation) -> Iterator[None]:
        """Every process of the server, and those that it starts."""
        if self.server.pid is None:
            raise Inapplicable("the limit can be set for a server of our own only")
        self.limit(str(SERVER_ROOM))
        try:
            yield
        finally:
            self.limit("unlimited")

    def limit(self, size: str) -> None:
        """By the user whose processes they are: the server first, so that what it starts has it."""
        pid, owner = self.server.pid, Path(f"/proc/{self.server.pid}").stat()
        theirs = {"user": owner.st_uid, "group": owner.st_gid} if os.geteuid() == 0 else {}
        left, limited = {str(pid)}, set[str]()
        while left:
            for process in left:
                command = ["prlimit", "--pid", process, f"--fsize={size}:"]
                done = subprocess.run(command, capture_output=True, text=True, **theirs)
                # A connection that was closed a moment ago has a process that ends by itself.
                assert done.returncode == 0 or not lives(int(process)), done.stderr
            limited |= left
            left = set(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()) - limited


@pytest.fixture(params=["folder", "postgres"])
def backend(request, tmp_path: Path) -> Backend:
    if request.param == "folder":
        return Folders(tmp_path)
    server = request.getfixturevalue("postgres")
    return Shared(request.getfixturevalue("database"), server)


def passes(name: str, backend: Backend, thorough: bool) -> None:
    try:
        CHECKS[name](backend, thorough=thorough)
    except Inapplicable as reason:
        pytest.skip(str(reason))


# At full size these are in the slow tier; a small crowd shows little.
QUICK = [name for name in CHECKS if name != "many_writers"]


@pytest.mark.parametrize("name", QUICK)
def test_it_conforms(name: str, backend: Backend):
    passes(name, backend, thorough=False)


def test_without_the_fence_two_writers_do_not_conform(tmp_path: Path, monkeypatch):
    of = claims.batches.c.id == sa.bindparam("of")
    anyone = sa.update(claims.batches).where(of, sa.bindparam("held") > 0)
    monkeypatch.setattr(claims, "SET", anyone)
    with pytest.raises((AssertionError, IntegrityError)):  # two ends of one attempt
        CHECKS["two_writers_on_one_cell"](Folders(tmp_path))


def test_a_store_that_takes_any_version_does_not_conform(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("dudley.lab.store.store.expect_current", lambda version, where: None)
    with pytest.raises(AssertionError, match="a store of version 1 was opened"):
        CHECKS["another_version"](Folders(tmp_path))


def test_a_disk_that_is_not_full_does_not_conform(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("dudley.lab.store.conformance.full.LIMIT", 4)
    with pytest.raises(AssertionError, match="fit on a full disk"):
        CHECKS["full_disk"](Folders(tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["killed_while_writing", "two_writers_on_one_cell",
                                  "read_while_writing", "many_writers"])  # fmt: skip
def test_it_conforms_at_full_size(name: str, backend: Backend):
    passes(name, backend, thorough=True)
