"""Attacks on allocations, atoms, tails and constructions: independent optima, and power."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dudley.audit.attacks.algebra import dual_of_split, least_of_split
from dudley.audit.attacks.tails import largest_of

sizes = st.floats(1e-3, 1e3)


@given(sizes, sizes, sizes, sizes, sizes, st.floats(0.01, 0.99))
def test_the_dual_is_below_every_split_and_reaches_the_best(C1, C2, b1, b2, ε, t):
    lower = dual_of_split([C1, C2], [b1, b2], ε)
    assert lower <= C1 * (b1 / (t * ε)) ** 2 + C2 * (b2 / ((1 - t) * ε)) ** 2
    γ = (C1 * b1**2) ** (1 / 3) + (C2 * b2**2) ** (1 / 3)
    assert lower == pytest.approx(γ**3 / ε**2, rel=1e-6)


@given(sizes, sizes)
def test_cells_are_below_every_split_and_near_the_best(a, b):
    with np.errstate(divide="ignore"):
        lower = least_of_split(lambda t: a / t, lambda t: b / t)
    best = (math.sqrt(a) + math.sqrt(b)) ** 2
    assert lower <= best
    t = math.sqrt(a) / (math.sqrt(a) + math.sqrt(b))
    assert lower >= best * (1 - 1e-4 / min(t, 1 - t))


@pytest.mark.parametrize("d, exact", [(1, math.sqrt(2 / math.pi)), (2, 2 / math.sqrt(math.pi))])
def test_largest_of_gaussians(d, exact):
    assert exact * (1 - 1e-3) < largest_of(d) < exact
