"""Norms by their names, and what a bound on one implies for the others."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

import checks
from dudley.core.errors import UnknownName
from dudley.core.norms import NORMS, implied, norm_named


@st.composite
def matrices(draw):
    """Dense, sparse, signed, low-rank and badly scaled matrices."""
    a, b = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    W = rng.standard_normal((a, b))
    kind = draw(st.sampled_from(["dense", "sparse", "signs", "rank-one", "scaled", "ones"]))
    if kind == "sparse":
        W *= rng.random((a, b)) < 0.3
    elif kind == "signs":
        W = np.sign(W)
    elif kind == "rank-one":
        W = np.outer(W[:, 0], W[0])
    elif kind == "scaled":
        W *= 10.0 ** rng.integers(-6, 7, size=(a, 1))
    elif kind == "ones":
        W = np.ones((a, b))
    return W


@given(matrices())
def test_no_matrix_violates_what_its_norms_imply(W):
    checks.check_norms(W, implied)


@given(matrices())
def test_norms_by_their_definitions(W):
    columns = [math.sqrt(math.fsum(w * w for w in column)) for column in W.T]
    rows = [math.sqrt(math.fsum(w * w for w in row)) for row in W]
    singular = np.linalg.svd(W, compute_uv=False)
    by_hand = {
        "op": singular.max(),
        "fro": math.sqrt((singular**2).sum()),
        "nuc": singular.sum(),
        "l11": math.fsum(abs(W).ravel()),
        "linf": abs(W).max(),
        "col21": math.fsum(columns),
        "row21": math.fsum(rows),
        "col2inf": max(columns),
        "row2inf": max(rows),
        "col1inf": max(math.fsum(abs(column)) for column in W.T),
        "row1inf": max(math.fsum(abs(row)) for row in W),
    }
    assert set(by_hand) == set(NORMS)
    for name, value in by_hand.items():
        assert math.isclose(NORMS[name](W), value, rel_tol=1e-9, abs_tol=1e-12)
        other = name.replace("col", "ROW").replace("row", "col").replace("ROW", "row")
        assert math.isclose(NORMS[other](W.T), value, rel_tol=1e-9, abs_tol=1e-12)


@pytest.mark.parametrize("shape", [(2, 2), (3, 2), (2, 3), (4, 1), (1, 4)])
def test_single_implications_are_sharp(shape):
    """Each bound that follows from one norm alone is attained by some matrix of ones and zeros."""
    a, b = shape
    loose = []
    units = [
        np.reshape(bits, shape).astype(float)
        for bits in itertools.product([0, 1], repeat=a * b)
        if any(bits)
    ]
    hadamard = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]])
    units.append(hadamard[:a, :b].astype(float))
    units.append(np.array([[math.cos(k), -math.sin(k)][: 2] for k in (1, 1 + math.pi / 2)])[:a, :b]
                 if max(a, b) == 2 else units[0])  # fmt: skip
    for given_name in NORMS:
        bounds = implied(((given_name, 1.0),), shape, None)
        for name, bound in bounds.items():
            best = max(NORMS[name](W) / NORMS[given_name](W) for W in units)
            assert best <= bound * (1 + 1e-9)
            if best < bound * 0.999:
                loose.append((given_name, name, best, bound))
    assert len(loose) <= 0.25 * len(NORMS) ** 2, loose


def test_a_given_bound_is_untouched_and_the_schur_test_is_used():
    assert implied((("op", 0.1),), (3, 3), None)["op"] == 0.1
    both = implied((("row1inf", 4.0), ("col1inf", 1.0)), (9, 9), None)
    assert 2.0 <= both["op"] <= 2.0 * (1 + 1e-12)
    assert implied((("op", 1.0),), (9, 9), 4)["nuc"] == pytest.approx(4.0)
    assert implied((("op", 1.0),), (9, 9), None)["nuc"] == pytest.approx(9.0)


def test_orientation_is_part_of_the_name():
    W = np.array([[3.0, 0.0], [4.0, 0.0]])
    assert norm_named("col21")(W) == 5.0
    assert norm_named("row21")(W) == 7.0
    assert norm_named("l1") is norm_named("l11")
    assert norm_named("l2") is norm_named("fro")
    with pytest.raises(UnknownName, match="col21"):
        norm_named("col12")
    with pytest.raises(UnknownName):
        norm_named("21")


def test_a_vector_is_one_column():
    w = np.array([3.0, -4.0])
    sizes = {name: norm(w) for name, norm in NORMS.items()}
    assert sizes["fro"] == sizes["op"] == sizes["col21"] == sizes["col2inf"] == 5.0
    assert sizes["l11"] == sizes["col1inf"] == sizes["row21"] == 7.0
    assert sizes["linf"] == sizes["row2inf"] == sizes["row1inf"] == 4.0
