"""One test for many rows: every row is tried, and each that fails is named.

A case of its own costs a row some milliseconds of pytest; a row here costs what it computes. Rows
share the fixtures of their test, but for `tmp_path`: each row has a folder of its own below it.
"""

import functools
import inspect
from collections.abc import Callable, Iterable

import pytest

# What `pytest.raises` raises where nothing was raised is no Exception, nor is a skip: a row that
# cannot be tried must be left out of the table, where a reader sees it.
FAILURES = (Exception, pytest.fail.Exception, pytest.skip.Exception)


def for_each(rows: Iterable, check: Callable[..., object]) -> None:
    """Call ``check`` on every row; raise one AssertionError that lists each row that failed.

    A row is ``(name, *arguments)``, or a bare name that is itself the argument. No rows at all is
    a failure too: an empty table would pass unseen.

    >>> for_each([("one", 1), ("two", 2), ("three", 3)], lambda n: 1 // (n - 2))
    Traceback (most recent call last):
    AssertionError: 1 of 3 rows failed
    two: ZeroDivisionError: integer division or modulo by zero
    """
    failures, count = [], 0
    for row in rows:
        name, *arguments = row if isinstance(row, tuple) else (row, row)
        count += 1
        try:
            check(*arguments)
        except FAILURES as error:
            failures.append((name, error))
    assert count, "no rows"
    if failures:
        lines = [f"{name}: {type(error).__name__}: {error}" for name, error in failures]
        report = "\n".join([f"{len(failures)} of {count} rows failed", *lines])
        raise AssertionError(report) from failures[0][1]


def each(
    names: str | tuple[str, ...],
    rows: Iterable | Callable[[], Iterable],
    ids: Callable | None = None,
):
    """As `pytest.mark.parametrize(names, rows, ids=ids)`, but one test that tries every row.

    Where ``rows`` is a function it is called when the test runs, not when it is collected.
    """
    listed = names.split(",") if isinstance(names, str) else names
    keys = [name.strip() for name in listed]

    def decorate(test):
        signature = inspect.signature(test)

        @functools.wraps(test)
        def loop(**fixtures):
            table = rows() if callable(rows) else rows
            whole = [tuple(row) if len(keys) > 1 else (row,) for row in table]

            def check(number, row):
                arguments = fixtures | dict(zip(keys, row, strict=True))
                if "tmp_path" in fixtures:
                    arguments["tmp_path"] = fixtures["tmp_path"] / str(number)
                    arguments["tmp_path"].mkdir()
                test(**arguments)

            names = ["-".join(map(ids or str, row)) for row in whole]
            for_each(zip(names, range(len(whole)), whole, strict=True), check)

        fixtures = [p for name, p in signature.parameters.items() if name not in keys]
        loop.__signature__ = signature.replace(parameters=fixtures)
        return loop

    return decorate
