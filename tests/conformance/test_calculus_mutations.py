"""A test of the tests: with a wrong constant planted in the calculus, its check goes red."""

import math
from dataclasses import replace

import numpy as np
import pytest

import calculus_checks
import checks
import dudley as du
from dudley.calculus import allocate, chain, deviate, offset, solve, splits, union
from dudley.core.magnitude import Magnitude
from planting import changed, goes_red

CASE = {case.name: case for case in checks.CASES}


# -- allocation ------------------


def blocks():
    return allocate.Allocated(
        (
            allocate.WeightBlock("a", CASE["l11-linear"].entropy(), Magnitude.of(1.0)),
            allocate.WeightBlock("b", CASE["vector-l2"].entropy(), Magnitude.of(3.0), copies=4),
        )
    )


def test_allocation_that_ignores_a_block(plant):
    spent = solve.spent
    plant(solve, "spent", lambda rows, vertices: spent(rows[:1], vertices[:1]))
    goes_red(calculus_checks.check_feasible, blocks(), 0.0)


def test_allocation_that_overspends(plant):
    plant(solve, "_FEASIBLE", math.log(1.05))
    goes_red(calculus_checks.check_feasible, blocks(), 0.0)


def test_leftovers_that_are_spent_twice(plant):
    filled = splits.filled

    def generous(rows, target, left, *vertices):
        return filled(rows, target, left + 0.2, *vertices)

    plant(splits, "filled", generous)
    goes_red(feasible_anywhere)


@pytest.mark.parametrize("form", ["shared", "single"])
def test_splits_of_a_budget_that_is_too_large(plant, form):
    right = getattr(splits, form)
    extra = {"shared": (math.log(1.2), 0.0), "single": (0.0, -math.log(1.2))}[form]

    def wrong(rows, target, log_reach, log_limit):
        return right(rows, target + extra[0], log_reach + extra[1], log_limit)

    plant(splits, form, wrong)
    goes_red(feasible_anywhere)


def feasible_anywhere():
    allocated = blocks()
    for below in np.linspace(0.01, 6, 60):
        calculus_checks.check_feasible(allocated, allocated.log_radius - below)


def test_feasible_without_a_mistake():
    feasible_anywhere()


def test_allocation_that_forgets_copies(plant):
    plant(solve, "total_entropy", lambda rows, logs: np.zeros(logs[0].shape[1]))
    goes_red(calculus_checks.check_feasible, blocks(), 0.0)


@pytest.mark.parametrize("wrong", ["log_output", "_by_blocks"])
def test_one_point_that_covers_too_soon_or_never(plant, wrong):
    net = du.Dense(3, du.Spectral(2.0)) >> du.Readout(w=du.L2(1.0))
    cap = du.capacity(net, du.Tokens(1.0, T=1))
    calculus_checks.check_one_point(cap)
    if wrong == "log_output":
        soon = replace(cap.allocated, log_output=cap.allocated.log_output - math.log(1.2))
    else:
        soon = cap.allocated._by_blocks
    plant(type(cap), "allocated", soon)
    goes_red(calculus_checks.check_one_point, cap)


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_a_closed_form_with_a_wrong_constant(plant, factor):
    exact = allocate.power_law
    plant(allocate, "power_law", lambda *a: (factor * exact(*a)[0], exact(*a)[1]))
    goes_red(calculus_checks.check_power_law, allocate, [1.0, 8.0], [1.0, 2.0], 0.01)


def test_an_allocator_that_splits_evenly(plant):
    def even(C, β, ε):
        parts = ε / (np.asarray(β) * len(β))
        return float((np.asarray(C) / parts**2).sum()), parts

    plant(allocate, "power_law", even)
    goes_red(calculus_checks.check_power_law, allocate, [1.0, 80.0], [1.0, 2.0], 0.01)


# -- chaining ------------------


def table(C=2.0):
    log_n = np.log([10.0, 1e4, 1e8])
    grid = chain.scales(log_n)
    return (math.log(C) - 2 * grid)[:, None], log_n, grid


def test_twelve_becomes_one(plant):
    def wrong(log_H, log_n, grid):
        d, root = np.exp(grid)[:, None], np.exp(0.5 * (log_H - log_n))
        half = chain.STEPS
        pieces = (d[half:-1] - d[half + 1 :]) * root[half + 1 :]
        integral = np.concatenate([np.zeros_like(root[:1]), np.cumsum(pieces, axis=0)])
        return np.minimum(1.0, (4 * d[half:] + 1 * integral).min(axis=0))

    plant(chain, "dudley", wrong)
    goes_red(calculus_checks.check_forms, chain, *table())
    goes_red(calculus_checks.check_power_integral, chain, 1.0, 1e6)


