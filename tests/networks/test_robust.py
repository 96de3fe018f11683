"""Robust losses: slopes by search, ranges, and what capacity makes of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import dudley as du
from dudley.core.errors import InputError, NotYetPaid
from dudley.networks.losses import CrossEntropy, Loss, Margin
from dudley.networks.robust import LogTruncation, Robust
from each import each

POWERS = (2.0, 2 - 1e-8, 1.9, 1.5, 1.2, 1.05, 1 + 1e-6)


def searched(ψ: LogTruncation) -> float:
    """The largest slope, by a grid and a line search."""
    p = ψ.power

    def slope(t: float) -> float:
        x = math.exp(t)
        return (1 + x ** (p - 1)) / (1 + x + x**p / p)

    grid = np.linspace(-60, 20, 4001)
    start = grid[int(np.argmax([slope(t) for t in grid]))]
    optimum = minimize_scalar(
        lambda t: -slope(t), bounds=(start - 1, start + 1), options={"xatol": 1e-10}
    )
    return max(-float(optimum.fun), 1.0)


@pytest.mark.parametrize("p", POWERS)
def test_the_slope_of_psi_is_found_and_rounded_upward(p):
    ψ = LogTruncation(p)
    assert searched(ψ) <= ψ.lipschitz <= searched(ψ) * (1 + 1e-11)


@pytest.mark.parametrize("p", POWERS)
def test_the_slope_is_the_derivative(p):
    ψ, x = LogTruncation(p), np.geomspace(1e-3, 1e3, 200)
    h = 1e-6 * x
    assert np.allclose((ψ(x + h) - ψ(x - h)) / (2 * h), ψ.slope(x), rtol=1e-6)


def test_catoni_alone_has_slope_one():
    assert LogTruncation(2.0).lipschitz == 1.0
    slopes = [LogTruncation(p).lipschitz for p in (1.9, 1.5, 1.1, 1.001)]
    assert slopes == sorted(slopes) and slopes[0] > 1.01 and 1.98 < slopes[-1] < 2


@each("p", POWERS)
@each("α", [0.01, 1.0, 30.0])
def test_the_robust_loss_is_as_steep_as_declared_and_no_steeper(p, α):
    """ℓ = |ŷ|: the quotients of ψ(αℓ)/α approach the declared constant."""
    loss, ψ = Robust(Loss(range=100.0), p, α), LogTruncation(p)
    x = np.concatenate([np.geomspace(1e-12, 100.0, 20_000), [ψ.steepest / α]])
    x = np.unique(np.clip(x, 0, 100))
    quotients = np.diff(ψ(α * x) / α) / np.diff(x)
    assert quotients.max() <= loss.lipschitz * (1 + 1e-6)
    assert quotients.max() >= loss.lipschitz * (1 - 2e-3)
    assert float(ψ(α * 100.0) / α) <= loss.range <= float(ψ(α * 100.0) / α) * (1 + 1e-12)


@each("α", [1e-300, 1e-9, 1.0, 1e300])
@each("b", [1e-300, 1.0, 1e300])
def test_ranges_stay_finite_and_positive(α, b):
    loss = Robust(Loss(range=b), 1.5, α)
    assert 0 < loss.range <= b * loss.lipschitz * (1 + 1e-11)


def test_a_robust_loss_tightens_the_gap_of_a_loss_of_large_range():
    net = du.Head(8, du.L11(1.0), du.L11(1.0)) >> du.Readout(du.L1(1.0))
    wide = Loss(range=100.0)

    def gap(loss):
        return du.capacity(net, du.Tokens(1.0, T=4), n=1e6, loss=loss).gap(0.05)

    assert gap(du.Robust(wide)).value < gap(wide).value
    assert gap(du.Robust(wide, power=1.1)).value > gap(du.Robust(wide)).value
    assert "Catoni" in str(gap(du.Robust(wide)))
    assert gap(du.Robust(CrossEntropy(50.0))).trivial == du.Robust(CrossEntropy(50.0)).range


def test_what_was_read_off_is_refused_or_paid():
    seen = du.Observed
    net = du.Head(8, du.L11(1.0), du.L11(1.0)) >> du.Readout(du.L1(1.0))
    cap = du.capacity(net, du.Tokens(1.0, T=4), n=1e6, loss=Robust(Loss(range=seen(3.0))))
    with pytest.raises(NotYetPaid):
        cap.gap(0.05)
    assert cap.gap(0.05, union=du.Grid()).value > 0
    for bad in (
        lambda: Robust(Loss(), power=seen(1.5)),
        lambda: Robust(Loss(), scale=seen(1.0)),
        lambda: Robust(Loss(), power=1.0),
        lambda: Robust(Loss(), power=2.5),
        lambda: Robust(Loss(), scale=0.0),
        lambda: Robust(Margin(0.5)),  # pyright: ignore[reportArgumentType]
    ):
        with pytest.raises(InputError):
            bad()
