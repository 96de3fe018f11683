"""Encodings: rows by a second, slower program; norms that hold for every input; refusals."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as npst

from dudley.certificates.encodings import ENCODINGS, Bits, Blocks, Codes, Rows, encoding_of
from dudley.core.errors import DudleyError, InputError
from each import each


def exact_square(row) -> Fraction:
    return sum((Fraction(float(x)) ** 2 for x in row), start=Fraction(0))


def exact_sum(row) -> Fraction:
    return sum((abs(Fraction(float(x))) for x in row), start=Fraction(0))


def expect_norms(rows, inputs):
    assert rows.dtype == np.float64
    assert rows.shape[1:] == (inputs.T, inputs.d)
    for row in rows.reshape(-1, inputs.d):
        assert exact_square(row) <= Fraction(inputs.row2inf) ** 2
        if inputs.row1inf is not None:
            assert exact_sum(row) <= Fraction(inputs.row1inf)


@given(npst.arrays(np.uint8, st.tuples(st.integers(0, 4), st.just(5)), elements=st.integers(0, 1)))
def test_bits(X):
    rows = Bits(5).rows(X)
    expect_norms(rows, Bits(5).inputs)
    for i, bits in enumerate(X):
        for t, bit in enumerate(bits):
            expected = [float(j == bit * 5 + t) for j in range(11)]
            assert rows[i, t].tolist() == expected
        assert rows[i, 5].tolist() == [0.0] * 10 + [1.0]


@given(
    npst.arrays(np.int64, st.tuples(st.integers(0, 4), st.just(3)), elements=st.integers(0, 6)),
    st.booleans(),
)
def test_codes(X, cls):
    unit = Codes(7, 3, cls)
    rows = unit.rows(X)
    expect_norms(rows, unit.inputs)
    for i, codes in enumerate(X):
        for t, code in enumerate(codes):
            assert set(np.flatnonzero(rows[i, t])) == {code, 7 + t}
            assert rows[i, t, code] == rows[i, t, 7 + t] == pytest.approx(math.sqrt(0.5))
        if cls:
            assert np.flatnonzero(rows[i, 3]).tolist() == [10] and rows[i, 3, 10] == 1


finite = st.floats(-1e300, 1e300) | st.floats(-2, 2)


@given(
    npst.arrays(np.float64, (2, 3, 4), elements=finite),
    st.floats(1e-3, 1e3),
)
def test_rows_are_never_longer_than_R(X, R):
    rows = Rows(3, 4, R).rows(X)
    assert np.isfinite(rows).all()
    expect_norms(rows, Rows(3, 4, R).inputs)
    with np.errstate(over="ignore"):
        short = np.linalg.norm(X, axis=-1) <= R * (1 - 1e-12)
    assert np.array_equal(rows[short], X[short])


@given(npst.arrays(np.float64, (2, 4, 6), elements=finite), st.floats(1e-3, 1e3))
def test_blocks_are_means_at_their_place(X, white):
    unit = Blocks(4, 6, 2, white)
    rows = unit.rows(X)
    expect_norms(rows, unit.inputs)
    for i, picture in enumerate(X):
        for t in range(6):
            high, wide = 2 * (t // 3), 2 * (t % 3)
            pixels = [picture[high + a, wide + b] for a in (0, 1) for b in (0, 1)]
            mean = sum(min(max(p, 0.0), white) / white for p in pixels) / 4
            assert rows[i, t, t] == pytest.approx(mean, rel=1e-12, abs=1e-300)
            assert np.count_nonzero(rows[i, t]) <= 1


def test_pictures_that_are_no_blocks_are_refused():
    with pytest.raises(InputError, match="divisor"):
        Blocks(28, 28, 5, 255.0)
    with pytest.raises(InputError, match="white"):
        Blocks(28, 28, 4, 0.0)
    with pytest.raises(InputError, match="pictures of shape"):
        Blocks(28, 28, 4, 255.0).rows(np.zeros((3, 16, 64)))


def test_long_rows_keep_their_direction():
    rows = Rows(1, 2, 1.0).rows(np.array([[3.0, 4.0], [0.3, 0.4]]))
    assert rows[:, 0] == pytest.approx(np.array([[0.6, 0.8], [0.3, 0.4]]))
    assert Rows(1, 2, 1.0).rows(np.array([[3, 4]], np.int8)).shape == (1, 1, 2)


def test_the_largest_floats_do_not_make_a_nan():
    rows = Rows(1, 2, 1.0).rows(np.array([[1e308, 1e308]]))
    assert np.isfinite(rows).all()


@pytest.mark.parametrize(
    ("unit", "X"),
    [
        (Bits(2), np.array([[0, 2]])),
        (Bits(2), np.array([[0, -1]])),
        (Bits(2), np.array([[0.0, 1.0]])),
        (Bits(2), np.array([[0, 1, 1]])),
        (Bits(2), np.array([0, 1])),
        (Codes(3, 2), np.array([[0, 3]])),
        (Codes(3, 2), np.array([[-1, 0]])),
        (Rows(2, 2, 1.0), np.zeros((1, 3, 2))),
        (Rows(2, 2, 1.0), np.zeros((1, 2))),
    ],
)
def test_other_inputs_are_refused(unit, X):
    with pytest.raises(InputError, match="X"):
        unit.rows(X)


@pytest.mark.parametrize("unit", [Bits(4), Codes(5, 2, False), Rows(3, 2, 0.5)])
def test_json_comes_back(unit):
    assert encoding_of(unit.to_json()) == unit


def test_every_encoding_is_tested_here():
    of_checkpoints = {"patches", "tokens"}  # tests/certificates/test_checkpoints.py
    assert set(ENCODINGS) == {"bits", "blocks", "codes", "rows"} | of_checkpoints


@each(
    "table",
    [
        {},
        {"name": "bit", "T": 3},
        {"name": ["bits"], "T": 3},
        {"name": "bits"},
        {"name": "bits", "T": 3, "V": 2},
        {"name": "bits", "T": 0},
        {"name": "bits", "T": 2.0},
        {"name": "bits", "T": "3"},
        {"name": "bits", "T": True},
        {"name": "codes", "T": 3, "V": 2, "cls": 1},
        {"name": "rows", "T": 1, "d": 2, "R": 0.0},
        {"name": "rows", "T": 1, "d": 2, "R": math.inf},
        {"name": "rows", "T": 1, "d": 2, "R": -1.0},
        {"name": "rows", "T": 1, "d": 2, "R": "1"},
        None,
        [],
    ],
)
def test_other_tables_are_refused(table):
    with pytest.raises(DudleyError):
        encoding_of(table)
