"""Alarms: what a level of the norm layers claims, attacked from every side.

The loss with alarms is written here a second time, in torch and by its definition: a node whose
output is max(L·|f_s|, b·A) or A alone. Its declared facts are those that the bound uses, so the
search of the conformance tests attacks them.
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch

import dudley as du
from alarm_cases import ATTENTION, DENSE, LN, MLP, NETWORKS, RMS, T, d, plain
from dudley.audit.problem import SearchProblem, signal_of
from dudley.calculus import augment, compose, repeat
from dudley.calculus.augment import augmented
from dudley.calculus.compose import Chain, Residual
from dudley.calculus.facts import Facts, Signal
from dudley.calculus.node import Node, Part
from dudley.calculus.repeat import Repeat
from dudley.core.errors import InputError, NotYetPaid
from dudley.core.lemma import Lemma
from dudley.core.magnitude import ONE, Magnitude
from dudley.networks import files, pointwise
from dudley.networks.alarms import norm_layers, with_norm_layers
from dudley.networks.pointwise import LayerNorm
from node_cases import QUICK, b, check_facts


@dataclass(frozen=True)
class Ramped(Node):
    """A norm layer that adds the ramps of its rows to a list.

    They are not clipped to [0, 1]: as steep, but nowhere flat, so that ascent finds its way.
    """

    inner: LayerNorm
    heard: list
    lemma = Lemma("", "", "", "")

    def facts(self, signal: Signal) -> Facts:
        return self.inner.facts(signal)

    def parameters(self, width: int):
        return self.inner.parameters(width)

    def apply(self, params: Any, X: Any) -> Any:
        c = X - X.mean(-1, keepdims=True) if self.inner.centered else X
        a, σ = self.inner.least_std, c.norm(dim=-1) / math.sqrt(c.shape[-1])
        self.heard.append((a - σ) / (0.25 * a))
        return self.inner.apply(params, X)


@dataclass(frozen=True)
class LossWithAlarms(Node):
    """X ↦ max(L·|first entry of the last row of f_s|, b·A): one number; L = 0 for A alone."""

    net: Node
    L: float = 0.0
    height: float = 1.0
    lemma = Lemma("", "", "", "")

    def facts(self, signal: Signal) -> Facts:
        facts = augment.facts_with_alarm(self.net, signal)
        assert facts.alarm is not None
        uses = augmented(facts.uses, self.L, self.height)
        slope = max(self.L * float(facts.lipschitz), self.height * float(facts.alarm))
        out = Signal(Magnitude.of(1e9), 1.0, 1)  # no claim: ramps are not clipped here
        return Facts(out, Magnitude.of(slope), uses)

    def parameters(self, width: int):
        return self.net.parameters(width)

    def parts(self):
        return (Part(self.net, (), "", reads_input=True),)

    def apply(self, params: Any, X: Any) -> Any:
        heard: list = []
        Y = with_norm_layers(self.net, lambda ln: Ramped(ln, heard)).apply(params, X)
        values = [self.height * ramp.reshape(-1).max() for ramp in heard]
        values.append(self.L * abs(Y[-1, 0]))
        return torch.stack(values).max().reshape(1, 1)


def problem(name: str, **loss) -> SearchProblem:
    return SearchProblem(LossWithAlarms(NETWORKS[name], **loss), T=T, d=d)


SLOW = ("parallel", "heads", "repeat", "pre-norm", "post-norm")
EVERY = [pytest.param(n, marks=pytest.mark.slow if n in SLOW else ()) for n in NETWORKS]
MODES = ["lipschitz", "everything", "weights"]


# -- what the bound uses -------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY)
def test_no_search_exceeds_what_alarms_declare(name: str):
    check_facts(problem(name), **QUICK)


@pytest.mark.parametrize("name", ["two layers", pytest.param("post-norm", marks=pytest.mark.slow)])
def test_no_search_exceeds_the_weights_of_the_loss_with_alarms(name: str):
    check_facts(problem(name, L=0.5, height=2.0), **QUICK)


def test_the_search_reaches_what_is_declared():
    worst = check_facts(problem("a slope before"), **QUICK).worst()
    assert min(worst[mode] for mode in ("lipschitz", "0.W", "1.W")) > 0.98
    worst = check_facts(problem("repeat", L=0.5, height=2.0), modes=[(2, 0, "bias")], **QUICK)
    assert worst.worst()["2.0.bias"] > 0.98


def sixth_too_small(level, d):
    return 1 / 1.2 * RIGHT_SLOPE(level, d)


RIGHT_SLOPE, RIGHT_ALARMS = augment.alarm_slope, repeat._alarms
WRONG = {
    "a ramp a sixth too flat": (pointwise, "alarm_slope", sixth_too_small, "one layer"),
    "a chain forgets slopes before": (compose, "behind", lambda L, a: a, "a slope before"),
    "a chain has the last alarm": (compose, "largest", lambda *a: a[-1], "a slope before"),
    "a loss forgets its alarms": (augment, "largest", lambda *a: a[0], "two layers"),
    "a layer hears its own alarm": (
        repeat,
        "_alarms",
        lambda every, shape: np.where(RIGHT_ALARMS(every, shape) > -np.inf, -30.0, -np.inf),
        "repeat",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_the_search_sees_a_wrong_slope(monkeypatch, wrong: str):
    owner, attribute, value, name = WRONG[wrong]
    monkeypatch.setattr(owner, attribute, value)
    with pytest.raises(AssertionError, match="above declared"):
        check_facts(problem(name, L=1e-3), modes=MODES, **QUICK)


def test_the_bound_is_that_of_the_loss_with_alarms():
    network, loss = NETWORKS["post-norm"] >> du.Pool("first"), du.Loss(0.5, 2.0)
    signal = signal_of(1.0, T, d)
    attacked = LossWithAlarms(network, L=loss.lipschitz, height=loss.range).facts(signal)
    cap = du.capacity(network, du.Tokens(1.0, T, d), loss=loss)
    used = {block.name: float(block.weight) for block in cap.loss_class[0].blocks}
    assert used == {use.name: float(use.weight) for use in attacked.uses}


@pytest.mark.parametrize("inner", [Residual(LN >> DENSE), DENSE >> RMS])
def test_repeated_layers_are_the_chain_of_them(inner: Node):
    signal = signal_of(1.3, T, d)
    repeated, chain = Repeat(inner, 4).facts(signal), Chain((inner,) * 4).facts(signal)
    assert repeated.alarm.log == pytest.approx(chain.alarm.log, rel=1e-12)
    logs = {}
    for use in chain.uses:
        logs.setdefault(use.name.split(".", 1)[1], []).append(use.alarm.log)
    for use in repeated.uses:
        np.testing.assert_allclose(use.alarm.log, logs[use.name.split(".", 1)[1]], rtol=1e-12)


def test_without_levels_nothing_changes():
    net = du.post_ln_block(MLP, replace(LN, least_std=0.0), **ATTENTION) >> du.Readout(b(1.0))
    facts = net.facts(signal_of(1.0, T, d))
    assert augment.is_silent(facts.alarm) and all(augment.is_silent(u.alarm) for u in facts.uses)
    cap = du.capacity(net, du.Tokens(1.0, T, d), n=1e9)
    bound = cap.gap(0.05)
    assert bound.quantity == "risk − training loss"
    assert "training loss" not in {assumption.name for assumption in bound.assumptions}
    assert "alarm" not in cap.proof()


# -- what is said and paid -----------------------------------------------------------------------


NET = DENSE >> LN >> du.Readout(b(1.0))
TOKENS = du.Tokens(1.0, T, d)


def test_the_bound_says_whose_loss_it_is():
    bound = du.capacity(NET, TOKENS, n=1e6, loss=du.Loss(1.0, 3.0)).gap(0.05)
    assert bound.quantity == "risk − training loss with alarms"
    (said,) = [a.statement for a in bound.assumptions if a.name == "training loss"]
    assert "counts 3 " in said and "least_std (0.8)" in said
    assert "Loss class with alarms" in du.capacity(NET, TOKENS, n=1e6).proof()


def test_a_node_from_outside_may_give_alarm():
    """A leaf that declares an alarm of slope 1 in its rows: blocks before it weigh in."""

    @dataclass(frozen=True)
    class Loud(Silent):
        def facts(self, signal: Signal) -> Facts:
            return replace(self.inner.facts(signal), alarm=ONE)

    net = DENSE >> Loud(du.Activate("tanh")) >> du.Readout(b(1e-3))
    cap = du.capacity(net, TOKENS, n=1e6)
    weights = {block.name: float(block.weight) for block in cap.loss_class[0].blocks}
    assert weights["0.W"] == pytest.approx(1.0)  # not 10⁻³
    (said,) = [a.statement for a in cap.gap(0.05).assumptions if a.name == "training loss"]
    assert said.endswith("least_std (of a node that is not ours)")


def test_the_loss_is_centred_at_half_its_range():
    """|ℓ̃ − b/2| ≤ b/2, however small the outputs are: the alarm does not shrink with them."""
    tiny = DENSE >> LN >> du.Readout(b(1e-9))
    assert du.capacity(tiny, TOKENS).loss_class[1] == math.log(0.5)
    flat = DENSE >> replace(LN, least_std=0.0) >> du.Readout(b(1e-9))
    assert du.capacity(flat, TOKENS).loss_class[1] < math.log(1e-8)


def test_a_level_helps_where_ε_is_small():
    def needed(level: float) -> float:
        net = DENSE >> replace(LN, eps=1e-12, least_std=level) >> du.Readout(b(1.0))
        return du.capacity(net, TOKENS).log10_needed_n(0.5)

    assert needed(1.0) < needed(0.1) < needed(0.0)


def test_an_observed_level_is_rounded_down_and_paid():
    net = DENSE >> replace(LN, least_std=du.Observed(0.8)) >> du.Readout(b(1.0))
    cap = du.capacity(net, TOKENS, n=1e6)
    with pytest.raises(NotYetPaid, match="least_std"):
        cap.gap(0.05)
    bound = cap.gap(0.05, union=du.Grid(2.0))
    used = DENSE >> replace(LN, least_std=0.5) >> du.Readout(b(1.0))
    alone = du.capacity(used, TOKENS, n=1e6).gap(0.05)
    assert bound.details["union_nats"] == pytest.approx(math.log(1.5 * 2 * 3))
    assert float(bound) > float(alone)
    assert bound.terms[0].value == alone.terms[0].value


# -- wrapping nodes ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Silent(Node):
    """x ↦ f(x), by a node that says nothing of alarms."""

    inner: Node
    lemma = Lemma("", "", "", "")

    def facts(self, signal: Signal) -> Facts:
        return replace(self.inner.facts(signal), alarm=None)

    def parameters(self, width: int):
        return self.inner.parameters(width)

    def parts(self):
        return (Part(self.inner, (), "", reads_input=True),)

    def apply(self, params: Any, X: Any) -> Any:
        return self.inner.apply(params, X)


@pytest.mark.parametrize("wrap", [Silent, lambda net: Residual(Silent(net)), lambda n: n >> RMS])
def test_a_node_that_says_nothing_of_the_alarms_inside_it_is_refused(wrap):
    net = wrap(Silent(DENSE >> LN))
    with pytest.raises(InputError, match="Silent around a norm layer with a level"):
        du.capacity(net >> du.Readout(b(1.0)), TOKENS).log10_needed_n(0.5)
    fine = wrap(Silent(DENSE >> plain(LN)))
    assert du.capacity(fine >> du.Readout(b(1.0)), TOKENS).log10_needed_n(0.5) < math.inf


# -- network files -------------------------------------------------------------------------------


FILE = """
schema = "dudley.net/1"
[input]
T = 3
d = 4
X.row2inf = 1.0
[[layer]]
node = "pre-ln-block"
repeat = 2
H = 2
W_Q.op = 1.0
W_K.op = 1.0
W_v.op = 1.0
W_c.op = 1.0
ln = { eps = 1e-6, least_std = [0.5, 0.25] }
mlp = { k = 8, W_1.op = 1.0, W_2.op = 1.0 }
[[layer]]
node = "rms-norm"
least_rms = 0.7
[output]
w.op = 1.0
"""


def levels_of(tables: str, overrides=None) -> list[float]:
    description = files.build(tomllib.loads(tables), overrides or {})
    return [layer.least_std for layer in norm_layers(description.network)]


def test_a_network_file_names_levels():
    assert levels_of(FILE) == [0.5, 0.5, 0.25, 0.25, 0.7]
    assert levels_of(FILE, {"ln.least_std": 0.3}) == [0.3] * 5
    with pytest.raises(InputError, match="norm layers"):
        files.load("single-head", {"ln.least_std": 0.3})
    with pytest.raises(InputError, match="least_std"):
        levels_of(FILE.replace("0.25]", "-1.0]"))
