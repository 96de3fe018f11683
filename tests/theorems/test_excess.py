"""Excess risk from entropies: against exact expectations, by every route, noise or not."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

from dudley.core.entropy import PowerLaw
from dudley.theorems import excess
from dudley.theorems.excess import ExcessTask
from dudley.theorems.registry import load
from each import each
from oracles import Finite


def exact_excess(losses: np.ndarray, n: int) -> float:
    """E exc(f̂) over all samples of size n from equally likely examples; ties broken at worst.

    ``losses[j, x]`` is the excess loss of predictor j at example x.
    """
    risks = losses.mean(axis=1)
    total = 0.0
    for sample in itertools.product(range(losses.shape[1]), repeat=n):
        emp = losses[:, sample].sum(axis=1)
        total += risks[emp <= emp.min() + 1e-12].max()
    return total / losses.shape[1] ** n


@each("seed", range(6))
@each("rule", [excess.derived, excess.best, excess.slow])
def test_noise_free_finite_classes(rule, seed):
    """Random predictors with values in {0, 1}, target 0, absolute loss: g = f ≥ 0."""
    rng = np.random.default_rng(seed)
    losses = (rng.random((4, 4)) < 0.5).astype(float)
    n = 5
    task = ExcessTask(n, 1.0, 1.0, 0.0, float(losses.mean(axis=1).min()), noise_free=True)
    assert rule(Finite(4), task).value >= exact_excess(losses, n) - 1e-12


@pytest.mark.parametrize("seed", range(6))
def test_the_slow_rate_holds_with_noise(seed):
    """Two labels per point: excess losses of both signs."""
    rng = np.random.default_rng(seed)
    predictions = rng.choice([-1.0, 1.0], size=(4, 3))
    heads = rng.random(3)
    n, worst = 3, 0.0
    risk = (np.abs(1 - predictions) * heads + np.abs(1 + predictions) * (1 - heads)).mean(axis=1)
    best = (2 * np.minimum(heads, 1 - heads)).mean()
    for xs in itertools.product(range(3), repeat=n):
        for ys in itertools.product((1.0, -1.0), repeat=n):
            p = np.prod([heads[x] if y > 0 else 1 - heads[x] for x, y in zip(xs, ys, strict=True)])
            emp = sum(np.abs(y - predictions[:, x]) for x, y in zip(xs, ys, strict=True))
            worst += p / 3**n * risk[emp <= emp.min() + 1e-12].max()
    task = ExcessTask(n, 1.0, 1.0, 1.0, float(risk.min() - best))
    for rule in (excess.derived, excess.best):
        assert rule(Finite(4), task).value >= worst - best - 1e-12


def test_best_is_never_above_the_others_and_never_above_the_trivial_bound():
    rng = np.random.default_rng(1)
    for _ in range(30):
        n, κ, A, B = (float(np.exp(x)) for x in rng.uniform([2, -2, -2, -2], [16, 2, 2, 2]))
        task = ExcessTask(
            n, κ, A, B, 0.0, bool(rng.integers(2)), float(rng.choice([1.0, math.inf]))
        )
        entropy = PowerLaw(float(np.exp(rng.uniform(-2, 6))), A)
        best, derived = excess.best(entropy, task), excess.derived(entropy, task)
        assert best.value <= min(derived.value, task.M) * (1 + 1e-12)
        assert best.trivial == task.M and not math.isnan(best.value)


def test_a_condition_on_the_noise_is_named():
    entropy = PowerLaw(1.0, 1.0)
    named = {
        a.name
        for a in excess.derived(entropy, ExcessTask(1e6, 1, 1, 1, noise_free=True)).assumptions
    }
    assert "noise-free" in named
    named = {a.name for a in excess.derived(entropy, ExcessTask(1e6, 1, 1, 1, V=2.0)).assumptions}
    assert "bernstein" in named
    slow = excess.derived(entropy, ExcessTask(1e6, 1, 1, 1))
    assert any("slow" in a.statement for a in slow.assumptions)


def test_nothing_to_lose():
    assert (
        excess.best(PowerLaw(1.0, 1.0), ExcessTask(10, 0.0, 1.0, 1.0, noise_free=True)).value == 0.0
    )


def test_the_offset_theorem_needs_the_losses_of_examples_not_those_given_x():
    """All 0/1 functions on m points, ℓ(y, u) = |y|·|u|, Y = 1/p with chance p, otherwise 0.

    f* = 0 is in the class and optimal at every example. The worst minimiser is 1 at each point
    whose labels were all 0, so E exc = (1 − p/m)^n. With κ = M = 1/p and n = 500m the complexity of
    E[g|X] = f(X) is far too small; that of g(X, Y; f) = f(X)|Y| will do. One point has
    k ~ Bin(n, 1/m) examples, of which j ~ Bin(k, p) are not 0.
    """
    p, m = 1e-3, 20
    n, β = 500 * m, 0.5e-3  # β = 1/2M
    k = np.arange(n + 1)
    seen, labelled = binom.pmf(k, n, 1 / m), binom.pmf(k, n, p / m)

    def complexity(chances: np.ndarray, size: float) -> float:
        """(m/n) E max(0, size·S_k − β·size²·k) over the number k of a point's examples."""
        total = 0.0
        for count in np.flatnonzero(chances > 1e-15):
            S = 2 * np.arange(count + 1) - count
            gain = np.maximum(0.0, size * S - β * size**2 * count)
            total += chances[count] * float(binom.pmf(np.arange(count + 1), count, 0.5) @ gain)
        return total * m / n

    risk = (1 - p / m) ** n
    inputs = {"n": n, "kappa": 1 / p, "target.bound": 0.0, "w.l2": 1.0, "noise.free": 1}
    theorem = load()["li2026/theorem-4.11"]

    def bound(R: float) -> float:
        return theorem.evaluate_on(inputs | {"class.offset": R}).value

    assert bound(complexity(seen, 1.0)) < risk / 8
    assert risk <= bound(complexity(labelled, 1 / p)) < 2 * risk
