"""``du.attack``: what it refuses, what it calls broken."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dudley as du
from dudley.core.errors import DudleyError
from each import each

POINTS = np.eye(2)
COVER, MEAN, OFFSET = "covering number", "Rademacher complexity", "offset complexity"


def some(rng, count):
    return rng.uniform(-1, 1, size=(count, 2))


def linear(w, X):
    return X @ w


def attack(pair=(some, linear), claim=0.0, bounds=COVER, at=0.1, points: Any = POINTS, **more):
    return du.attack(pair, claim, bounds=bounds, at=at, points=points, **more)


@each(
    "what, arguments",
    [
        ("at", {"at": []}),
        ("at", {"at": 0.0}),
        ("at", {"at": math.nan}),
        ("at", {"bounds": MEAN, "at": 1.5}),
        ("at", {"bounds": MEAN, "at": 3}),
        ("members", {"members": 0}),
        ("delta", {"bounds": MEAN, "at": 2, "delta": 2.0}),
        ("draws", {"bounds": MEAN, "at": 2, "draws": 0}),
        ("budget", {"bounds": MEAN, "at": 2, "budget": -1.0}),
        ("β", {"bounds": OFFSET, "at": 2}),
        ("β", {"bounds": OFFSET, "at": 2, "β": math.inf}),
        ("β", {"β": 1.0}),
        ("class", {"pair": some}),
        ("class", {"pair": (some, 3)}),
        ("points", {"points": None}),
        ("points", {"points": 3.0}),
        ("points", {"points": np.zeros((0, 2))}),
        ("points", {"inputs": du.Tokens(1.0, T=2)}),
        ("sampler", {"pair": (lambda rng, count: [], linear)}),
        ("forward", {"pair": (some, lambda w, X: np.full(2, math.nan))}),
        ("forward", {"pair": (some, lambda w, X: np.full(2, math.inf))}),
        ("forward", {"pair": (some, lambda w, X: np.zeros(4))}),
        ("forward", {"pair": (some, lambda w, X: np.zeros((2, 2, 2)))}),
        ("forward", {"pair": (some, lambda w, X: (X @ w).astype(np.float32))}),
        ("forward", {"pair": (some, lambda w, X: (X @ w).astype(complex))}),
        ("forward", {"pair": (some, lambda w, X: np.zeros((2, 3))), "bounds": MEAN, "at": 2}),
        ("claim", {"claim": lambda ε: None}),
        ("claim", {"claim": math.nan}),
        ("quantity", {"bounds": "entropy"}),
    ],
)
def test_what_is_refused(what, arguments):
    with pytest.raises(DudleyError, match=what):
        attack(**arguments)


def test_a_network_takes_tokens_and_whole_sample_sizes():
    net, tokens = du.Readout(du.L2(1.0)), du.Tokens(1.0, T=1, d=2)
    with pytest.raises(DudleyError, match="at"):
        du.attack(net, 1.0, bounds=MEAN, at=2.5, inputs=tokens)
    with pytest.raises(DudleyError, match="no points"):
        du.attack(net, 1.0, bounds=MEAN, at=2, inputs=tokens, points=POINTS)


def test_members_that_are_all_the_same_need_one_centre():
    same = (lambda rng, count: np.ones((count, 2)), linear)
    assert attack(same, at=1e-300).points[0].lower.value == 0


def test_a_true_claim_below_zero_is_not_broken():
    """One member, f = 1: the offset complexity is −β, exactly."""
    constant = (lambda rng, count: np.ones((1, 2)), lambda w, X: np.ones(len(X)))
    for claim in (-0.5, -0.5 * (1 + 1e-13)):
        assert not attack(constant, claim, OFFSET, 2, β=0.5).broken
    lower = attack(constant, -0.5, OFFSET, 2, β=0.5).points[0].lower.value
    assert not attack(constant, lower, OFFSET, 2, β=0.5).broken
    assert attack(constant, -0.501, OFFSET, 2, β=0.5).broken


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_an_interval_at_every_scale(scale):
    """[−1, 1]·scale needs ⌈1/ε⌉ centres."""
    line = (lambda rng, count: scale * np.linspace(-1, 1, count), lambda w, X: w * np.ones(len(X)))
    for ε in (0.3, 0.5, 1.0, 5.0):
        lower = attack(line, at=ε * scale, points=np.ones(1)).points[0].lower.value
        assert lower <= math.log(math.ceil(1 / ε))
        assert lower > math.log({0.3: 2.9, 0.5: 1.9}.get(ε, 0.9))


def test_the_old_name_of_delta_warns_and_works():
    with pytest.warns(DeprecationWarning, match="delta"):
        old = attack(bounds=MEAN, at=17, points=np.ones((17, 2)), δ=0.5)
    new = attack(bounds=MEAN, at=17, points=np.ones((17, 2)), delta=0.5)
    assert old == new and new.points[0].lower.δ == 0.5


def test_more_draws_and_a_larger_delta_leave_more_of_the_complexity():
    here = {"bounds": MEAN, "at": 17, "points": np.ones((17, 2))}
    few, many = (attack(**here, draws=D).points[0].lower.value for D in (64, 4096))
    assert many > few
    assert attack(**here, draws=64, delta=0.1).points[0].lower.value > few
