"""The version of a store's tables: made where there are none, refused where it is another.

There is no migration: a store is read by a dudley that writes tables of the same version.
"""

from __future__ import annotations

from sqlalchemy.exc import OperationalError, ProgrammingError

from dudley.core.errors import InputError
from dudley.lab.store import schema
from dudley.lab.store.schema import VERSION, sa


def version_of(connection: sa.Connection) -> int | None:
    """The version of a database's tables; None where there are none."""
    if connection.dialect.name == "sqlite":
        _expect_plain(connection)
    if not sa.inspect(connection).has_table("runs"):
        return None
    try:
        return connection.execute(sa.select(sa.func.max(schema.runs.c.schema))).scalar_one()
    except (ProgrammingError, OperationalError) as error:  # as PostgreSQL and SQLite have it
        if "schema" not in str(error.orig):
            raise
        fix = "name another database"
        raise InputError("table runs", "that of dudley", "another of that name", fix) from None


def _expect_plain(connection: sa.Connection) -> None:
    """Refuse a file in which SQL of its own would run when it is read or written.

    A view or a generated column may compute without end, a trigger change what is written. What
    has no page of its own is a view, a trigger or a virtual table.
    """
    strange = connection.exec_driver_sql(
        "SELECT name FROM sqlite_master AS m WHERE ifnull(rootpage, 0) = 0"
        " OR EXISTS (SELECT 1 FROM pragma_table_xinfo(m.name) WHERE hidden)"
        " OR EXISTS (SELECT 1 FROM pragma_index_xinfo(m.name) WHERE cid = -2)"
    ).scalar()
    if strange is not None:
        fix = "somebody else wrote it: take another store"
        raise InputError("store", "plain tables", f"{strange}, which runs SQL of its own", fix)


def ensure(connection: sa.Connection, where: object) -> None:
    """Make the tables, in the caller's transaction, where there are none."""
    version = version_of(connection)
    expect_current(version, where)
    if version is None:
        schema.metadata.create_all(connection)


def expect_current(version: int | None, where: object) -> None:
    """Refuse a store whose tables are of another version than this dudley's."""
    if version not in (None, VERSION):
        writer = "a newer" if version > VERSION else "an older"
        fix = f"{writer} dudley wrote it: read it with that one, or run into another store"
        raise InputError(
            f"store {where}", f"tables of version {VERSION}", f"version {version}", fix
        )
