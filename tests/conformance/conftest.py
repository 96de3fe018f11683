"""A mistake planted in the package for the length of one test."""

import pytest

from dudley.calculus import hull
from dudley.classes import linear
from dudley.core import constraint
from dudley.core.norms import implications


@pytest.fixture
def plant(monkeypatch):
    """`plant(owner, name, wrong)`: no table of before is used with it, and none of it survives."""

    def clear():
        hull.forget()
        tables = (linear._entropy, constraint._bounds, constraint._deviations)
        for table in (*tables, implications._implied):
            table.cache_clear()

    clear()
    yield monkeypatch.setattr
    monkeypatch.undo()
    clear()
