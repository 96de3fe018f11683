"""Chaining rules written out by hand, and their limits."""

import functools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

import calculus_checks as checks
import dudley as du
import oracles
from dudley.calculus import chain
from dudley.core.entropy import PowerLaw
from planting import goes_red

LOG_N = np.log([10.0, 1e4, 1e8])


def entropies(entropy, log_n=LOG_N):
    grid = chain.scales(log_n)
    return chain.entropies(entropy, entropy.log_radius, log_n, grid), log_n, grid


def test_the_grid_is_dyadic_and_reaches_below_one_over_root_n():
    for n in (1.0, 100.0, 1e6, 1e12, 1e20):
        grid = chain.scales(np.log([n]))
        assert grid[0] == 0.0
        assert np.allclose(
            grid[:: chain.STEPS], -math.log(2) * np.arange(len(grid[:: chain.STEPS]))
        )
        assert math.exp(grid[-1]) <= 1 / math.sqrt(n)
        assert (np.diff(grid) < 0).all()


def test_trees_by_hand():
    entropy = du.LinearMap((3, 2), du.L11(1.0)).entropy()
    log_H, log_n, grid = entropies(entropy)
    H = np.exp(np.broadcast_to(log_H, (len(grid), len(log_n))))
    for j, n in enumerate(np.exp(log_n)):
        for proper in (True, False):
            best = 1.0
            for start in range(1, chain.STEPS + 1):  # ladders, a quarter of an octave apart
                d, total = 1.0, 0.0
                for k in range(start, len(grid), chain.STEPS):
                    above, d = d, 2.0 ** (-k / chain.STEPS)
                    length = above if proper else above + d
                    total += length * math.sqrt(2 * H[k, j] / n)
                    best = min(best, d + total)
            value = float(chain.tree(log_H, log_n, grid, proper)[j])
            assert value == pytest.approx(best, rel=1e-9)


STAIRS = du.LinearMap((5, 4), du.L11(3.0)).entropy()  # its covers change by whole steps
CURVES = [PowerLaw(1.0), STAIRS, du.LinearMap((30, 1), du.L2(1.0)).entropy()]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["dudley", "tree"])
@pytest.mark.parametrize("entropy", CURVES, ids=["power", "stairs", "vector"])
def test_a_looser_radius_never_makes_a_bound_smaller(form, entropy):
    """The scales do not move with A: the bound on R̂ grows with A, by what A adds and no more."""
    log_A = entropy.log_radius + np.linspace(0, 1.5 * math.log(2), 100)

    def bounds(A):
        if form == "dudley":
            return math.exp(A) * chain.by_integral(entropy, A, LOG_N)
        grid = chain.fixed_scales(A, LOG_N, chain.FINE)
        log_H = chain.entropies(entropy, A, LOG_N, grid)
        return math.exp(A) * chain.tree(log_H, LOG_N, grid, proper=False, steps=chain.FINE)

    values = np.array([bounds(A) for A in log_A])
    assert (np.diff(values, axis=0) >= -1e-12 * values[1:]).all()


@pytest.mark.parametrize("log_c", [-2.3, 0.04, 0.1, 0.17, 1.0])
def test_an_integral_hardly_depends_on_the_units(log_c):
    """{c·f} with radius cA: fine upper sums of one integral, wherever their scales lie."""
    for entropy in CURVES:
        scaled = entropy.scaled(math.exp(log_c)) if hasattr(entropy, "scaled") else None
        if scaled is None:
            scaled = PowerLaw(math.exp(2 * log_c), math.exp(log_c))
            entropy = PowerLaw(1.0, 1.0)
        values = []
        for case in (entropy, scaled):
            grid = chain.fixed_scales(case.log_radius, LOG_N, chain.FINE)
            log_H = chain.entropies(case, case.log_radius, LOG_N, grid)
            values.append(chain.dudley(log_H, LOG_N, grid))
        assert values[0] == pytest.approx(values[1], rel=0.012)


def test_scales_that_a_huge_radius_swallows_are_closed():
    """At log A = 1e20 all scales are one float, at which a class may have one point."""
    for grid in (chain.scales(LOG_N), chain.fixed_scales(1e20, LOG_N)):
        one_point = du.LinearMap((3, 1), du.L2(1.0)).entropy()
        log_H = chain.entropies(one_point, 1e20, LOG_N, grid)
        assert (log_H[grid < 0] == math.inf).all()


@given(st.lists(st.floats(0.01, 50), min_size=33, max_size=33), st.floats(1, 1e9))
def test_forms_are_ordered_for_any_entropy(steps, n):
    log_n = np.log([n, 4 * n])
    grid = chain.scales(np.log([1.0]))
    assert len(grid) == 33
    log_H = np.log(np.cumsum(steps))[:, None]
    checks.check_forms(chain, log_H, log_n, grid)


def test_zero_entropy_costs_only_the_last_scale():
    grid = chain.scales(LOG_N)
    log_H = np.full((len(grid), 1), -math.inf)
    for proper in (True, False):
        assert chain.optimised(log_H, LOG_N, grid, proper) == pytest.approx(math.exp(grid[-1]))


