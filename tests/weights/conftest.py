"""Matrices that are measured once: tests that change a config alone meet the same ones again."""

from collections.abc import Callable

import pytest

from dudley.weights import walk

Table = dict[tuple, object]


@pytest.fixture(scope="session")
def numbers_by_entries() -> Table:
    return {}


@pytest.fixture
def measured_once(monkeypatch: pytest.MonkeyPatch, numbers_by_entries: Table) -> None:
    """The numbers of a matrix follow from its entries, so equal ones are not measured again.

    Reading, planning and describing are done anew for each checkpoint.
    """
    for name in ("measured", "product_measured"):
        function = getattr(walk, name)
        monkeypatch.setattr(walk, name, _remembered(name, function, numbers_by_entries))


def _remembered(name: str, function: Callable, table: Table) -> Callable:
    def call(*arguments):
        key = (name, *(_entries(argument) for argument in arguments))
        if key not in table:
            table[key] = function(*arguments)
        return table[key]

    return call


def _entries(argument) -> object:
    """A tensor by all that a measurement sees of it; anything else as it is."""
    if not hasattr(argument, "stride"):
        return argument
    layout = (str(argument.dtype), tuple(argument.shape), argument.stride())
    return *layout, argument.contiguous().numpy().tobytes()
