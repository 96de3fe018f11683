"""Norms of ABᵀ that is never held: upper ends against exact rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from dudley.core.norms import NORMS
from dudley.weights import product_norms
from dudley.weights.product_norms import product_measured

SCALES = [1.0, 1e-160, 1e150, 1e-300, 5e-324]


def exact(A: np.ndarray, B: np.ndarray) -> list[list[Fraction]]:
    rows = [[Fraction(float(x)) for x in row] for row in A]
    columns = [[Fraction(float(x)) for x in row] for row in B]
    return [[abs(sum(x * y for x, y in zip(a, b, strict=True))) for b in columns] for a in rows]


def check(norms: dict[str, float], A: np.ndarray, B: np.ndarray) -> None:
    """Raise unless every sum and maximum is at or above the exact one."""
    P = exact(A, B)
    turned = list(zip(*P, strict=True))
    assert Fraction(norms["l11"]) >= sum(map(sum, P))
    assert Fraction(norms["linf"]) >= max(map(max, P))
    assert Fraction(norms["row1inf"]) >= max(map(sum, P))
    assert Fraction(norms["col1inf"]) >= max(map(sum, turned))
    squares = [[sum(x * x for x in row) for row in side] for side in (P, turned)]
    assert Fraction(norms["fro"]) ** 2 >= sum(squares[0])
    for name, sums in zip(("row2inf", "col2inf"), squares, strict=True):
        assert Fraction(norms[name]) ** 2 >= max(sums)


entries = st.one_of(st.integers(-3, 3), st.floats(-4, 4, width=32), st.floats(-1e-8, 1e-8))


@given(
    st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 3)).flatmap(
        lambda s: st.tuples(
            st.lists(entries, min_size=s[0] * s[2], max_size=s[0] * s[2]),
            st.lists(entries, min_size=s[1] * s[2], max_size=s[1] * s[2]),
            st.just(s),
        )
    ),
    st.sampled_from(SCALES),
    st.sampled_from([1.0, 1e-150]),
)
@settings(max_examples=60)
def test_upper_ends_are_upper_ends(drawn, scale: float, other: float):
    left, right, (a, b, k) = drawn
    A = np.array(left, dtype=float).reshape(a, k) * scale
    B = np.array(right, dtype=float).reshape(b, k) * other
    product = product_measured(torch.from_numpy(A), torch.from_numpy(B))
    check(product.norms, A, B)
    assert (
        product.norms["op"] <= product.norms["fro"] <= product.norms["nuc"] * (1 + 1e-12) + 1e-320
    )
    assert 0 <= product.stable_rank.lower <= product.stable_rank.upper <= min(a, b, k)


def test_cancellation_is_paid_for():
    """A row of A is orthogonal to B up to rounding: the computed entry is smaller than the true."""
    A = np.array([[1.0, 1.0, 2.0**-60]])
    B = np.array([[1.0, -1.0, 1.0]])
    product = product_measured(torch.from_numpy(A), torch.from_numpy(B))
    check(product.norms, A, B)
    assert product.norms["linf"] >= 2.0**-60


def test_blocks_of_rows_change_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    A, B = (torch.from_numpy(rng.standard_normal(s)) for s in ((37, 5), (23, 5)))
    whole = product_measured(A, B)
    monkeypatch.setattr(product_norms, "BLOCK", 50)
    parts = product_measured(A, B)
    P = (A @ B.T).numpy()
    singular = np.linalg.svd(P, compute_uv=False)
    stable = (singular**2).sum() / singular[0] ** 2
    for product in (whole, parts):
        for name in NORMS:
            assert name == "nuc" or product.norms[name] == pytest.approx(NORMS[name](P), rel=1e-11)
        assert product.stable_rank.lower <= stable * (1 + 1e-12)
        assert stable <= product.stable_rank.upper * (1 + 1e-12)
        assert product.stable_rank.upper - product.stable_rank.lower < 1e-9


def test_the_check_sees_a_norm_that_is_too_small():
    A, B = np.eye(3), np.ones((2, 3))
    norms = product_measured(torch.from_numpy(A), torch.from_numpy(B)).norms
    for name in ("l11", "linf", "row1inf", "col1inf", "fro", "row2inf", "col2inf"):
        with pytest.raises(AssertionError):
            check(norms | {name: norms[name] * (1 - 1e-9)}, A, B)
