"""``gap(train_error=…)``: what it claims, refuses and says."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dudley as du
from dudley.calculus.allocate import Allocated, WeightBlock
from dudley.core.constraint import Observed
from dudley.core.entropy import PowerLaw
from dudley.core.errors import InputError, NotYetPaid
from dudley.core.magnitude import Magnitude
from dudley.networks import files
from dudley.networks.losses import CrossEntropy, Margin
from dudley.networks.one_scale import OneScale
from each import each

S, TOKENS = du.Spectral(1.0), du.Tokens(1.0, T=4)
HEAD = du.Head(8, W_QK=du.L11(2.0), W_v=du.L11(1.0), W_c=du.L11(1.0))
LOSSES = [du.Loss(), Margin(0.5), CrossEntropy(4.0), du.Loss(3.0, 2.0, "steep")]


def cap(loss=None, n=1e6, network=None) -> du.Capacity:
    return du.capacity(network or HEAD >> du.Readout(du.L2(1.0)), TOKENS, n, loss)


def shipped(name: str) -> du.Capacity:
    network = files.load(name)
    return du.capacity(network.network, network.inputs, loss=network.loss)


@pytest.mark.slow
@each(("name", "log10"), [("bert-base", 10.55), ("trauger2024-head", 5.85)])
def test_at_zero_error_a_sixth_of_the_examples_will_do(name, log10):
    c = shipped(name)
    assert c.log10_needed_n(0.5, train_error=0) == pytest.approx(log10, abs=0.006)
    assert c.log10_needed_n(0.5) > log10 + 0.7


def test_by_hand_at_zero_error():
    """1 − e^{−c/n} with c = log N(γ/2) + ln(1/δ), for uniform covers."""
    c = cap(Margin(0.5))
    nats = float(c.allocated(0.25 * (1 - 2.0**-30))) + math.log(20)
    assert c.gap(0.05, train_error=0).value == pytest.approx(-math.expm1(-nats / 1e6), rel=1e-6)


@each("loss", LOSSES)
def test_more_examples_and_fewer_errors_are_better(loss):
    c, sizes = cap(loss), np.geomspace(1, 1e12, 25)
    gaps = c.gaps(sizes, 0.05, train_error=0.01)
    assert (np.diff(gaps) <= 0).all() and gaps[0] == loss.range - 0.01
    risks = [q + c.gap(0.05, train_error=q).value for q in (0.0, 0.01, 0.1, 0.5)]
    assert risks == sorted(risks)
    n = c.needed_n(0.25, train_error=0.01)
    assert c.gap(0.05, n, train_error=0.01).value <= 0.25
    assert c.gap(0.05, 0.99 * n, train_error=0.01).value > 0.25


@each("loss", LOSSES)
def test_the_parts_add_up_and_the_error_is_an_assumption(loss):
    bound = cap(loss).gap(0.05, train_error=0.02)
    assert sum(term.value for term in bound.terms) == pytest.approx(bound.value)
    assert bound.trivial == loss.range - 0.02
    assert [a.statement for a in bound.assumptions if "0.02" in a.statement]
    margin = "risk − share of training margins below 0.5"
    assert bound.quantity == (margin if loss == Margin(0.5) else "risk − training loss")
    assert f"{0.02 + bound.value:.6g}" in bound.terms[0].note


def test_without_a_training_error_nothing_changes():
    bound = cap(Margin(0.5)).gap(0.05)
    assert [term.name for term in bound.terms] == ["complexity", "deviation"]
    assert "train_error" not in bound.to_json()


def test_only_covers_for_all_inputs_are_used():
    """Covers on points would be smaller here: the centres would not be fixed functions."""
    W = du.Col21(1.0)
    net = du.Dense(64, W) >> du.Readout(du.L2(1.0))
    c = du.capacity(net, du.Tokens(1.0, T=4), 1e4, Margin(1.0))
    ε = 0.5 * (1 - 2.0**-30)
    assert float(c.allocated(ε, 1e4)) < 0.9 * float(c.allocated(ε))
    nats = float(c.allocated(ε)) + math.log(20)
    expected = -math.expm1(-nats / 1e9)
    assert c.gap(0.05, 1e9, train_error=0).value == pytest.approx(expected, rel=1e-6)


def test_an_observed_margin_is_paid_for():
    c = cap(Margin(Observed(0.3)))
    with pytest.raises(NotYetPaid):
        c.gap(0.05, train_error=0)
    bound = c.gap(0.05, union=du.Grid(), train_error=0)
    _, nats = du.Grid().round_down(0.3)
    fixed = cap(Margin(0.25)).gap(0.05 * math.exp(-nats), train_error=0)
    assert bound.value == pytest.approx(fixed.value, rel=1e-9)
    needed = c.log10_needed_n(0.5, 0.05, du.Grid(), train_error=0)
    assert needed >= cap(Margin(0.25)).log10_needed_n(0.5, train_error=0)


@each("q", [-0.1, 1.5, math.nan, math.inf, "much"])
def test_impossible_errors_are_refused(q):
    with pytest.raises(InputError):
        cap().gap(0.05, train_error=q)
    with pytest.raises(InputError):
        cap().needed_n(0.5, train_error=q)


@each("delta", [0.0, 1.0, -1.0])
def test_impossible_confidences_are_refused(delta):
    with pytest.raises(InputError):
        cap().gap(delta, train_error=0)


@each("q", [1.0, 0.999])
def test_nothing_is_gained_at_full_error(q):
    bound = cap(Margin(0.5), n=10).gap(0.05, train_error=q)
    assert bound.vacuous and 0 <= bound.value <= 1 - q


def test_steep_networks_are_vacuous_and_finite():
    steep = du.Repeat(du.Residual(du.Dense(8, du.Spectral(1e9))), 60) >> du.Readout(du.L2(1.0))
    c = cap(Margin(1e-9), 1e5, steep)
    assert c.gap(0.05, train_error=0).value == 1.0
    assert math.isfinite(c.log10_needed_n(0.5, train_error=0))


@each("loss", LOSSES)
def test_no_number_of_examples_leaves_the_floats(loss):
    """log N past 1e308, and n past it: both are known by their logs."""
    rows = PowerLaw(1e300, math.inf)
    many = Allocated((WeightBlock("W", rows, Magnitude.of(1e200)),))
    rule = OneScale(many, loss, 0.0, 3.0)
    assert [rule.gap(log_n) for log_n in (0.0, 800.0)] == [loss.range, loss.range]
    assert rule.gap(5000.0) < 0.01 * loss.range
    assert cap(loss, None).prove(0.05, train_error=1e-9 * loss.range).steps


def test_the_proof_has_the_one_scale():
    for loss, title in ((Margin(0.5), "One scale, margins"), (du.Loss(), "One scale, losses")):
        steps = cap(loss).prove(0.05, train_error=0.01).steps
        titles = [step.lemma.title for step in steps]
        assert titles[-2:] == ["Allocation", title]
        text = cap(loss).proof(train_error=0.01)
        assert str(cap(loss).gap(0.05, train_error=0.01)).splitlines()[0] in text
        assert title in cap(loss, None).proof(train_error=0.01)
