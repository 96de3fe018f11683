"""A store of the previous version: opened, it is of this one, and all that was found stands."""

from __future__ import annotations

from dudley.core.errors import InputError
from dudley.lab.store.conformance.backend import Backend
from dudley.lab.store.conformance.sample import STEPS, assert_right, expected, sample, work_off
from dudley.lab.store.conformance.version_1 import fill
from dudley.lab.store.database import Database
from dudley.lab.store.location import RunLocation
from dudley.lab.store.migrate import STEPS as MIGRATIONS, version
from dudley.lab.store.schema import VERSION, runs, sa
from dudley.lab.store.store import Store
from dudley.lab.store.summary import summary
from dudley.lab.store.table import curves, table

BATCHES = 3


def migration_from_the_previous_version(backend: Backend, thorough: bool = False) -> None:
    """Version 1 with one batch done and one running: all or nothing, then read, then gone on."""
    place = backend.place("sample")
    grid, packed = sample(BATCHES)
    if place.folder is not None:
        (place.folder / "checkpoints").mkdir(parents=True)
    database = Database.of(place)
    done = expected(grid)[: len(packed[0])]
    with database.writing() as connection:
        fill(connection, grid, packed, done)
    _broken_off(database, place)
    store = Store.open(place)
    with store.database.reading() as connection:
        assert version(connection) == VERSION
    assert store.grid == grid and [b.hash for b in store.packing] == [b.hash for b in packed]
    assert summary(store).batches == {"done": 1, "running": 1, "waiting": 1}
    store.close()
    assert [row.get("result.state") for row in table(place)][: len(done)] == done
    assert list(curves(place, "state")[0][0]) == [2, 4, 6, 8, 10, STEPS]
    Store.open(place).close()
    work_off(place, BATCHES)
    assert_right(place, grid)
    _later(database, place)
    database.close()


def _broken_off(database: Database, place: RunLocation) -> None:
    """A migration that fails at its end leaves the version before, whole."""

    def fails(connection: sa.Connection) -> None:
        own(connection)
        raise RuntimeError("broken off")

    own = MIGRATIONS[VERSION - 1]
    MIGRATIONS[VERSION - 1] = fails
    try:
        Store.open(place)
    except RuntimeError:
        pass
    else:
        raise AssertionError("a migration that fails passed")
    finally:
        MIGRATIONS[VERSION - 1] = own
    with database.reading() as connection:
        assert version(connection) == VERSION - 1
        assert not sa.inspect(connection).has_table("attempts"), "half a migration stands"


def _later(database: Database, place: RunLocation) -> None:
    """A store that a later version wrote is refused, and stays as it is."""
    with database.writing() as connection:
        connection.execute(sa.update(runs).values(schema=VERSION + 1))
    for act in (Store.open, lambda place: work_off(place, BATCHES)):
        try:
            act(place)
        except InputError as error:
            assert f"schema at most {VERSION}, got {VERSION + 1}" in str(error)
        else:
            raise AssertionError("a store of a later version was opened")
    with database.reading() as connection:
        assert version(connection) == VERSION + 1
