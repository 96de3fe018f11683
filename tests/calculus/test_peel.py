"""Peeled readouts against complexities that are known, and planted mistakes that must be seen."""

from __future__ import annotations

import itertools
import math
from functools import partial
from importlib.util import find_spec

import numpy as np
import pytest

import dudley as du
import oracles
from dudley.calculus import chain, peel
from each import each
from planting import changed, goes_red

NEAR = 1.2  # a claim so many times too small must be seen


# -- the price of a link ------------------


def many_functions(N: int = 1024) -> float:
    """√n times the complexity of {w·h : |w| ≤ 1}, h one of N orthogonal sign functions on n = N."""
    rng = np.random.default_rng(1)

    def largest(signs):
        return np.abs(oracles.hadamard_sums(signs)).max(axis=1)

    return math.sqrt(N) * oracles.rademacher_below(largest, N, 1.0, rng, draws=4000)


MANY = many_functions()


def check_price(price):
    """One function costs 1/√n, attained where its values are orthogonal; many √(2 log(2N)/n)."""
    size = np.log([100.0])
    assert float(price(np.array([-math.inf]), size)[0]) == pytest.approx(0.1, rel=1e-12)
    claim = 10 * float(price(np.array([math.log(math.log(1024))]), size)[0])
    assert MANY <= claim <= NEAR * MANY, f"{claim} for {MANY}"


def test_the_price_is_within_a_fifth_of_what_signs_reach():
    check_price(peel.price)


@each("factor", [1 / NEAR, NEAR])
def test_a_planted_price_is_seen(factor):
    goes_red(check_price, changed(peel.price, lambda value: factor * value))


def test_a_price_without_the_second_sign_is_seen():
    goes_red(check_price, lambda log_H, log_n: chain.massart(log_H, log_n))


# -- chains of vectors, by hand ------------------


def check_by_hand(complexity, N, reach):
    """Every chain through eight scales, written out with the prices of the docstring."""
    n, grid = 3000.0, chain.scales(np.log([3000.0]))

    class Steps(oracles.Finite):
        """N_k functions at scale k, more than any chain pays past the eighth."""

        def log_log(self, log_ε, log_n=None):
            k = np.rint(-np.asarray(log_ε) / math.log(2) * chain.STEPS).astype(int)
            return np.where(k < 8, np.log(np.log(N))[np.minimum(k, 7)], 60.0)

    d, best = np.exp(grid[:8]), 1.0
    for size in range(1, 8):
        for scales in itertools.combinations(range(1, 8), size):
            k = scales[0]
            massart = math.sqrt(2 * math.log(N[k]) / n)
            doubled = math.sqrt(2 * math.log(2 * N[k]) / n)
            cost = min(doubled, reach * massart + 1 / math.sqrt(n))
            for above, below in itertools.pairwise(scales):
                cost += d[above] * math.sqrt(2 * math.log(2 * N[below]) / n)
            best = min(best, cost + d[scales[-1]])
    value = float(complexity(Steps(2), 0.0, np.log([n]), reach)[0])
    assert value == pytest.approx(best, rel=1e-9), f"{value} for {best}"


TOWER = np.array([2.0, 3.0, 1e4, 1e9, 1e16, 1e25, 1e60, 1e90])


@each("reach", [1.0, 0.5, 0.05])
def test_chains_of_vectors_by_hand(reach):
    check_by_hand(peel.complexity, TOWER, reach)


@each(("what", "reach"), [("price", 1.0), ("first", 0.05)])
@each("factor", [1 / NEAR, NEAR])
def test_planted_links_are_seen(what, reach, factor):
    with pytest.MonkeyPatch.context() as plant:
        plant.setattr(peel, what, changed(getattr(peel, what), lambda value: factor * value))
        goes_red(check_by_hand, peel.complexity, TOWER, reach)


# -- readouts ------------------


def capacity(network, n: int, X_row2inf: float, d: int) -> du.Capacity:
    return du.capacity(network, du.Tokens(X_row2inf, d=d), n)


def exact_readouts():
    """(readout, n, width, exact complexity on inputs of norm 3, is it attained?)"""
    for n in (1, 2, 5, 12):  # orthogonal inputs
        truth = oracles.rademacher(lambda s, n=n: 2 * np.linalg.norm(3 * s, axis=1), n)
        yield du.L2(2.0), n, 12, truth, True
    plane = 3 * np.array([[1.0, 1.0], [1.0, -1.0]]) / math.sqrt(2)
    for X in (3 * np.eye(2)[:1], plane, 3 * np.eye(6)):
        truth = oracles.rademacher(lambda s, X=X: 2 * np.abs(s @ X).max(axis=1), len(X))
        yield du.L1(2.0), len(X), X.shape[1], truth, len(X) <= 2
    X = oracles.inputs(np.random.default_rng(3), 9, 4)
    truth = oracles.rademacher(lambda s: np.linalg.norm(s @ (3 * X), axis=1), 9)
    yield du.L2(1.0), 9, 4, truth, False


def check_readouts(claim):
    """Above the exact supremum B‖Σ s_ix_i‖/n in mean, and within a fifth of it where attained."""
    for w, n, d, truth, attained in exact_readouts():
        value = claim(capacity(du.Readout(w), n, 3.0, d))
        assert truth <= value * (1 + 1e-12), f"{value} for {truth}: {w}, n = {n}"
        assert not attained or value <= NEAR * truth, f"{value} for {truth}: {w}, n = {n}"


def test_a_lone_readout_is_within_a_fifth_of_the_exact_complexity():
    check_readouts(lambda cap: cap.rademacher())


@each("factor", [1 / NEAR, 1.01 * NEAR])
def test_a_planted_readout_is_seen(factor):
    goes_red(check_readouts, lambda cap: factor * cap.rademacher())


def test_the_attack_of_the_package_breaks_a_claim_a_fifth_below(require):
    require("torch", find_spec("torch") is not None, "no package torch")
    tokens, net = du.Tokens(1.0, d=4), du.Readout(du.L2(1.0))
    cap = du.capacity(net, tokens)
    attack = partial(du.attack, net, bounds="Rademacher complexity", at=4, inputs=tokens, draws=16)
    assert not attack(cap.rademacher).broken
    assert attack(lambda n: cap.rademacher(n) / NEAR).broken


def losses_below(B: float, b: float) -> float:
    """Losses cut to ±b/2 of w·h, |w| ≤ B, for 1024 orthogonal sign functions h on 1024 inputs."""
    return min(B, b / 2) * MANY / 32


@each("B", [0.1, 0.5, 1.0, 3.0])
def test_losses_of_many_functions(B):
    """L = b = 1. With w free the first link may cost more than the cut, never less."""
    A, size = math.log(B), np.log([1024.0])
    claim = B * float(peel.complexity(oracles.Finite(1024), A, size, min(0.5 / B, 1.0))[0])
    assert losses_below(B, 1.0) <= claim <= 4 * losses_below(B, 1.0)
