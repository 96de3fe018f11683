"""``du.attack`` on complexities of networks: it breaks what is false, and says what it could break.

Truths: for Readout(L2(B)) on inputs of norm R the Rademacher complexity is at most BR/√n on every
sample; an offset complexity is at most rank/(4βn).
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import dudley as du
from dudley.audit.attacked import Attacked, AttackedPoint
from dudley.audit.instances import mean_sign
from dudley.audit.readouts import _by_signs
from dudley.theorems.witness import suprema
from dudley.theorems.witness.lower import LowerBound

MEAN, OFFSET = "Rademacher complexity", "offset complexity"
TOKENS, POINTS = du.Tokens(row2inf=1.0, T=128), du.Tokens(row2inf=1.0, T=1, d=8)


def readme():
    head = du.Head(d=64, W_QK=du.L11(20.0), W_v=du.L11(1.0), W_c=du.L11(1.0))
    return head >> du.Readout(w=du.L1(1.0))


def too_small(n):
    return 0.1 / math.sqrt(n)


def test_a_tenth_of_the_rate_is_broken_for_a_head():
    result = du.attack(readme(), too_small, bounds=MEAN, at=[100, 1000], inputs=TOKENS)
    assert [p.verdict for p in result.points] == ["broken", "broken"]
    assert all(p.lower.δ == 0 for p in result.points)


def test_a_spent_budget_leaves_power_and_says_what_was_not_tried():
    result = du.attack(readme(), too_small, bounds=MEAN, at=10, inputs=TOKENS, budget=0.0)
    assert result.broken
    true = du.attack(readme(), 1.0, bounds=MEAN, at=10, inputs=TOKENS, budget=0.0)
    assert true.points[0].untried and "untried" in str(true)


@pytest.mark.parametrize("ball", [du.L2(1.0), du.L1(1.0), du.L2(1.0) & du.L1(1.5)])
def test_a_tenth_of_the_rate_is_broken_for_a_readout(ball):
    result = du.attack(du.Readout(ball), too_small, bounds=MEAN, at=[10, 100, 1000], inputs=POINTS)
    assert [p.verdict for p in result.points] == ["broken"] * 3
    for p in result.points:
        assert p.lower.value <= 1 / math.sqrt(p.at)


@pytest.mark.parametrize("n", [3, 10, 100, 1000])
@pytest.mark.parametrize("β", [0.5, 4.0])
def test_nine_tenths_of_an_offset_complexity_are_broken(n, β):
    """The ball is so large that the class is all linear functions."""
    truth = min(n, 8) / (4 * β * n)
    net = du.Readout(du.L2(30.0))
    false = du.attack(net, 0.9 * truth, bounds=OFFSET, at=n, inputs=POINTS, β=β)
    assert false.broken and false.points[0].lower.value <= truth * (1 + 1e-9)
    assert du.attack(net, truth, bounds=OFFSET, at=n, inputs=POINTS, β=β).verdict == "stands"


@pytest.mark.parametrize("β", [0.0, pytest.param(1.0, marks=pytest.mark.slow)])
def test_what_the_calculus_derives_is_not_broken(β):
    head = du.Head(d=4, W_QK=du.L11(4.0), W_v=du.Spectral(1.0), W_c=du.Spectral(1.0))
    net, tokens = head >> du.Readout(w=du.L2(1.0)), du.Tokens(1.0, T=2)

    def claim(n):
        return du.capacity(net, tokens, n=n).rademacher()  # an offset complexity is no larger

    result = du.attack(net, claim, bounds=OFFSET if β else MEAN, at=[4, 40], inputs=tokens, β=β)
    assert not result.broken


def test_all_signs_of_few_inputs_are_enumerated():
    result = du.attack(du.Readout(du.L2(1.0)), 0.0, bounds=MEAN, at=8, inputs=POINTS)
    assert result.points[0].lower.δ == 0
    assert result.points[0].lower.value == pytest.approx(1 / math.sqrt(8), rel=1e-6)


def test_a_claim_stands_only_where_a_tenth_of_it_would_have_been_broken():
    def point(claimed, lower=0.25):
        return AttackedPoint(10, LowerBound(lower, "exact"), claimed)

    assert point(0.2).verdict == "broken"
    assert point(0.3).verdict == "stands" and "below 0.25 would" in point(0.3).sentence
    assert point(2.6).verdict == "undecided" and "no power" in point(2.6).sentence
    assert point(math.inf).verdict == "undecided"
    assert point(-0.1, -0.5).verdict == "stands" and point(-0.1, -1.5).verdict == "undecided"
    assert Attacked(MEAN, (point(0.3), point(2.6))).verdict == "undecided"
    assert Attacked(MEAN, (point(0.3), point(0.2))).verdict == "broken"
    assert Attacked(MEAN, (point(0.3),)).verdict == "stands"


@pytest.mark.parametrize("n", [2, 4])
def test_a_true_claim_about_one_hot_rows_is_not_broken(n):
    """A vocabulary of one word has one input, on which members range over ±4."""
    hidden = du.Dense(1, du.Spectral(2.0), k=2, b=du.L2(2.0), sigma="relu")
    net, words = hidden >> du.Readout(du.L2(1.0)), du.OneHot(1, 1)
    truth = 4 * mean_sign(n)
    assert du.attack(net, truth, bounds=MEAN, at=n, inputs=words).verdict == "stands"
    assert du.attack(net, 0.999 * truth, bounds=MEAN, at=n, inputs=words).broken

    def intervals(ε):
        return math.log(math.ceil(4 / ε))

    attacked = du.attack(net, intervals, bounds="covering number", at=[0.5, 0.1], inputs=words)
    assert attacked.verdict == "stands"


def test_any_number_of_examples_is_attacked_in_bounded_memory():
    β, n = 0.5, 10**15
    attacked = du.attack(du.Readout(du.L2(9.0)), 0.0, bounds=OFFSET, at=n, inputs=POINTS, β=β)
    assert attacked.points[0].lower.value == pytest.approx(8 / (4 * β * n), rel=1e-3)


@pytest.mark.parametrize("ball", [du.L2(1.0), du.L1(1.0), du.L2(1.0) & du.L1(1.5)])
@pytest.mark.parametrize("β", [0.0, 0.3])
def test_inputs_over_and_over_count_as_often_as_they_occur(ball, β):
    """Each member of a net of the ball is a lower bound, and the finest net is near the truth."""
    n, m = 5, 2
    Φ = np.array([[1.0, 0.0], [0.6, 0.8]])
    lower = _by_signs(ball, [Φ], β, n, 1, 0.5, np.random.default_rng(0)).value
    angles, sizes = np.linspace(0, 2 * np.pi, 721)[:, None], np.linspace(0, 1, 101)
    edge = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    bounds = [(np.linalg.norm(edge, 1 if b.norm == "l11" else 2, axis=-1), b) for b in ball.balls]
    edge = edge * np.min([b.radius / size for size, b in bounds], axis=0)[..., None]
    F = (edge * sizes[:, None]).reshape(-1, 2) @ Φ[np.arange(n) % m].T
    truth = suprema.rademacher(suprema.FiniteClass(F, β), n, 1.0).value
    inside = len(ball.balls) > 1 or (β and ball == du.L1(1.0))  # segments along the axes
    assert 0.5 * truth < lower <= truth * (1 + 1e-4)
    assert inside or lower == pytest.approx(truth, rel=1e-3)


@pytest.mark.parametrize("β", [0.0, 0.5])
@pytest.mark.parametrize("before", [du.LayerNorm(8), du.ProjectRows(), du.Activate("tanh")])
def test_nodes_without_weights_may_stand_before_a_readout(before, β):
    net = before >> du.Readout(du.L2(1.0))
    attacked = du.attack(net, 0.0, bounds=OFFSET if β else MEAN, at=[4, 40], inputs=POINTS, β=β)
    for point in attacked.points:
        most = 8**0.5 / point.at**0.5  # rows have norm √8 at most
        assert 0 < point.lower.value <= min(most, 8 / (4 * β * point.at) if β else most)
