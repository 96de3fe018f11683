"""The contract of an entropy, on the simplest one."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

import checks
from dudley.core.entropy import PowerLaw
from dudley.core.errors import InputError


@pytest.mark.parametrize("C", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("radius", [math.inf, 1e-3, 5.0])
def test_the_contract(C, radius):
    checks.check_entropy(PowerLaw(C, radius))


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_the_formula(C, ε):
    value = PowerLaw(C)(ε)
    assert value == 0 or value >= math.log(2) * (1 - 1e-12)
    assert value == (0 if ε >= math.sqrt(C / math.log(2)) else pytest.approx(C / ε**2, rel=1e-9))


def test_nothing_to_cover():
    assert PowerLaw(0.0)(1e-300) == 0
    assert PowerLaw(0.0).log_radius == -math.inf


def test_arrays_and_proper_covers():
    ε = np.array([[0.1, 0.2], [0.3, 9.0]])
    assert PowerLaw(1.0)(ε).shape == (2, 2)
    assert isinstance(PowerLaw(1.0)(0.1), float)
    assert PowerLaw(1.0).proper() == PowerLaw(1.0)
    improper = PowerLaw(1.0, radius=0.4, is_proper=False)
    assert improper.proper()(0.1) == pytest.approx(improper(0.05))
    assert improper.proper()(0.3) >= improper(0.15 * (1 + 1e-12))


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf])
def test_bad_constants_are_refused(bad):
    with pytest.raises(InputError):
        PowerLaw(bad)


@pytest.mark.parametrize("bad", [-1.0, math.nan])
def test_bad_radii_are_refused(bad):
    """A negative radius would make the entropy zero everywhere."""
    with pytest.raises(InputError):
        PowerLaw(1.0, radius=bad)


@pytest.mark.parametrize("bad", [0.0, -0.1, math.nan, math.inf])
def test_bad_resolutions_are_refused(bad):
    with pytest.raises(InputError):
        PowerLaw(1.0)(bad)
    with pytest.raises(InputError):
        PowerLaw(1.0)(np.array([0.1, bad]))
