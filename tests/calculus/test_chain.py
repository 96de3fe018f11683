"""Chaining rules written out by hand, and their limits."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

import calculus_checks as checks
import dudley as du
from dudley.calculus import chain
from dudley.core.entropy import PowerLaw

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
            best, total = 1.0, 0.0
            for level in range(1, (len(grid) - 1) // chain.STEPS + 1):
                d, above = 2.0**-level, 2.0 ** (1 - level)
                length = above if proper else above + d
                total += length * math.sqrt(2 * H[chain.STEPS * level, j] / n)
                best = min(best, d + total)
            value = float(chain.tree(log_H, log_n, grid, proper)[j])
            assert value == pytest.approx(best, rel=1e-9)


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


def test_a_single_example():
    entropy = du.LinearMap((2, 1), du.L2(1.0)).entropy()
    assert float(chain.complexity(entropy, 0.0, np.log([1.0]))[0]) == 1.0  # E|τ x·v| = 1
