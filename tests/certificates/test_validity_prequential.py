"""Coverage of a pass: thousands of adaptive runs with a look at every step, and leaky twins.

A run fails if the bound is below the mean risk at *any* step. For a mixture with fixed bets this is
the event Σ_j w_j exp e_j(R̄_m) ≥ 1/δ for some m, which is computed for all runs at once.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable

import numpy as np

from certificates.validity import allowed, leaks
from dudley.certificates.methods.prequential.form import upper
from dudley.certificates.methods.prequential.grid import BETS, WEIGHTS
from dudley.certificates.methods.prequential.totals import SHARE, UnitExtent, pairs

RUNS, STEPS = 2000, 120
Simulation = tuple[np.ndarray, np.ndarray]  # losses and risks, runs × steps


def log_wealth(name: str, X: np.ndarray, R: np.ndarray, j: int) -> np.ndarray:
    """e_j(R̄_m) of a form for every run and every m."""
    m, θ, sums = np.arange(1, X.shape[1] + 1), BETS[j], np.cumsum(X, 1)
    mean = np.cumsum(R, 1) / m
    if name == "variance":
        predicted = np.concatenate([np.full((len(X), 1), 0.5), sums[:, :-1] / m[:-1]], 1)
        V = np.cumsum((X - predicted) ** 2, 1)
        return θ * (m * mean - sums) - (-np.log1p(-θ) - θ) * V
    binary = name == "catoni" or bool(((X == 0) | (X == 1)).all())
    gains = sums * np.log1p(-θ) if binary else np.cumsum(np.log(1 - θ * X), 1)
    return gains - m * np.log(1 - θ * mean)


def wealth(name: str, X: np.ndarray, R: np.ndarray) -> np.ndarray:
    """Σ_j w_j exp e_j(R̄_m) for every run and every m: 1/δ or more where the bound fails."""
    total = np.zeros(X.shape)
    for j, w in enumerate(WEIGHTS):
        total += w * np.exp(np.minimum(log_wealth(name, X, R, j), 600))
    return total


def failing(name: str, runs: Simulation, δ: float) -> int:
    """How many runs have a step at which the bound is below the mean risk so far."""
    return int((wealth(name, *runs) >= 1 / δ).any(1).sum())


def adaptive(risk: Callable[[np.ndarray, int], np.ndarray], seed: int) -> Simulation:
    """Losses 0 and 1 whose risk is a function of the number of errors so far and of the step."""
    rng, errors = np.random.default_rng(seed), np.zeros(RUNS)
    X, R = np.empty((RUNS, STEPS)), np.empty((RUNS, STEPS))
    for t in range(STEPS):
        R[:, t] = risk(errors, t)
        X[:, t] = rng.random(RUNS) < R[:, t]
        errors += X[:, t]
    return X, R


def chasing(errors: np.ndarray, t: int) -> np.ndarray:
    """The risk rises while few errors have come, and is gone once many have."""
    return np.where(errors <= 0.08 * t, 0.12, 0.02)


def gradual(seed: int) -> Simulation:
    """Losses in [0, 1] of any value, around a risk that moves with the past."""
    rng, X, R = np.random.default_rng(seed), np.empty((RUNS, STEPS)), np.empty((RUNS, STEPS))
    mean = np.full(RUNS, 0.5)
    for t in range(STEPS):
        R[:, t] = np.clip(1.1 * (1 - mean), 0.05, 0.95)
        X[:, t] = rng.beta(3 * R[:, t], 3 * (1 - R[:, t]))
        mean += (X[:, t] - mean) / (t + 1)
    return X, R


SIMULATIONS: dict[str, Callable[[int], Simulation]] = {
    "constant": lambda seed: adaptive(lambda errors, t: np.full(RUNS, 0.03), seed),
    "falling": lambda seed: adaptive(lambda errors, t: np.full(RUNS, 0.9 / (1 + 0.1 * t)), seed),
    "chasing": lambda seed: adaptive(chasing, seed),
    "rising": lambda seed: adaptive(lambda errors, t: np.full(RUNS, t / STEPS), seed),
    "gradual": gradual,
}


def test_adaptive_runs_are_covered_at_every_step():
    for what, simulate in SIMULATIONS.items():
        X, R = simulate(7)
        binary = what != "gradual"  # then Catoni's form is the mixture
        for name in ("mixture", "variance") if binary else ("mixture", "variance", "catoni"):
            largest = wealth(name, X, R).max(1)
            for δ in (0.1, 0.2):
                assert allowed(int((largest >= 1 / δ).sum()), RUNS, δ), (what, name, δ)


def test_the_simulation_sees_what_the_bound_computes():
    X, R = SIMULATIONS["chasing"](8)
    for run in range(8):
        for name in ("mixture", "variance", "catoni"):
            at_end = wealth(name, X[run : run + 1], R[run : run + 1])[0, -1]
            for δ in (0.1, 0.5):
                below = upper(name, X[run], -math.log(δ)) <= R[run].mean()
                assert below == (at_end >= 1 / δ), (run, name)


def test_totals_are_covered_at_every_step():
    """Long units are dearer, and the bits move with the past; the ratio of means is known."""
    rng, extent, T = np.random.default_rng(9), UnitExtent(8.0, 40, 10), 40
    sizes = rng.choice([10, 40], (RUNS, T))
    rates = np.empty((RUNS, T))
    bits, mean = np.empty((RUNS, T)), np.full(RUNS, 2.0)
    for t in range(T):
        rates[:, t] = np.clip(4 - mean, 1, 3)
        per = rates[:, t] * np.where(sizes[:, t] == 40, 1.2, 0.8)
        bits[:, t] = sizes[:, t] * np.where(rng.random(RUNS) < per / 8, 8.0, 0.0)
        mean += (bits[:, t] / sizes[:, t] - mean) / (t + 1)
    expected = 25.0  # of a size; bits: rate × (0.8·10 + 1.2·40)/2 = 28 rate
    m = np.arange(1, T + 1)
    ratio = np.cumsum(28 * rates, 1) / m / expected
    total, (a, c) = np.zeros((RUNS, T)), pairs(extent, 2.2)
    for j in range(len(a)):
        e = np.cumsum(np.log(1 - a[j] * (bits - c[j] * sizes)), 1)
        total += np.exp(e - m * np.log(1 - a[j] * (ratio - c[j]) * expected)) / len(a)
    mean = np.full(sizes.shape, expected / 40)
    outside = np.maximum(wealth("mixture", sizes / 40, mean),
                         wealth("mixture", 1 - sizes / 40, 1 - mean)).max(1)  # fmt: skip
    for δ in (0.1, 0.2):  # with the sizes inside their bounds these make the terms no larger
        fails = (outside >= 1 / (SHARE * δ)) | (total.max(1) >= 1 / (δ * (1 - 2 * SHARE)))
        assert allowed(int(fails.sum()), RUNS, δ)


# -- leaky twins ------------------------------------------------------------------------------


def test_the_loss_after_the_update_fails():
    """A learner that remembers units: wrong on all others, right on what it just learnt."""
    X, R = np.zeros((RUNS, STEPS)), np.ones((RUNS, STEPS))
    assert leaks(failing("mixture", (X, R), 0.2), RUNS, 0.2)


def test_an_order_by_content_alone_fails_on_repeated_units():
    """Fifty atoms in the order of their hashes: what has been passed will never come again."""
    rng, atoms, runs = np.random.default_rng(1), 50, 300
    rank = np.argsort(np.argsort([hashlib.sha256(bytes([i])).hexdigest() for i in range(atoms)]))
    draws = rng.integers(0, atoms, (runs, 400))
    in_order = np.sort(rank[draws], 1)
    before = np.concatenate([np.zeros((runs, 1), int), in_order[:, :-1]], 1)
    X, R = np.zeros(in_order.shape), before / atoms  # wrong on all atoms below the last one
    assert leaks(failing("mixture", (X, R), 0.2), runs, 0.2)
    order = rng.permuted(rank[draws], axis=1)  # a seeded permutation: the same learner is seen
    last = np.concatenate([np.zeros((runs, 1), int), order[:, :-1]], 1)
    honest = (order < last) * 1.0, last / atoms
    assert allowed(failing("mixture", honest, 0.2), runs, 0.2)


def test_bets_that_adapt_fail_while_the_risk_falls():
    """They test whether all risks are as large as p, so they bound the least of them."""
    X, R = adaptive(lambda errors, t: np.full(RUNS, 0.5 if t < STEPS // 2 else 0.01), 3)
    last_ten = np.stack([X[:, max(0, t - 10) : t].sum(1) for t in range(STEPS)], 1)
    θ = np.where((last_ten == 0) & (np.arange(STEPS) >= 10), 0.9, 0.0)  # bet once no errors come
    gains = np.log(1 - θ * X) - np.log(1 - θ * R.mean(1, keepdims=True))
    assert leaks(int((gains.sum(1) >= math.log(1 / 0.2)).sum()), RUNS, 0.2)
    assert allowed(failing("mixture", (X, R), 0.2), RUNS, 0.2)


def test_tokens_as_units_fail():
    """Fifty tokens of a document share its difficulty: they are one draw, not fifty."""
    rng = np.random.default_rng(5)
    documents = (rng.random((500, 10)) < 0.2) * 1.0
    tokens = np.repeat(documents, 50, axis=1)
    assert leaks(failing("mixture", (tokens, np.full(tokens.shape, 0.2)), 0.2), 500, 0.2)
    whole = documents, np.full(documents.shape, 0.2)
    assert allowed(failing("mixture", whole, 0.2), 500, 0.2)


def test_different_units_say_nothing_about_those_that_were_read():
    """A pool is read to its end; each model errs on what was read, and on nothing else."""
    m = np.arange(STEPS)
    X = np.zeros((RUNS, STEPS))
    pool = np.broadcast_to(m / STEPS, X.shape)  # the risk on a unit of the pool, read or not
    assert leaks(failing("mixture", (X, pool), 0.2), RUNS, 0.2)
    assert allowed(failing("mixture", (X, np.zeros(X.shape)), 0.2), RUNS, 0.2)  # on one not read


def test_the_mixture_of_models_of_single_contexts_fails():
    """A model is right at the token that follows its own context, and knows nothing elsewhere.

    One token costs 8 bits under a model that knows nothing, and none under one that is right. So
    every logged loss is 0, while the mixture of the m models gives the token a probability of
    1/m + (m−1)/(256 m) in each of these contexts.
    """
    m = np.arange(1, STEPS + 1)
    mixture = -np.log2(1 / m + (m - 1) / (256 * m)) / 8
    X, R = np.zeros((RUNS, STEPS)), np.zeros((RUNS, STEPS))
    bound = upper("mixture", X[0], math.log(5))
    assert bound < mixture[-1]
    assert allowed(failing("mixture", (X, R), 0.2), RUNS, 0.2)  # each token by its own model


def test_a_stretch_that_is_chosen_afterwards_fails():
    """The best of all starts, without a price."""
    X, R = (part[:400] for part in adaptive(lambda errors, t: np.full(RUNS, 0.3), 6))
    failed = np.zeros(400, bool)
    for start in range(0, STEPS - 8, 4):
        failed |= (wealth("mixture", X[:, start:], R[:, start:]) >= 1 / 0.1).any(1)
    assert leaks(int(failed.sum()), 400, 0.1)
    assert allowed(failing("mixture", (X, R), 0.1), 400, 0.1)


def test_totals_with_the_observed_mean_size_in_place_of_its_bounds_fail():
    """All units have as many bits, so only their sizes are random; the only level is c = 0."""
    rng, m, a = np.random.default_rng(3), 10**7, 15 / 16 / (8 * 40)
    long, failing = rng.binomial(m, 0.5, RUNS), {}
    for name, size in (("observed", 10 + 30 * long / m), ("true", np.full(RUNS, 25.0))):
        e = m * np.log(1 - a * 10) - m * np.log(1 - a * 10 / 25 * size)
        failing[name] = int((e >= math.log(1 / 0.1)).sum())
    assert leaks(failing["observed"], RUNS, 0.1) and allowed(failing["true"], RUNS, 0.1)
