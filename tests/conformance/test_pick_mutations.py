"""A test of the tests: a mistake planted in pick-to-learn turns the right check red."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from certificates import pick_checks as checks
from dudley.certificates.methods.hold_out.plan import HoldOutPlan
from dudley.certificates.methods.pick_to_learn import bound, tails
from dudley.certificates.methods.pick_to_learn.plan import PickPlan
from dudley.certificates.methods.retrained import method as retrained
from dudley.certificates.price import Bill
from planting import goes_red

δ = Fraction(1, 20)


@pytest.fixture
def plant(monkeypatch):
    """Patch a name; bounds that were computed before, or under the mistake, are forgotten."""
    bound.risk_upper.cache_clear()
    yield monkeypatch.setattr
    monkeypatch.undo()
    bound.risk_upper.cache_clear()


def test_a_plus_for_the_times_in_the_bound(plant):
    """The published slip: C(m,k)/C(N,k) + (1−ε)^{−(N−m)} in each term of the sum."""

    def log_sum(k, N, ε, c, floor, peak):
        total = sum(
            math.exp(tails.log_choose(m, k) - tails.log_choose(N, k)) + (1 - ε) ** (m - N)
            for m in range(k, N)
        )
        return math.log(total / N) - c

    checks.check_root(3, 12, δ)
    plant(bound, "_log_sum", log_sum)
    plant(bound, "_log_sum_ball", log_sum)
    bound.risk_upper.cache_clear()
    goes_red(checks.check_root, 3, 12, δ)
    goes_red(checks.check_worst_learner, 60, 0.1)
    goes_red(checks.check_real_runs, rounds=1)


def test_an_even_share_without_its_N(plant):
    """λ_m = δ in place of δ/N."""
    right, right_ball = bound._log_sum, bound._log_sum_ball
    plant(bound, "_log_sum", lambda k, N, *rest: right(k, N, *rest) + math.log(N))
    plant(bound, "_log_sum_ball", lambda k, N, *rest: right_ball(k, N, *rest) + math.log(N))
    goes_red(checks.check_root, 3, 12, δ)
    goes_red(checks.check_worst_learner, 60, 0.1)


def test_k_without_the_failures_that_are_left(plant):
    least = PickPlan.least
    plant(PickPlan, "least", lambda self, picks, failures: least(self, picks, 0))
    goes_red(checks.check_real_runs, rounds=1)


def test_k_without_the_picks(plant):
    """Seen by the worst learner: its risk lies just above the bound of so many picks."""
    right = checks.risk_upper
    plant(checks, "risk_upper", lambda k, N, c: right(0, N, c))
    goes_red(checks.check_worst_learner, 60, 0.1)


def test_stops_and_methods_without_a_price(plant):
    plant(PickPlan, "bill", property(lambda self: Bill(self.declared.delta)))
    goes_red(checks.check_stops_are_paid)
    goes_red(checks.check_methods_are_paid)


def test_an_initial_share_that_is_counted(plant):
    right = bound.risk_upper
    plant(
        PickPlan,
        "least",
        lambda self, picks, failures: right(
            picks + failures, self.sample.whole.n, self.bill.log_confidence
        ),
    )
    goes_red(checks.check_the_share_is_not_counted)


def test_three_hold_outs_without_a_price(plant):
    plant(HoldOutPlan, "bill", property(lambda self: Bill(self.delta)))
    goes_red(checks.check_splits_are_paid)


def test_delta_not_split_between_picks_and_disagreements(plant):
    plant(retrained, "_picking", lambda declared: replace(declared.picking, delta=declared.delta))
    goes_red(checks.check_both_parts_of_a_retrained_model)


def test_disagreements_at_all_of_delta(plant):
    plant(retrained, "_disagreement_bill", lambda declared: Bill(declared.delta))
    goes_red(checks.check_both_parts_of_a_retrained_model)


def test_disagreements_left_out(plant):
    plant(retrained, "binomial_upper", lambda d, m, c: 0.0)
    goes_red(checks.check_both_parts_of_a_retrained_model)


def test_and_nothing_where_none_is_planted(plant):
    for k in (0, 3, 7):
        checks.check_root(k, 12, δ)
    checks.check_worst_learner(60, 0.1)
    checks.check_real_runs(rounds=1)
    checks.check_stops_are_paid()
    checks.check_methods_are_paid()
    checks.check_the_share_is_not_counted()
    checks.check_splits_are_paid()
    checks.check_both_parts_of_a_retrained_model()
