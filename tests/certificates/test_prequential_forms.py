"""The forms of a pass: formulas against an oracle, rounding outward, speed of long logs."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dudley.certificates.methods.prequential.form import FORMS, upper
from dudley.certificates.methods.prequential.grid import BETS, WEIGHTS
from dudley.certificates.methods.prequential.smoothing import UnitSmoothing
from dudley.certificates.methods.prequential.totals import TotalsTally, UnitExtent, pairs
from dudley.core.errors import InputError
from each import each

C = math.log(20)
NAMES = ("catoni", "mixture", "variance")


def exact_wealth(name: str, x: list[Fraction], p: float) -> float:
    """Σ_j w_j exp e_j(p) in numbers of 200 bits, term by term as the formula is written."""
    from flint import arb, ctx

    with ctx.workprec(200):
        number = [arb(v.numerator) / v.denominator for v in x]
        total = arb(0)
        for w, θ in zip(WEIGHTS.tolist(), BETS.tolist(), strict=True):
            m, bet = len(x), arb(θ)
            if name == "mixture":
                e = sum((1 - bet * v).log() for v in number) - m * (1 - bet * p).log()
            elif name == "catoni":
                e = sum(number) * (1 - bet).log() - m * (1 - bet * p).log()
            else:
                V, before = arb(0), arb(0)
                for t, v in enumerate(number):
                    V += (v - (before / t if t else arb(0.5))) ** 2
                    before += v
                e = bet * (m * arb(p) - sum(number)) - (-(1 - bet).log() - bet) * V
            total += arb(w) * e.exp()
        return float(total)


@each("name", NAMES)
def test_the_bound_is_just_where_the_formula_reaches_one_over_delta(name):
    rng = np.random.default_rng(3)
    for x in (np.zeros(300), (rng.random(300) < 0.1) * 1.0, rng.integers(0, 65, 300) / 64):
        bound = upper(name, x, C)
        exact = [Fraction(v) for v in x.tolist()]
        assert exact_wealth(name, exact, bound) >= 20, bound
        assert exact_wealth(name, exact, bound * (1 - 1e-8)) < 20, bound


def test_weights_are_no_more_than_one():
    assert sum(map(Fraction, WEIGHTS.tolist())) <= 1 and (WEIGHTS > 0).all()
    assert len(BETS) == len(WEIGHTS) == len(set(BETS.tolist())) and 0 < BETS.min() < BETS.max() < 1


def test_parts_that_are_added_one_by_one_make_the_same_bound():
    x = np.random.default_rng(1).random(5000) ** 3
    for name in NAMES:
        tally = FORMS[name]()
        for part in np.array_split(x, 131):
            tally.add(part)
        assert tally.m == 5000 and tally.upper(C) == pytest.approx(upper(name, x, C), rel=1e-9)


def test_the_mixture_is_the_least_of_the_forms():
    rng = np.random.default_rng(2)
    samples = [np.zeros(5000), (rng.random(5000) < 0.03) * 1.0, rng.beta(2, 5, 5000)]
    for x in samples:
        catoni, mixture, variance = (upper(name, x, C) for name in NAMES)
        assert mixture <= min(catoni * (1 + 1e-9), variance)


def test_no_error_in_100000_units():
    assert upper("mixture", np.zeros(100_000), C) < 4.6e-5


def test_one_or_all_losses_at_the_limit_prove_nothing():
    for name in NAMES:
        assert upper(name, np.ones(50), C) == 1.0
        assert FORMS[name]().upper(C) == 1.0


def test_losses_outside_the_limit_are_refused():
    for x in (np.array([1.1]), np.array([-0.1]), np.array([math.nan]), np.zeros((2, 2))):
        with pytest.raises(InputError, match="losses over their limit"):
            upper("mixture", x, C)


def test_totals_follow_their_formula():
    from flint import arb, ctx

    rng, extent = np.random.default_rng(5), UnitExtent(8.5, 64, 8)
    sizes = rng.integers(8, 65, 400)
    bits = np.round(sizes * rng.uniform(1, 3, 400) * 64) / 64
    tally = TotalsTally(extent, expected=2.1)
    tally.add_units(bits, sizes)
    bound, of_size = tally.upper(C), C + math.log(40)
    most = 64 * upper("mixture", sizes / 64, of_size)
    least = 64 * (1 - upper("mixture", 1 - sizes / 64, of_size))
    assert tally.mean_size == pytest.approx((least, most), rel=1e-9) and 8 < least < most < 64

    def wealth(c: float) -> float:
        total = arb(0)
        with ctx.workprec(200):
            for a, level in zip(*(v.tolist() for v in pairs(extent, 2.1)), strict=True):
                reach = least if c >= level else most
                below = 1 - arb(a) * (arb(c) - level) * reach
                e = sum(
                    (1 - arb(a) * (arb(b) - arb(level) * size)).log()
                    for b, size in zip(bits.tolist(), sizes.tolist(), strict=True)
                )
                total += (e - 400 * below.log()).exp() / len(tally.a)
        return float(total)

    needed = 20 / 0.95  # a twentieth of δ is for the sizes
    assert wealth(bound * (1 + 1e-8)) >= needed > wealth(bound * (1 - 1e-8))
    assert tally.ratio < bound


def test_totals_of_units_that_are_lost_take_the_worst_of_both_ends():
    """They are as large as any where that is dearer, and as small as any for the least mean."""
    extent, sizes = UnitExtent(8.5, 64, 8), np.tile([20, 44], 200)
    tallies = [TotalsTally(extent, expected=2.0) for _ in range(2)]
    lost = np.arange(400) % 8 == 0
    for tally, unknown in zip(tallies, (None, lost), strict=True):
        largest = np.where(lost, 64, sizes)
        bits = np.where(lost, 8.5 * 64, 2.0 * sizes)
        tally.add_units(bits, largest, unknown)
    known, worst = [(tally.upper(C), tally.mean_size) for tally in tallies]
    assert known[0] < worst[0] and known[1][0] > worst[1][0] and known[1][1] == worst[1][1]


def test_totals_and_the_mean_over_units_are_different_numbers():
    """Long units are dearer here, so the totals are larger than the mean."""
    sizes = np.tile([100, 900], 20_000)
    bits = sizes * np.tile([1.0, 2.0], 20_000)
    tally = TotalsTally(UnitExtent(9.0, 1000, 100), expected=1.9)
    tally.add_units(bits, sizes)
    assert tally.ratio == 1.9 < tally.upper(C) < 1.93
    assert upper("mixture", bits / sizes / 9, C) * 9 < 1.53


def test_sizes_and_bits_outside_what_was_declared_are_refused():
    tally = TotalsTally(UnitExtent(8.0, 100, 10))
    for bits, sizes in (([81.0], [10]), ([8.0], [9]), ([8.0], [101]), ([-1.0], [10])):
        with pytest.raises(InputError):
            tally.add_units(np.array(bits), np.array(sizes))


def test_the_mixture_of_models_has_no_more_bits_than_their_mean():
    """Smoothing is linear in p, so convexity carries over; clipped bits would not do."""
    rng, smooth = np.random.default_rng(4), UnitSmoothing(256, 0.25, 20)
    sizes = rng.integers(20, 200, 1000)
    nats = rng.uniform(0, 8, (5, 1000)) * sizes
    mixed = -np.logaddexp.reduce(-nats, axis=0) + math.log(5)
    mean = np.mean([smooth.bits(row, sizes) for row in nats], axis=0)
    assert (smooth.bits(mixed, sizes) <= mean + 1e-9).all()
    assert (smooth.bits(nats.max(0), sizes) <= smooth.limit * sizes).all()


def test_units_that_are_shorter_than_declared_are_not_clipped_but_refused():
    """Two bytes have up to 17 bits, and the limit of ten bytes and more allows them 16.2."""
    smooth = UnitSmoothing(256, 0.5, 10)
    with pytest.raises(InputError, match="at least 10"):
        smooth.bits(np.array([14.0, 1e6]), np.array([10, 2]))


@pytest.mark.slow
def test_ten_million_losses_take_seconds():
    x = np.random.default_rng(0).random(10**7) * 0.2
    for name in NAMES:
        assert 0.1 < upper(name, x, C) < 0.1004, name
