"""A situation derives upper bounds that every matrix as described obeys, and nothing else."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dudley.core.constraint import Observed
from dudley.core.errors import InputError, NotYetPaid, UnknownName
from dudley.core.norms import NORMS
from dudley.core.situation import PRODUCTS, SHAPES, Situation, canonical
from each import each

SEEDS = st.integers(0, 10**6)
WITHIN = 1 + 1e-9


def matrix(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """A random matrix: dense, sparse, of low rank or with one heavy row or column."""
    W = rng.normal(size=shape)
    kind = rng.integers(5)
    if kind == 1:
        W *= rng.random(shape) < 0.3
    if kind == 2:
        W = np.outer(W[:, 0], W[0])
    if kind == 3:
        W[rng.integers(shape[0])] *= 20
    if kind == 4:
        W[:, rng.integers(shape[1])] *= 20
    return W


@given(SEEDS)
def test_no_matrix_exceeds_what_is_derived_for_it(seed: int):
    rng = np.random.default_rng(seed)
    d, k = (int(x) for x in rng.integers(1, 7, 2))
    sizes = {"d": d, "k": k, "1": 1, "T": int(rng.integers(1, 7))}
    for owner, (a, b) in SHAPES.items():
        W = matrix(rng, (sizes[a], sizes[b]))
        names = ("row2inf", "row1inf", "op", "fro") if owner == "X" else tuple(NORMS)
        some = rng.choice(names, size=int(rng.integers(1, 4)), replace=False)
        numbers = {f"{owner}.{name}": NORMS[name](W) for name in some}
        shape = {name: sizes[name] for name in ("d", "k", "T") if rng.random() < 0.7}
        here = Situation(numbers | shape)
        for name in names:
            bound = here.find(f"{owner}.{name}")
            assert bound is None or NORMS[name](W) <= bound * WITHIN, (name, numbers, shape)
        rank = here.find(f"{owner}.rank")
        assert rank is None or np.linalg.matrix_rank(W) <= rank


@given(SEEDS)
def test_products_of_factors_bound_W_QK(seed: int):
    rng = np.random.default_rng(seed)
    d, k = (int(x) for x in rng.integers(1, 6, 2))
    Q, K = matrix(rng, (d, k)), matrix(rng, (d, k))
    product = Q @ K.T
    for norm, left, right in PRODUCTS:
        assert NORMS[norm](product) <= NORMS[left](Q) * NORMS[right](K) * WITHIN + 1e-12, norm
    some = rng.choice(list(NORMS), size=2)
    here = Situation(
        {"d": d, "k": k, f"W_Q.{some[0]}": NORMS[some[0]](Q), f"W_K.{some[1]}": NORMS[some[1]](K)}
    )
    for norm in NORMS:
        bound = here.find(f"W_QK.{norm}")
        assert bound is None or NORMS[norm](product) <= bound * WITHIN + 1e-12
    assert np.linalg.matrix_rank(product) <= (here.find("r_QK") or math.inf)


@given(SEEDS)
def test_W_is_the_largest_of_all_on_both_sides_of_W_QK(seed: int):
    rng = np.random.default_rng(seed)
    shapes = {"W_QK": (5, 5), "W_v": (5, 3), "W_c": (3, 5), "w": (5, 1)}
    every = {owner: matrix(rng, shape) for owner, shape in shapes.items()}
    numbers = {}
    for owner, W in every.items():
        norm = str(rng.choice(list(NORMS)))
        numbers[f"{owner}.{norm}"] = NORMS[norm](W)
    here = Situation({"d": 5, "k": 3} | numbers)
    for norm in NORMS:
        bound = here.find(f"W.{norm}")
        assert bound is not None
        assert max(NORMS[norm](W) for W in every.values()) <= bound * WITHIN
    side = here.find("W.col2inf")
    assert side is not None and NORMS["row2inf"](every["W_QK"]) <= side * WITHIN


def test_W_is_not_guessed():
    three = {"d": 4, "k": 4, "W_QK.l11": 1.0, "W_v.l11": 1.0, "W_c.l11": 1.0}
    assert Situation(three).find("W.l11") is None
    four = three | {"w.l1": 2.0}
    assert Situation(four).find("W.l11") == 2.0
    assert Situation(four | {"W.l11": 9.0}).find("W.l11") == 9.0  # a matrix of its own
    assert Situation(four | {"W.l11": 9.0}).find("W.op") == 9.0


def test_the_smaller_of_what_is_given_and_what_follows_wins():
    here = Situation({"W_v.op": 5.0, "W_v.l11": 1.0})
    assert here.find("W_v.op") == 1.0 and not here.gives("W_v.op")
    assert str(here.derivation("W_v.op")) == "W_v.op ≤ 1 from W_v.l11"
    assert Situation({"X.op": 1.0, "X.row2inf": 3.0}).find("X.row2inf") == 1.0


def test_reasons_name_only_what_is_needed():
    here = Situation(
        {"d": 16, "k": 9, "T": 4, "W_v.fro": 2.0, "W_v.linf": 1e3, "X.row2inf": 1.0, "n": 7}
    )
    assert here.derivation("W_v.op").sources == ("W_v.fro",)
    assert here.derivation("W_v.col21").sources == ("W_v.fro", "k")
    assert set(here.derivation("X.op").sources) == {"X.row2inf", "T"}
    assert here.derivation("r_v").sources == ("k",)
    assert here.derivation("query.norm2").sources == ("X.row2inf",)


def test_what_is_no_upper_bound_is_never_derived():
    here = Situation({"d": 4, "k": 2, "T": 3, "X.fro": 1.0, "W_Q.fro": 1.0, "W_K.fro": 1.0})
    names = ("margin", "n", "L", "H", "features.smin", "delta", "epsilon", "loss.range", "V")
    assert [here.find(name) for name in names] == [None] * len(names)
    assert here.find("W_v.op") is None and here.find("P.row2inf") is None


def test_one_name_for_what_has_several():
    assert canonical("w.l2") == canonical("w.fro") == canonical("w.frobenius")
    assert Situation({"w.l2": 2.0}).find("w.fro") == 2.0
    assert Situation({"W_QK.rank": 3}).find("r_QK") == 3


@each(
    ("values", "refusal", "message"),
    [
        ({"r_QK": 5, "d": 4}, InputError, r"r_QK: expected a rank of at most 4"),
        ({"W_v.rank": 3, "d": 4, "k": 2}, InputError, r"at most 2 for a 4×2 matrix"),
        ({"s": 9, "T": 8}, InputError, r"s: expected at most T, got 9 of 8"),
        ({"w.l1": 1.0, "w.l11": 2.0}, InputError, r"w\.l1: expected one value"),
        ({"r_v": 1, "W_v.rank": 1}, InputError, r"expected one value"),
        ({"W_QK.l12": 1.0}, UnknownName, r"W_QK\.l11"),
        ({"B_x": 1.0}, UnknownName, r"unknown name 'B_x'"),
        ({"n": 0.5}, InputError, r"n: expected an integer ≥ 1"),
        ({"W_v.op": math.nan}, InputError, r"W_v\.op: expected a finite number"),
        ({"W_v.op": Observed(1.0)}, NotYetPaid, r"was read off after seeing the data"),
    ],
)
def test_contradictions_and_bad_input_are_refused(values, refusal, message: str):
    with pytest.raises(refusal, match=message) as refused:
        Situation(values)
    assert "\n" not in str(refused.value)
