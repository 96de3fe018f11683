"""Ascent and search at the ends of the floats, and where rounding is amplified."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dudley as du
from dudley.audit.ascent import supremum_below
from dudley.audit.backend import tensor
from dudley.audit.balls import into_ball, norm
from dudley.audit.batched_network import BatchedNetwork
from dudley.audit.complexity import offset_below, rademacher_below
from dudley.core.constraint import Ball, Constraint
from dudley.core.norms import NORMS
from dudley.theorems.witness.suprema import BallClass
from each import each

SCALES = (1e-250, 1e-200, 1e-160, 1.0, 1e160, 1e200)
SIGNS = np.array([[1.0, 1.0, -1.0], [1.0, -1.0, 1.0]])


@each("scale", SCALES)
@each("exact", [False, True])
def test_norms_and_balls_at_every_scale(scale, exact):
    W = np.random.default_rng(0).normal(size=(5, 3, 2))
    for name in NORMS:
        plain, scaled = (norm(name, tensor(s * W), exact) for s in (1.0, scale))
        np.testing.assert_allclose(scaled / scale, plain, rtol=1e-12)
        ball = Constraint((Ball(name, 0.1 * scale),))
        inside = into_ball(tensor(scale * W), ball, exact).numpy() / scale
        assert max(NORMS[name](w) for w in inside) <= 0.1 * (1 + (0 if exact else 1e-3))


@each("scale", SCALES)
@each("of", ["weights", "inputs"])
def test_no_supremum_is_exceeded_at_any_scale(scale, of):
    X = np.random.default_rng(1).normal(size=(3, 1, 2))
    B, R = (scale, 1.0) if of == "weights" else (1.0, scale)
    truth = BallClass("l2", B, R * X[:, 0])(SIGNS) / 3
    suprema = supremum_below(du.Readout(du.L2(B)), R * X, SIGNS)
    assert (suprema <= truth).all() and (scale > 1 or (suprema >= 0.999 * truth).all())
    head = du.Head(2, du.Frobenius(B), du.Frobenius(1.0), query="cls") >> du.Readout(du.L2(1.0))
    suprema = supremum_below(head, R * X, SIGNS)  # one token: |f| ≤ B‖x‖
    assert (suprema <= B * R * np.linalg.norm(X[:, 0], axis=1).mean() * (1 + 1e-12)).all()


@pytest.mark.parametrize("scale", SCALES)
def test_the_deviation_is_paid_at_every_scale(scale):
    """Identical points: the supremum is R·B·|S|/n for the sum S of the signs of a draw."""
    n, draws = 9, 400
    X = scale * np.ones((n, 1, 2))
    assert BatchedNetwork.of(du.Readout(du.L2(1.0)), X).radius >= scale * math.sqrt(2)
    lower = rademacher_below(du.Readout(du.L2(1.0)), X, draws=draws, restarts=1, steps=1)
    S = np.random.default_rng([0]).choice([-1.0, 1.0], size=(draws, n)).sum(axis=1)
    share = np.abs(S).mean() / n - math.sqrt(2 * math.log(1e9) / (n * draws))
    assert lower.value <= share * math.sqrt(2) * scale
    assert scale > 1 or lower.value == pytest.approx(share * math.sqrt(2) * scale, rel=1e-6)


def test_a_penalty_is_felt_where_squares_vanish():
    """f = w·1e-170, |w| ≤ 1, β = 1e300: the best is 1/(4β) = 2.5e-301, at w = 5e-131."""
    net = du.Readout(du.L2(1.0))
    lower = offset_below(net, np.full((1, 1, 1), 1e-170), β=1e300, draws=400, restarts=2, steps=10)
    assert lower.value <= 2.5e-301


def test_the_margin_grows_with_what_amplifies_rounding():
    """Scores of size C are off by C·2^-53, and the softmax of two of them nearly as much."""
    X = np.random.default_rng(2).normal(size=(2, 3, 4))
    margins = []
    for C in (1.0, 1e4, 1e8):
        head = du.Head(4, du.Spectral(1.0), du.Spectral(C), query="cls") >> du.Readout(du.L2(1.0))
        batched = BatchedNetwork.of(head, X)
        margins.append(batched.scale / batched.radius)
        suprema = supremum_below(head, np.stack([X[0], X[0]]), np.array([[1.0, -1.0]]))
        assert suprema[0] <= -0.9e-12 * batched.scale  # the truth is 0
    assert margins[1] > 1e3 and margins[2] > 1e7
