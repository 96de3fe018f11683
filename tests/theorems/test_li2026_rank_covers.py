"""li2026, Assumption 5.7 and Lemma B.6: covers of linear maps of low rank."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dudley.core.errors import InputError
from dudley.theorems.registry import evaluate, load
from dudley.theorems.witness.counterexamples.fixed_subspace import FixedSubspace
from dudley.theorems.witness.rank_constants import least, serves, serving

STATEMENTS = load()


def test_the_packing_of_the_disc_refutes_lemma_b6():
    w = FixedSubspace()
    points, q = w.packing(), np.array([0.6, 0.8])
    maps = np.einsum("i,nj->nij", q, points)  # W = q aᵀ, into the line of q
    assert np.linalg.norm(maps, 2, axis=(1, 2)).max() <= 1 + 1e-12
    outputs = maps @ np.eye(2)  # on e_1 and e_2, as columns
    apart = np.linalg.norm(outputs[:, None] - outputs[None], axis=2).max(axis=-1)
    np.fill_diagonal(apart, math.inf)
    assert apart.min() > 2 * w.epsilon  # no centre is within ε of two of them
    printed = evaluate("li2026/lemma-B.6", w.inputs(""), "printed").value
    assert printed == pytest.approx(math.log(20))
    assert len(points) == 69 > math.exp(printed)


def test_the_area_bound_is_below_a_cover_by_squares():
    """An explicit cover of the disc: the lower bound may not exceed its size."""
    for ε in (0.3, 0.1, 0.03):
        grid = np.arange(-1 + ε, 1 + ε, 2 * ε)
        x, y = np.meshgrid(grid, grid)
        nearest = np.maximum(np.abs(x) - ε, 0) ** 2 + np.maximum(np.abs(y) - ε, 0) ** 2
        w = FixedSubspace(ε)
        assert w.lower_bound() <= math.log((nearest <= 1).sum())
        for form in ("derived", "best"):
            assert evaluate("li2026/lemma-B.6", w.inputs(""), form).value >= w.lower_bound()


def test_the_proof_of_b6_has_an_inequality_the_wrong_way_round():
    W = np.ones((5, 5))
    assert np.linalg.norm(W, 2) > np.linalg.norm(W, axis=0).max()


@pytest.mark.parametrize("id, k", [("assumption-5.7", 1), ("lemma-B.6", 1)])
def test_derived_covers_hold_an_interval(id, k):
    """Width one: the class is an interval, with exactly ⌈1/ε⌉ intervals of length 2ε."""
    for ε in (0.9, 0.5, 0.1, 0.01):
        values = {"k": 1, "W.op": 1.0, "X.row2inf": 1.0, "epsilon": ε}
        sizes = {"d": 1, "W.rank": 1} if "5.7" in id else {"subspace.dim": 1}
        for form in ("derived", "best"):
            log_cover = evaluate(f"li2026/{id}", values | sizes, form).value
            assert log_cover >= math.log(math.ceil(1 / ε)) - 1e-12


def test_derived_rank_covers_hold_a_greedy_packing():
    """Matrices of rank one, pairwise more than 2ε apart in spectral norm: each its own centre."""
    rng, ε = np.random.default_rng(2), 0.25
    a, b = rng.normal(size=(2, 3000, 2))
    a, b = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (a, b))
    packing: list[np.ndarray] = []
    for W in np.einsum("ni,nj->nij", a, b) * np.sqrt(rng.uniform(size=(3000, 1, 1))):
        if all(np.linalg.norm(W - other, 2) > 2 * ε for other in packing):
            packing.append(W)
    values = {"d": 2, "k": 2, "W.rank": 1, "W.op": 1.0, "X.row2inf": 1.0, "epsilon": ε}
    for form in ("derived", "best"):
        assert evaluate("li2026/assumption-5.7", values, form).value >= math.log(len(packing))
    assert math.log(len(packing)) > evaluate("li2026/assumption-5.7", values, "printed").value


ASSUMED = "li2026/assumption-5.7"


@pytest.mark.parametrize("r", [1, 2, 5])
@pytest.mark.parametrize("d, k", [(1, 1), (2, 2), (1, 64), (64, 3), (300, 300)])
def test_a_constant_of_the_order_of_the_dimensions_serves_assumption_5_7(d, k, r):
    """For r ≥ 2 up to ε = B_xB_W, for r = 1 up to half of it: by the covers that are known."""
    values = {"d": d, "k": k, "W.rank": r, "W.op": 3.0, "X.row2inf": 2.0, "c": serving(d, k)}
    top = 6.0 if r > 1 else 3.0
    for ε in [*np.logspace(-6, math.log10(top * (1 - 1e-9)), 40)]:
        both = [evaluate(ASSUMED, values | {"epsilon": ε}, f).value for f in ("derived", "printed")]
        assert both[0] <= both[1]
    if r > 1:
        assert serves(d, k, r, serving(d, k))


def test_six_serves_in_width_two_and_nothing_serves_rank_one():
    assert serves(2, 2, 2, 6.0) and serves(2, 2, 2, 12.0)
    assert not serves(2, 2, 2, 2.0)  # the check can fail
    assert not any(serves(2, 2, 1, 10.0**e) for e in range(8))


@pytest.mark.parametrize("r", [1, 2])
def test_no_constant_free_of_the_dimensions_serves_assumption_5_7(r):
    """A ball of R^k at half its radius: ``least`` is where the printed value meets its entropy."""
    for k in (8, 64, 4096):
        values = {"d": 1, "k": k, "W.rank": r, "W.op": 1.0, "X.row2inf": 1.0, "epsilon": 0.5}
        below, above = (
            evaluate(ASSUMED, values | {"c": c}, "printed").value
            for c in (0.99 * least(k, r), 1.01 * least(k, r))
        )
        assert below < k * math.log(2) < above
        assert evaluate(ASSUMED, values, "best").value >= k * math.log(2)
        assert least(k, r) < serving(1, k)


@pytest.mark.parametrize("id, name", [("assumption-5.7", "W.rank"), ("lemma-B.6", "subspace.dim")])
def test_no_rank_below_one(id, name):
    s = STATEMENTS[f"li2026/{id}"]
    for form in s.forms:
        with pytest.raises(InputError, match=name):
            s.evaluate_on({**s.example, name: 0.5}, form)
