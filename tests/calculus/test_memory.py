"""What is remembered changes no number."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dudley as du
from dudley.calculus import allocate, chain, hull
from dudley.calculus.allocate import Allocated, log_sum
from dudley.calculus.compose import Residual
from dudley.calculus.memory import along, forget, remembered, scanning, sweeping
from dudley.calculus.repeat import Repeat

SIZES = np.round(np.geomspace(10, 1e11, 23))


def entropies():
    """Entropies of several makes: uniform and on points, single and composed."""
    first = du.LinearMap((16, 8), du.L11(3.0)).entropy().scaled(2.0)
    columns = du.LinearMap((16, 8), du.Col2Inf(1.0)).entropy(rows=5)
    head = du.Head(d=16, W_QK=du.Col21(2.0), W_v=du.L11(1.0), W_c=du.Frobenius(1.0))
    cap = du.capacity(head >> du.Readout(w=du.L1(1.0)), du.Tokens(1.0, T=9))
    return [first, columns, cap.allocated]


@pytest.mark.slow
def test_a_sweep_gives_each_value_to_the_last_digit():
    for entropy in entropies():
        log_A = 0.3
        for rule in (chain.complexity, chain.by_integral):
            hull.forget()
            alone = [float(rule(entropy, log_A, np.array([math.log(n)]))[0]) for n in SIZES]
            hull.forget()
            with sweeping(SIZES):
                swept = [float(rule(entropy, log_A, np.array([math.log(n)]))[0]) for n in SIZES]
                others = rule(entropy, log_A, np.log([17.0, 12345.0]))
            assert swept == alone
            assert np.array_equal(others, rule(entropy, log_A, np.log([17.0, 12345.0])))


def test_all_sizes_are_found_at_once_when_asked_again():
    calls = []

    @along
    def rule(entropy, log_A, log_n):
        calls.append(len(log_n))
        return log_n + log_A

    with sweeping([2, 4, 8, 16]):
        values = [float(rule("same", 1.0, np.log([n]))[0]) for n in (2, 4, 8, 16)]
        assert rule("other", 1.0, np.log([8]))[0] == np.log(8) + 1
    assert values == [float(np.log(n) + 1.0) for n in (2, 4, 8, 16)]
    assert calls[0] == 1 and calls[1] >= 4 and len(calls) == 3
    rule("same", 1.0, np.log([4]))
    assert len(calls) == 4  # nothing is kept outside


def test_scales_asked_one_by_one_are_solved_together(monkeypatch):
    head = du.Head(d=16, W_QK=du.Col21(2.0), W_v=du.L11(1.0), W_c=du.Frobenius(1.0))
    solved, scales = [], -0.3 * np.arange(1, 30)
    solve = allocate.solve
    monkeypatch.setattr(
        allocate, "solve", lambda problem: solved.append(len(problem.log_ε)) or solve(problem)
    )

    def one_by_one() -> list[float]:
        forget()
        entropy = du.capacity(head, du.Tokens(1.0, T=9)).allocated
        return [float(entropy.log_log(x, math.log(100))) for x in scales]

    alone = one_by_one()
    assert solved == [1] * len(scales)
    solved.clear()
    with scanning(scales):
        together = one_by_one()
        assert solved == [len(scales)]
        du.capacity(head, du.Tokens(1.0, T=9)).allocated.log_log(np.array(-0.4), math.log(100))
    assert together == alone and solved == [len(scales), 1]


def test_many_rows_are_added_alike_in_any_company():
    """A sum over a lone column of more than eight rows is one over each of several columns."""
    logs = np.random.default_rng(0).normal(0, 3, (200, 40))
    assert [float(log_sum(logs[:, [k]])[0]) for k in range(40)] == log_sum(logs).tolist()
    layers = Repeat(Residual(du.Dense(7, du.Row21(0.2)) >> du.LayerNorm(7)), 30)
    entropy = du.capacity(layers >> du.Readout(w=du.L1(1.0)), du.Tokens(1.0)).allocated
    log_ε = entropy.log_radius - np.linspace(0.5, 20, 60)
    together = Allocated(entropy.blocks).log_log(log_ε).tolist()
    forget()
    assert [float(Allocated(entropy.blocks).log_log(x)) for x in log_ε] == together


def test_forgetting_empties_the_tables():
    calls = []

    @remembered(4)
    def square(x):
        calls.append(x)
        return x * x

    assert square(3) == square(3) == 9 and calls == [3]
    forget()
    assert square(3) == 9 and calls == [3, 3]


def test_classes_that_differ_by_a_factor_share_a_hull_that_serves_both():
    small, large = (du.LinearMap((12, 7), du.Row21(r)).entropy() for r in (0.37, 411.0))
    assert small.unit() == large.unit()
    assert hull.hull(small, None) is hull.hull(large, None)
    for entropy in (small, large):
        fraction = np.exp(-np.linspace(0.01, 9, 50))
        at_unit = entropy.unit().log_log(np.log(fraction))
        at_own = entropy.log_log(entropy.log_radius + np.log(fraction))
        assert (at_unit >= at_own - 1e-12).all() and np.allclose(at_unit, at_own, atol=1e-9)


@pytest.mark.parametrize("norm", [du.L11, du.Col21, du.Frobenius, du.Spectral, du.Row21])
@pytest.mark.parametrize("form", ["linear", "bilinear", "logits"])
def test_where_one_point_does_not_help_more_do_not_either(norm, form):
    """A hull is what all covers at all nodes give, though those on points are asked at few."""
    for rows, log_n in ((1, 5.0), (3, 11.0), (500, 11.0), (500, 30.0)):
        entropy = du.LinearMap((24, 12), norm(1.0)).entropy(form, rows=rows, pairs=rows**2)
        few = hull.hull(entropy, log_n)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(entropy), "on_fewest_points", lambda self: self)
            forget()
            every = hull.hull(entropy, log_n)
        forget()
        assert all(np.array_equal(a, b) for a, b in zip(few[:3], every[:3], strict=True))


def test_equal_allocations_are_equal_and_unequal_ones_are_not():
    def cap(r):
        net = du.Head(d=8, W_QK=du.L11(r), W_v=du.L11(1.0)) >> du.Readout(w=du.L1(1.0))
        return du.capacity(net, du.Tokens(1.0, T=4)).allocated

    forget()
    first = cap(2.0)
    forget()
    same, other = cap(2.0), cap(2.5)
    assert first is not same and first == same and hash(first) == hash(same)
    assert first != other and float(first(0.1)) == float(same(0.1)) != float(other(0.1))


def test_the_hull_is_the_lower_hull():
    rng = np.random.default_rng(3)
    for _ in range(30):
        y = np.cumsum(rng.exponential(0.05, 400))
        log_H = np.cumsum(rng.exponential(0.1, 400)) + 3 * (rng.random() < 0.5) * (y > 9)
        v, log_V, slopes = hull._vertices(y, log_H)
        assert (np.diff(slopes) > 0).all()
        x, H, hx, hV = np.exp(-y), np.exp(log_H), np.exp(-v), np.exp(log_V)
        chord = np.interp(x, hx[::-1], hV[::-1])
        assert (chord * (1 - 1e-9) <= H).all()  # no point below the hull
        assert np.isin(v, y).all() and v[0] == y[0] and v[-1] == y[-1]
