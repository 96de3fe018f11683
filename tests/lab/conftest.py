"""Where the grid's tests keep runs: a folder, and a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

import postgres_server
from dudley.lab.store.location import RunLocation
from postgres_server import Server


@pytest.fixture(scope="session")
def postgres(require) -> Iterator[Server]:
    """A real server, on loopback."""
    why = postgres_server.absent()
    require("postgres", why is None, str(why))
    with postgres_server.running() as server:
        yield server


@pytest.fixture
def database(postgres: Server) -> Iterator[str]:
    """The address of a new database."""
    with postgres.database() as url:
        yield url


@pytest.fixture(scope="session")
def of_all(postgres: Server) -> Iterator[str]:
    """The address of a database that tests share, as runs do."""
    with postgres.database() as url:
        yield url


@pytest.fixture(params=["folder", "postgres"])
def location(request, tmp_path) -> RunLocation:
    """A location for a run, on either backend."""
    if request.param == "folder":
        return RunLocation.of(tmp_path / "run")
    return RunLocation.of(f"{request.getfixturevalue('of_all')}#{uuid4().hex}")
