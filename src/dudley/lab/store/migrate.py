"""Tables of this version: made where there are none, brought there from the version before.

A migration adds tables, columns and indexes, and changes nothing that was found; it is one
transaction on either database, so that a store is of one version or of the other. What works on a
store of version 1 meanwhile goes on: it does not name the new columns, and they may be empty. A
run of version 1 in a shared database gets the name of its grid.
"""

from __future__ import annotations

from sqlalchemy.exc import OperationalError, ProgrammingError

from dudley.core.errors import InputError
from dudley.lab.store import schema
from dudley.lab.store.schema import VERSION, sa


def version(connection: sa.Connection) -> int | None:
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
    """Make or migrate the tables, in the caller's transaction."""
    found = version(connection)
    expect_known(found, where)
    if found is None:
        schema.metadata.create_all(connection)
    for step in range(found or VERSION, VERSION):
        STEPS[step](connection)
        connection.execute(sa.update(schema.runs).values(schema=step + 1))


def expect_known(found: int | None, where: object) -> None:
    """Refuse a store that a later dudley wrote."""
    if found is not None and found not in (VERSION, *STEPS):
        fix = "a newer dudley wrote it: upgrade this one"
        raise InputError(f"store {where}", f"schema at most {VERSION}", found, fix)


def _from_1(connection: sa.Connection) -> None:
    b = schema.batches.c
    for column in (schema.runs.c.label, b.size, b.began, b.heard, b.seconds):
        told = sa.schema.CreateColumn(column).compile(dialect=connection.dialect)
        connection.exec_driver_sql(f"ALTER TABLE {column.table.name} ADD COLUMN {told}")
    connection.execute(sa.update(schema.runs).values(label=schema.runs.c.name))
    size = sa.select(sa.func.count()).where(schema.trials.c.batch == b.id).scalar_subquery()
    connection.execute(sa.update(schema.batches).values(size=size))
    for table in (schema.attempts, schema.chunks):
        table.create(connection)
    failed = sa.select(b.id, b.attempt, b.start, b.error).where(b.status == schema.FAILED)
    for row in connection.execute(failed).all():
        told = {"batch": row.id, "attempt": row.attempt, "start": row.start, "error": row.error}
        connection.execute(sa.insert(schema.attempts).values(told | {"outcome": schema.FAILED}))
    for table in (schema.runs, schema.batches):
        for index in table.indexes:
            index.create(connection)


STEPS = {1: _from_1}  # from a version to the next
