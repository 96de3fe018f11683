"""Attacks on excess risks: every sample summed over, every head run, and power."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import planted
from dudley.audit.attacks.excess_risks import COVERS, HEAVY, LIGHT, NORMS, OFFSET, RANKS, Experts
from dudley.audit.patterns import Patterns, rare
from dudley.calculus.compose import Chain
from dudley.calculus.repeat import Repeat
from dudley.core.constraint import L2, Spectral
from dudley.core.norms import norm_named
from dudley.networks.blocks import trauger_block
from dudley.networks.head import Head
from dudley.networks.outputs import Readout
from dudley.theorems import excess, registry
from dudley.theorems.witness.exact_risk import finite
from each import each

FAMILY = ("excess_risks",)
# At which factor an instance about learning breaks a form that says something.
LEARNING = (
    dict.fromkeys(OFFSET, 1.01)
    | dict.fromkeys(COVERS, 5)
    | dict.fromkeys((*NORMS, *RANKS), 140)
    | dict.fromkeys(LIGHT, 700)
    | dict.fromkeys(HEAVY, 280)
)


def test_every_bound_on_an_excess_risk_is_attacked():
    assert {id for id, s in registry.load().items() if s.quantity == excess.QUANTITY} == set(
        LEARNING
    )


@pytest.mark.slow
@each("id", LEARNING)
def test_what_is_learnt_is_attacked_too(id):
    """And not only the approximation error."""
    learnt = [row for row in planted.rows(FAMILY, id) if row.attack != "out of reach"]
    near = planted.factors(learnt, telling=True)
    assert all(factor < LEARNING[id] for factor in near.values())


@pytest.mark.parametrize("id", [*COVERS, *NORMS, *RANKS, *LIGHT, *HEAVY])
def test_an_approximation_error_that_is_left_out_is_reported(id, monkeypatch):
    total = excess.total

    def without(task, complexity, resolution=0.0, route=None):
        from dataclasses import replace

        return total(replace(task, approximation=0.0), complexity, resolution, route)

    monkeypatch.setattr(excess, "total", without)
    import dudley.theorems.li2026.excess_risk as own

    monkeypatch.setattr(own, "total", without)
    assert planted.broken(planted.rows(FAMILY, id), "derived")


def test_offset_complexity_counts_four_times(monkeypatch):
    """4 R_off cannot be 3.9 R_off, with the trivial bound out of the way."""
    for id in OFFSET:
        finding = next(f for f in planted.findings("unseen answers") if f.statement == id)
        assert 3.3 * finding.inputs["class.offset"] < finding.lower.value
    stack = next(f for f in planted.findings("unseen answers") if f.statement == OFFSET[2])
    assert 3.99 * stack.inputs["class.offset"] < stack.lower.value


HEADS = (Patterns(2, 2), Patterns(1, 3, scale=2.0, query=0.5, value=0.7), Patterns(2, 1, key=0.3))


def outputs(heads: Patterns, signs, L: int = 1) -> np.ndarray:
    weights = heads.weights(signs)
    ball, w = Spectral(1.0), {"w": weights["w"][:, None]}  # apply looks at the weights only
    if L == 1:
        head = Head(heads.d, ball, ball, W_c=ball, sigma="identity", query="cls")
        params = [{name: weights[name] for name in ("W_QK", "W_v", "W_c")}, w]
        return np.asarray(Chain((head, Readout(L2(1.0)))).apply(params, heads.tokens()))[:, 0, 0]
    block = trauger_block(heads.d, ball, ball, ball, sigma="identity")
    v = np.outer(weights["w"], weights["w"])
    first = [{"W_QK": weights["W_QK"], "W_v": weights["W_v"]}, {}, {}, {"W_c": weights["W_c"]}, {}]
    later = [{"W_QK": heads.κ * v, "W_v": v}, {}, {}, {"W_c": v}, {}]
    stack = Chain((Repeat(block, L), Readout(L2(1.0))))
    return np.asarray(stack.apply([[first] + [later] * (L - 1), w], heads.tokens()))[:, 0, 0]


@pytest.mark.parametrize("heads", HEADS)
def test_heads_answer_as_the_pattern_says(heads):
    for signs in itertools.product([-1.0, 1.0], repeat=heads.count):
        predictions = outputs(heads, np.reshape(signs, (heads.r, heads.m)))
        assert predictions == pytest.approx(heads.prediction * np.array(signs), rel=1e-9)


@pytest.mark.parametrize("L", [2, 3, 5])
def test_stacks_answer_as_the_pattern_says(L):
    heads = Patterns(2, 2)
    signs = np.array([[1.0, -1.0], [-1.0, -1.0]])
    assert outputs(heads, signs, L) == pytest.approx(heads.after(L) * signs.ravel(), rel=1e-9)


@pytest.mark.parametrize("heads", HEADS)
def test_patterns_have_the_norms_they_say(heads):
    weights, norms = heads.weights(np.ones((heads.r, heads.m))), heads.norms()
    for name, value in norms.items():
        matrix, _, norm = name.partition(".")
        if matrix in weights:
            assert norm_named(norm)(weights[matrix]) <= value * (1 + 1e-12)
    X = heads.tokens()
    assert max(norm_named("op")(x) for x in X) <= norms["X.op"] * (1 + 1e-12)
    assert max(norm_named("row1inf")(x) for x in X) <= norms["X.row1inf"] * (1 + 1e-12)
    assert max(norm_named("row2inf")(x) for x in X) <= norms["X.row2inf"] * (1 + 1e-12)
    assert max(np.linalg.norm(x) for x in X) <= heads.fro
    later = heads.κ * np.outer(weights["w"], weights["w"])
    assert norm_named("l11")(later) <= norms["W_QK.l11"]


@pytest.mark.parametrize("n, inputs, p", [(1, 2, 0.5), (3, 2, 0.25), (2, 3, 0.125)])
def test_unseen_answers_by_summing_over_samples(n, inputs, p):
    patterns = list(itertools.product([0.0, 2.0], repeat=inputs))  # losses against the first
    losses = [[*row, 0.0] for row in patterns]
    exact = finite(losses, [p] * inputs + [1 - inputs * p], n).value
    assert rare(n, inputs, 2.0, p)[0] == pytest.approx(exact, rel=1e-8)


def test_experts_by_summing_over_samples(monkeypatch):
    """N = 2 experts on two bits, as ``Experts`` has it."""
    n, p, N = 3, 0.25, 2
    examples = list(itertools.product([0, 1], repeat=N))
    chances = [math.prod(p if bit else 1 - p for bit in bits) for bits in examples]
    losses = [[2.0 * bits[j] for bits in examples] for j in range(N)] + [[0.0] * len(examples)]
    never = (1 - p) ** n
    assert finite(losses, chances, n).value == pytest.approx(
        2 * p * (1 - (1 - never) ** N), rel=1e-8
    )
    assert Experts.c < 1
