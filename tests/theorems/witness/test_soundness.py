"""No lower bound is ever above the truth, on classes where the truth is known exactly.

Draws are made at δ = 1e-9: a failure is a bug, not bad luck. Each test also shows that it could
fail: what the margins and deviation terms take away would be too much to keep.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

import dudley as du
from dudley.theorems.witness.exact_covers import packing, proper_cover, scalar_cover
from dudley.theorems.witness.linear_maps import linear
from dudley.theorems.witness.members import draw
from dudley.theorems.witness.packings import distances, greedy
from dudley.theorems.witness.suprema import BallClass, FiniteClass, all_signs, rademacher
from each import each

# -- covering numbers of finite classes ------------------


def exact_cover(F, ε) -> int:
    """The least number of centres for rows of rationals: groups of range ≤ 2ε at every point."""
    N = len(F)

    def fits(mask):
        rows = [F[i] for i in range(N) if mask >> i & 1]
        return all(max(c) - min(c) <= 2 * ε for c in zip(*rows, strict=True))

    groups = [mask for mask in range(1, 2**N) if fits(mask)]
    best = {0: 0}
    for mask in range(1, 2**N):
        low = mask & -mask
        best[mask] = min(1 + best[mask & ~g] for g in groups if g & low)
    return best[2**N - 1]


@st.composite
def finite_classes(draw):
    """Members on a grid whose step, offset and scale do not fit the floats, and ε on the grid."""
    N, points = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    step = draw(st.sampled_from([1.0, 0.1, 1 / 3, 1e-7, 3e8, 2.0**-40]))
    offset = draw(st.sampled_from([0.0, 1.0, 0.7]))
    cells = draw(
        st.lists(
            st.lists(st.integers(-6, 6), min_size=points, max_size=points),
            min_size=N,
            max_size=N,
        )
    )
    F = (np.array(cells, dtype=float) + offset) * step
    half = draw(st.integers(1, 8)) / 2
    nudge = draw(st.integers(-2, 2))
    ε = half * step * (1 + nudge * 2.0**-52)
    return F, ε


@given(finite_classes())
def test_covers_of_finite_classes(case):
    F, ε = case
    rational = [[Fraction(float(x)) for x in row] for row in F]
    truth = math.log(exact_cover(rational, Fraction(ε)))
    bounds = [greedy(F, ε).value, packing(F, ε).value, scalar_cover(F, ε).value]
    assert bounds == sorted(bounds)
    assert bounds[-1] <= truth
    assert proper_cover(distances(F), ε).value <= math.log(exact_proper(rational, Fraction(ε)))


def exact_proper(F, ε) -> int:
    N = len(F)
    near = [
        sum(
            1 << j
            for j in range(N)
            if all(abs(x - y) <= ε for x, y in zip(F[i], F[j], strict=True))
        )
        for i in range(N)
    ]
    for size in range(1, N + 1):
        for chosen in itertools.combinations(range(N), size):
            if sum(1 << j for j in range(N) if any(near[i] >> j & 1 for i in chosen)) == 2**N - 1:
                return size
    raise AssertionError


def test_without_its_margin_a_packing_would_be_wrong():
    """0.1·k for k = 0, …, 9: floats that are 0.1 apart or a little more, and ε = 0.05."""
    F = np.array([[0.1 * k] for k in range(10)])
    truth = exact_cover([[Fraction(k, 10)] for k in range(10)], Fraction(1, 20))  # as meant
    apart = np.diff(F[:, 0]) > 2 * 0.05
    assert apart.any(), "no rounding to be caught"
    assert greedy(F, 0.05).value <= packing(F, 0.05).value <= math.log(truth) == math.log(5)
    assert scalar_cover(F, 0.05).value <= math.log(5)
    assert (np.diff(F[:, 0]) > 0.1).any() and not (np.diff(F[:, 0]) > 0.1 * (1 + 1e-9)).any()
    assert proper_cover(distances(F[:9]), 0.1).value <= math.log(3)  # every third covers three


# -- balls of known covering numbers ------------------


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 2.0), st.integers(0, 2**32 - 1))
def test_covers_of_intervals(B, share, seed):
    """[−B, B] needs ⌈B/ε⌉ centres."""
    ε = share * B
    truth = math.log(math.ceil(Fraction(B) / Fraction(ε)))
    maps = du.LinearMap((1, 1), du.LInf(B))
    for form in ("linear", "logits", "bilinear"):
        for n in (None, 1, 5):
            assert linear(maps, ε, n=n, form=form).value <= truth
    W = draw(du.LInf(B), (1, 1), 30, np.random.default_rng(seed))
    assert greedy(W, ε).value <= truth
    line = np.linspace(-B, B, 41)[:, None]
    assert scalar_cover(line, ε).value <= truth if share > 0.05 else True


@pytest.mark.slow
@each("k", range(1, 40))
def test_intervals_at_the_jumps(k):
    """ε = B/k: k centres, also where k steps of 2ε are rounded to more or less than 2B."""
    for B in (1.0, 0.1, 1 / 3, 7e5):
        for nudge in (-2, -1, 0, 1, 2):
            ε = B / k * (1 + nudge * 2.0**-52)
            truth = math.log(math.ceil(Fraction(B) / Fraction(ε)))
            assert linear(du.LinearMap((1, 1), du.LInf(B)), ε).value <= truth
            ends = np.linspace(-B, B, k + 1)[:, None]  # 2ε apart, exactly or nearly
            assert packing(ends, ε).value <= truth


# The least ε with which n discs of radius ε cover the unit disc (n = 1, …, 7), rounded up.
DISCS = {1: 1.0, 2: 1.0, 3: 0.8660255, 4: 0.7071068, 5: 0.6093829, 6: 0.5559053, 7: 0.5}


def test_covers_of_the_disc():
    disc = du.LinearMap((2, 1), du.L2(1.0))
    rng = np.random.default_rng(0)
    W = draw(du.L2(1.0), (2, 1), 400, rng)
    angles = np.linspace(0, math.pi, 64, endpoint=False)
    X = np.stack([np.cos(angles), np.sin(angles)], axis=1)  # x·w on many inputs
    for count, ε in DISCS.items():
        truth = math.log(count)
        for n in (None, 1, 2, 9):
            assert linear(disc, ε, n=n).value <= truth
        assert greedy(X @ W, ε, rng).value <= truth
        assert greedy(W.swapaxes(1, 2), ε, rng).value <= truth  # the ℓ2 distance itself
        column = du.LinearMap((1, 2), du.L2(1.0))
        assert linear(column, ε).value <= truth
    assert linear(disc, 0.49).value >= math.log(4)


@given(st.integers(1, 4), st.floats(0.01, 1.5))
def test_covers_of_cubes(p, ε):
    """[−1, 1]^p by its entries: cubes of side 2ε tile it, ⌈1/ε⌉^p."""
    truth = p * math.log(math.ceil(1 / Fraction(ε)))
    cube = du.LinearMap((p, 1), du.LInf(1.0))
    assert linear(cube, ε, l1=True).value <= truth * (1 + 1e-15)
    assert linear(cube, ε, n=p, form="logits").value <= truth * (1 + 1e-15)
    members = np.array(list(itertools.product(np.linspace(-1, 1, 4), repeat=min(p, 3))))
    least = min(p, 3) * math.log(math.ceil(1 / Fraction(ε)))
    assert greedy(members, ε).value <= least * (1 + 1e-15)


# -- complexities ------------------


def exact_rademacher(F, β=Fraction(0)) -> Fraction:
    n = len(F[0])
    penalties = [β * sum(x * x for x in f) for f in F]
    total = Fraction(0)
    for s in itertools.product((-1, 1), repeat=n):
        total += max(
            sum(a * b for a, b in zip(s, f, strict=True)) - q
            for f, q in zip(F, penalties, strict=True)
        )
    return total / 2**n / n


@given(
    st.lists(st.lists(st.integers(-7, 7), min_size=5, max_size=5), min_size=1, max_size=4),
    st.sampled_from([1.0, 0.1, 1e-9, 3e7]),
    st.sampled_from([0.0, 0.1, 3.0]),
    st.integers(0, 2**32 - 1),
)
def test_complexities_of_finite_classes(cells, step, β, seed):
    F = np.array(cells, dtype=float) * step
    truth = exact_rademacher([[Fraction(float(x)) for x in f] for f in F], Fraction(β))
    members = FiniteClass(F, β)
    bound = rademacher(members, 5, members.size)
    assert bound.value <= truth
    assert float(truth) - bound.value <= 1e-10 * (members.size + abs(float(truth)))
    for draws in (1, 3, 40):
        rng = np.random.default_rng(seed)
        assert rademacher(members, 5, members.size, rng, draws).value <= truth


def test_without_its_deviation_a_mean_of_draws_would_be_wrong():
    F = np.array([[1.0, 1.0, 1.0, 1.0], [-1.0, -1.0, -1.0, -1.0]])
    truth = float(exact_rademacher([[Fraction(int(x)) for x in f] for f in F]))
    above = 0
    for seed in range(300):
        bound = rademacher(FiniteClass(F), 4, 1.0, np.random.default_rng(seed), draws=5)
        assert bound.value <= truth
        above += bound.value + math.sqrt(2 * math.log(1e9) / 20) > truth
    assert above > 60


@pytest.mark.parametrize("norm", ["l1", "l2", "linf", "op", "nuc", "row21", "col1inf"])
def test_complexities_of_balls(norm):
    """Against the best of many members at every sign vector, and against signs enumerated here."""
    rng = np.random.default_rng(0)
    n, shape = 8, (3, 1) if norm in ("l1", "l2", "linf") else (3, 2)
    M = rng.normal(size=(n, *shape))
    ball = BallClass(norm, 1.3, M)
    exact = float(np.mean(ball(all_signs(n)))) / n
    members = draw(du.ball(norm, 1.3), shape, 600, rng)
    inner = np.einsum("kab,nab->kn", members, M)
    part = float((all_signs(n) @ inner.T).max(axis=1).mean()) / n
    assert part <= exact  # what members reach
    assert rademacher(ball, n, ball.size).value <= exact
    for seed in range(20):
        below = rademacher(ball, n, ball.size, np.random.default_rng(seed), draws=20)
        assert below.value <= exact