def test_infinite_entropy_is_the_trivial_bound():
    grid = chain.scales(LOG_N)
    for infinite in (800.0, 1e6, math.inf):
        log_H = np.full((len(grid), 1), infinite)
        for proper in (True, False):
            assert (chain.optimised(log_H, LOG_N, grid, proper) == 1).all()
            assert (chain.tree(log_H, LOG_N, grid, proper) == 1).all()
        assert (chain.dudley(log_H, LOG_N, grid) == 1).all()


def test_units_do_not_matter():
    """R̂/A of {c·f} with radius cA is that of {f}."""
    for scale in (1e-6, 1e6):
        entropy = du.LinearMap((3, 2), du.L11(1.0)).entropy()
        other = entropy.scaled(scale)
        values = [chain.complexity(e, e.log_radius, LOG_N) for e in (entropy, other)]
        assert values[0] == pytest.approx(values[1], rel=1e-6)


def test_power_laws_have_the_rate_that_theory_says():
    """log N = C/ε²: √(C/n) up to a logarithm, and e per link (CERTIFICATES 1)."""
    for n in (1e4, 1e8, 1e12):
        value = float(chain.complexity(PowerLaw(1.0), 0.0, np.log([n]))[0])
        best = math.sqrt(2 / n) * math.e * math.log(math.sqrt(n))
        assert math.sqrt(1 / n) <= value <= 1.1 * best


def test_covers_on_points_are_asked_for_at_least_n_points():
    resolutions = []

    class Spy:
        uses_points, log_radius = True, 0.0

        def log_log(self, log_ε, log_n=None):
            resolutions.append(log_n)
            return np.zeros_like(log_ε)

    sizes = np.array([3.0, 4.0, 5.0, 2.0**31 + 1, 2.0**40 + 1])
    log_H = chain.entropies(Spy(), 0.0, np.log(sizes), chain.scales(np.log(sizes)))
    assert log_H.shape == (len(chain.scales(np.log(sizes))), len(sizes))
    expected = [2, 3, 32, 41]
    assert sorted(resolutions) == pytest.approx([k * math.log(2) for k in expected], rel=1e-12)


def check_sizes(complexity):
    """N^k functions on n ≤ 2^k points: the chain by those, or by the worst sample of 2^{k−1}."""

    class OnPoints(oracles.Finite):
        uses_points = True

        def log_log(self, log_ε, log_n=None):
            return super().log_log(log_ε) + math.log(round(log_n / math.log(2)))

        def proper(self):
            return self

    for n in (33, 40, 47, 63, 64, 1025, 1500, 2047):
        k = math.ceil(math.log2(n))
        squares = [k / n] if n == 2**k else [k / n, (k - 1) / 2 ** (k - 1)]
        expected = math.sqrt(2 * math.log(1.05) * min(squares))
        value = float(complexity(OnPoints(1.05), 0.0, np.log([float(n)]))[0])
        assert expected <= value <= 1.01 * expected, f"{value} for {expected} at n = {n}"


def test_covers_on_points_serve_the_sizes_that_they_are_asked_for():
    check_sizes(chain.complexity)


def test_a_planted_size_is_seen():
    """A fifth less everywhere, or for the power of two below n alone."""
    goes_red(check_sizes, lambda *arguments: chain.complexity(*arguments) / 1.2)
    program = chain._chained
    with pytest.MonkeyPatch.context() as plant:

        def larger(tasks):
            more = 2 * math.log(1.2)
            sizes = [t.log_n + np.where(t.log_n % math.log(2) < 1e-9, more, 0) for t in tasks]
            pairs = zip(tasks, sizes, strict=True)
            return program([replace(task, log_n=log_n) for task, log_n in pairs])

        plant.setattr(chain, "_chained", larger)
        goes_red(check_sizes, chain.complexity)


@functools.cache
def orthogonal_signs() -> float:
    """The complexity of 1024 orthogonal sign functions on as many inputs, from below."""
    rng = np.random.default_rng(2)

    def largest(signs):
        return oracles.hadamard_sums(signs).max(axis=1)

    return oracles.rademacher_below(largest, 1024, 1.0, rng, draws=6000)


def check_first_link():
    """All functions within d of (1 − d)·h, for 1024 orthogonal sign functions h: R is known."""
    d = math.exp(chain.scales(np.log([1024.0]))[33])

    class Around(oracles.Finite):
        """1024 centres at d, which are no members for this test; infinitely many below."""

        def log_log(self, log_ε, log_n=None):
            enough = np.asarray(log_ε) > math.log(d) - 1e-9
            return np.where(enough, super().log_log(log_ε), math.inf)

        def proper(self):
            return oracles.Finite(10**9)

    truth = (1 - d) * orthogonal_signs() + d
    value = float(chain.complexity(Around(1024), 0.0, np.log([1024.0]))[0])
    assert truth <= value <= 1.2 * truth, f"{value} for {truth}"


def test_a_link_from_the_top_is_no_longer_than_the_radius():
    check_first_link()


def test_a_planted_first_link_is_seen():
    """The link from the top alone, as it enters the program."""

    def planted(price, grid, proper, first):
        return program(price, grid, proper, first / 1.2)

    program = chain._program
    with pytest.MonkeyPatch.context() as plant:
        plant.setattr(chain, "_program", planted)
        goes_red(check_first_link)


def test_a_single_example():
    entropy = du.LinearMap((2, 1), du.L2(1.0)).entropy()
    assert float(chain.complexity(entropy, 0.0, np.log([1.0]))[0]) == 1.0  # E|τ x·v| = 1