def test_a_lower_riemann_sum(plant):
    def wrong(log_H, log_n, grid):
        d, root = np.exp(grid)[:, None], np.exp(0.5 * (log_H - log_n))
        half = chain.STEPS
        pieces = (d[half:-1] - d[half + 1 :]) * root[half:-1]
        integral = np.concatenate([np.zeros_like(root[:1]), np.cumsum(pieces, axis=0)])
        return np.minimum(1.0, (4 * d[half:] + 12 * integral).min(axis=0))

    plant(chain, "dudley", wrong)
    goes_red(calculus_checks.check_power_integral, chain, 1.0, 1e6)


@pytest.mark.parametrize("factor", [0.5, 1 / math.sqrt(2)])
def test_massart_without_its_two(plant, factor):
    plant(chain, "_roots", changed(chain._roots, lambda root: factor * root))
    goes_red(calculus_checks.check_finite_class, chain, 1000, 10**4)
    rng = np.random.default_rng(0)
    log_H = np.log(np.cumsum(rng.exponential(8.0, size=9)))
    goes_red(calculus_checks.check_chain_by_hand, chain, log_H, 1e4)


def test_massart_with_too_much(plant):
    plant(chain, "_roots", changed(chain._roots, lambda root: 1.1 * root))
    goes_red(calculus_checks.check_finite_class, chain, 1000, 10**4)


def test_improper_covers_chained_as_proper(plant):
    optimised = chain.optimised
    plant(chain, "optimised", lambda H, n, grid, proper: optimised(H, n, grid, True))
    log_H = np.log(np.cumsum(np.full(9, 8.0)))
    goes_red(calculus_checks.check_chain_by_hand, chain, log_H, 1e4)


def test_a_complexity_below_the_truth(plant):
    plant(chain, "complexity", changed(chain.complexity, lambda value: 0.02 * value))
    goes_red(
        calculus_checks.check_complexity, chain, calculus_checks.Finite(math.log(40)), 1.0, 8, 0.5
    )


def test_a_chain_that_is_not_cut_at_the_trivial_bound(plant):
    plant(chain, "tree", changed(chain.tree, lambda value: 5 * value))
    goes_red(calculus_checks.check_forms, chain, *table())


# -- deviation, offset, union ------------------


@pytest.mark.parametrize("factor", [math.sqrt(2), 0.5, 0.99, 1 / 3])
def test_a_deviation_with_a_wrong_constant(factor):
    goes_red(calculus_checks.check_deviation, changed(deviate.deviation, lambda t: factor * t))


def test_a_deviation_that_is_not_charged_for_the_union():
    def free(n, δ, b=1.0, form="a-priori", paid=0.0):
        return deviate.deviation(n, δ, b, form)

    goes_red(calculus_checks.check_deviation, free)


def test_offset_constants():
    goes_red(calculus_checks.check_offset_finite_is_sharp, changed(offset.finite, lambda v: v / 2))
    goes_red(calculus_checks.check_offset_finite_is_sharp, changed(offset.finite, lambda v: v * 2))
    rng = np.random.default_rng(0)
    goes_red(calculus_checks.check_offset_finite, changed(offset.finite, lambda v: v / 20), rng)


def test_excess_risk_constants(plant):
    plant(offset.NoiseFree, "rate", property(lambda self: self.M / 4))
    goes_red(calculus_checks.check_noise_free, offset.excess, offset.NoiseFree)
    plant(offset.Bernstein, "rate", property(lambda self: 0.1 * self.V))
    goes_red(calculus_checks.check_bernstein, offset.excess, offset.Bernstein)


def test_bernstein_without_its_condition():
    """V = M as if there were no noise."""
    goes_red(calculus_checks.check_bernstein, offset.excess, lambda V, M: offset.Bernstein(M, M))


class Cheap(union.Grid):
    def nats(self, j):
        return math.log((abs(j) + 1) * (abs(j) + 2))


class Swapped(union.Grid):
    def round_up(self, value):
        return union.Grid.round_down(self, value)


class Coarse(union.Grid):
    def round_down(self, value):
        used, nats = union.Grid.round_down(self, value)
        return used / self.ratio, nats


@pytest.mark.parametrize("wrong", [Cheap, Swapped, Coarse])
def test_wrong_grids(wrong):
    goes_red(calculus_checks.check_grid, wrong())
    calculus_checks.check_grid(union.Grid())
