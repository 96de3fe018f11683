"""``du.attack`` on complexities of networks: it breaks what is false, and says what it could break.

Truths: for Readout(L2(B)) on inputs of norm R the Rademacher complexity is at most BR/√n on every
sample; an offset complexity is at most rank/(4βn).
"""

from __future__ import annotations

import math

import pytest

import dudley as du
from dudley.audit.attacked import Attacked, Point
from dudley.witness.lower import LowerBound

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


@pytest.mark.parametrize("β", [0.0, 1.0])
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
        return Point(10, LowerBound(lower, "exact"), claimed)

    assert point(0.2).verdict == "broken"
    assert point(0.3).verdict == "stands" and "below 0.25 would" in point(0.3).told
    assert point(2.6).verdict == "undecided" and "no power" in point(2.6).told
    assert point(math.inf).verdict == "undecided"
    assert point(-0.1, -0.5).verdict == "stands" and point(-0.1, -1.5).verdict == "undecided"
    assert Attacked(MEAN, (point(0.3), point(2.6))).verdict == "undecided"
    assert Attacked(MEAN, (point(0.3), point(0.2))).verdict == "broken"
    assert Attacked(MEAN, (point(0.3),)).verdict == "stands"
