"""Numbers kept by their logarithm: arithmetic as for floats, and unknown stays unknown."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dudley.core.errors import DudleyError
from dudley.core.magnitude import ONE, UNKNOWN, ZERO, Magnitude, largest, smallest, sqrt

positive = st.floats(1e-100, 1e100)


@given(positive, positive)
def test_arithmetic(x, y):
    X, Y = Magnitude.of(x), Magnitude.of(y)
    assert math.isclose(float(X * Y), x * y, rel_tol=1e-12)
    assert math.isclose(float(X * y), x * y, rel_tol=1e-12)
    assert math.isclose(float(x * Y), x * y, rel_tol=1e-12)
    assert math.isclose(float(X + y), x + y, rel_tol=1e-12)
    assert math.isclose(float(x + Y), x + y, rel_tol=1e-12)
    assert math.isclose(float(X / Y), x / y, rel_tol=1e-12)
    assert math.isclose(float(x / Y), x / y, rel_tol=1e-12)
    assert math.isclose(float(X**2), x * x, rel_tol=1e-11)
    assert math.isclose(float(sqrt(x)), math.sqrt(x), rel_tol=1e-12)
    assert math.isclose(float(largest(X, Y)), max(x, y), rel_tol=1e-12)
    assert math.isclose(float(smallest(X, y)), min(x, y), rel_tol=1e-12)
    assert (X <= Y) == (math.log(x) <= math.log(y))
    assert (X < Y) == (math.log(x) < math.log(y))


def test_far_beyond_the_floats():
    huge = Magnitude.of(1e300) ** 400
    assert math.isclose(huge.log10, 120_000, rel_tol=1e-12)
    assert float(huge) == math.inf
    assert float(1 / huge) == 0.0
    assert math.isclose((huge * huge / huge).log10, 120_000, rel_tol=1e-12)
    assert (huge + 1).log == huge.log


def test_zero_and_unknown():
    assert float(ZERO) == 0.0 == float(ZERO * 5) == float(ZERO + ZERO)
    assert float(ONE + ZERO) == 1.0
    for unknown in (UNKNOWN, UNKNOWN + 1, UNKNOWN * 2, UNKNOWN * ZERO, ZERO / ZERO, ONE / ZERO):
        assert float(unknown) == math.inf
    assert float(UNKNOWN / UNKNOWN) == math.inf
    assert not math.isnan((ZERO**0).log)
    assert not math.isnan((UNKNOWN**0).log)


def test_arrays():
    x = np.array([0.0, 1.0, 1e-5])
    X = Magnitude.of(x)
    assert np.allclose(np.exp((X * x).log), x * x)
    assert np.allclose(np.exp((x * X).log), x * x)
    assert np.allclose(np.exp((X + x).log), x + x)
    assert (X * UNKNOWN).log[0] == math.inf  # 0·∞ stays unknown
    assert X <= 1.0
    assert not X < 1.0


@pytest.mark.parametrize(
    "bad", [math.nan, -1.0, -math.inf, np.array([1.0, -1.0]), np.array([math.nan])]
)
def test_what_is_no_magnitude_is_refused(bad):
    """NaN or a negative number must not become zero, which every bound would believe."""
    with pytest.raises((DudleyError, ValueError)):
        Magnitude.of(bad)
