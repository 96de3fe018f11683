"""Activations: the declared slope and value at zero, measured."""

import math

import numpy as np
import pytest

import dudley as du
from dudley.core.errors import DudleyError, InputError
from dudley.networks.activations import ACTIVATIONS, Activation, activation

GRID = np.linspace(-30, 30, 600_001)
each = pytest.mark.parametrize("name", sorted(ACTIVATIONS))


def check_activation(σ: Activation) -> float:
    """Raise unless σ is L_σ-Lipschitz with |σ(0)| = at0; the share of L_σ that is attained."""
    y = σ.apply(GRID)
    slope = float(np.abs(np.diff(y) / np.diff(GRID)).max())
    assert slope <= σ.lipschitz * (1 + 1e-7), f"slope {slope} above {σ.lipschitz}"
    assert math.isclose(abs(float(σ.apply(np.zeros(1))[0])), σ.at0, abs_tol=1e-15)
    assert np.all(np.abs(y) <= σ.lipschitz * np.abs(GRID) + σ.at0 + 1e-12)
    return slope / σ.lipschitz


@each
def test_slope_is_right_and_sharp(name):
    assert check_activation(activation(name)) > 0.999


@pytest.mark.parametrize(
    "wrong", [("gelu", 1.12, 0.0), ("swish", 1.09, 0.0), ("sigmoid", 0.25, 0.0), ("tanh", 0.9, 0.0)]
)
def test_a_wrong_constant_is_seen(wrong):
    name, lipschitz, at0 = wrong
    with pytest.raises(AssertionError):
        check_activation(Activation(name, activation(name).apply, lipschitz, at0))


@each
def test_extreme_arguments_give_no_nan(name):
    assert np.isfinite(activation(name).apply(np.array([-1e6, -800.0, 0.0, 800.0, 1e6]))).all()


def test_look_up():
    with pytest.raises(DudleyError, match="gelu"):
        activation("gelo")
    with pytest.raises(InputError):
        activation(3)


@pytest.mark.parametrize("facts", [(-1.0, 0.0), (math.nan, 0.0), (1.0, -1.0), (1.0, math.nan)])
def test_facts_that_are_no_numbers_from_zero_on_are_refused(facts):
    """Taken as they are, they would count as zero: a radius or slope that is too small."""
    with pytest.raises(InputError):
        du.Activate(Activation("own", lambda x: x - 1, *facts))
