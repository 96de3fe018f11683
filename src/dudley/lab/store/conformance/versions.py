"""A store of another version of the tables is refused, and stays as it is."""

from __future__ import annotations

from dudley.core.errors import InputError
from dudley.lab.store.conformance.backend import Backend
from dudley.lab.store.conformance.sample import sample, work_off
from dudley.lab.store.database import Database
from dudley.lab.store.schema import VERSION, runs, sa
from dudley.lab.store.store import Store
from dudley.lab.store.version import version_of

BATCHES = 3


def another_version(backend: Backend, thorough: bool = False) -> None:
    """An earlier and a later version: neither opened nor worked on, and the error says which."""
    location = backend.location("sample")
    Store.prepare(location, *sample(BATCHES), resume=True).close()
    database = Database.of(location)
    for other in (VERSION - 1, VERSION + 1):
        with database.writing() as connection:
            connection.execute(sa.update(runs).values(schema=other))
        for act in (Store.open, lambda location: work_off(location, BATCHES)):
            try:
                act(location)
            except InputError as error:
                assert f"tables of version {VERSION}, got version {other}" in str(error)
            else:
                raise AssertionError(f"a store of version {other} was opened")
        with database.reading() as connection:
            assert version_of(connection) == other
    database.close()
