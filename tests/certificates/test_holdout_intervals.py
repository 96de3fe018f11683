"""Intervals and losses of the hold-out against exact arithmetic."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, strategies as st
from scipy import stats

from dudley.calculus.inversion import kl_upper
from dudley.certificates.methods.hold_out.interval import INTERVALS, upper
from dudley.certificates.methods.hold_out.intervals.betting import log_capital, plug_in, κ
from dudley.certificates.methods.hold_out.intervals.fixed_bets import bets_for
from dudley.certificates.methods.hold_out.losses import BoundedLoss, cross_entropy, losses
from dudley.core.errors import DudleyError, InputError
from each import each

unit = st.floats(0, 1, allow_subnormal=False).map(lambda x: round(x, 12))
some_losses = st.lists(unit, min_size=2, max_size=30).map(np.array)
nats = st.floats(0.5, 20.0)
REAL = ("hoeffding", "hoeffding-kl", "empirical-bernstein", "fixed-bets", "betting")


def exact(x: Fraction):
    return arb(x.numerator) / x.denominator


def sums(z):
    parts = [Fraction(float(x)) for x in z]
    mean = sum(parts, Fraction(0)) / len(parts)
    return mean, sum(((x - mean) ** 2 for x in parts), Fraction(0))


# -- intervals --------------------------------------------------------------------------------


@given(some_losses, nats)
def test_hoeffding(z, c):
    with ctx.workprec(200):
        true = exact(sums(z)[0]) + (arb(c) / (2 * len(z))).sqrt()
        bound = arb(upper("hoeffding", z, c))
        assert bound == 1 or true <= bound <= true * (1 + arb(2) ** -40)
        assert bound != 1 or true >= 1 - arb(2) ** -40


@given(some_losses, nats)
def test_hoeffding_kl_is_below_hoeffding(z, c):
    bound, mean = upper("hoeffding-kl", z, c), sums(z)[0]
    assert bound <= upper("hoeffding", z, c) * (1 + 1e-9) + 1e-9
    assert bound == 1 or float(mean) <= bound
    if 0 < mean < 1 and bound < 1:
        with ctx.workprec(300):
            q, p = exact(mean), arb(bound)
            kl = q * (q / p).log() + (1 - q) * ((1 - q) / (1 - p)).log()
            assert kl * len(z) >= arb(c)
    assert bound == pytest.approx(kl_upper(float(mean), c / len(z)), rel=1e-6, abs=1e-9)


@given(some_losses, nats)
def test_empirical_bernstein(z, c):
    n = len(z)
    mean, squares = sums(z)
    with ctx.workprec(200):
        nats = arb(c) + arb(2).log()
        true = exact(mean) + (2 * exact(squares / (n - 1)) * nats / n).sqrt()
        true += 7 * nats / (3 * (n - 1))
        bound = arb(upper("empirical-bernstein", z, c))
        assert bound == 1 or true <= bound <= true * (1 + arb(2) ** -30)


def test_one_loss_says_nothing_to_bernstein():
    assert upper("empirical-bernstein", np.array([0.0]), 3.0) == 1


@given(st.lists(st.booleans(), min_size=1, max_size=60), nats)
def test_clopper_pearson(z, c):
    bound = upper("clopper-pearson", np.array(z, float), c)
    k, n = sum(z), len(z)
    expected = 1.0 if k == n else stats.beta.isf(math.exp(-c), k + 1, n - k)
    assert bound == pytest.approx(max(expected, k / n), rel=1e-9)


def bets_by_hand(z, c):
    """The plug-in bets in a loop that sees one loss at a time."""
    n, bets, total, spread = len(z), [], 0.5, 0.25
    for t, x in enumerate(z):
        bets.append(math.sqrt(2 * c / (n * spread / (t + 1))))
        total += x
        spread += (x - total / (t + 2)) ** 2
    return bets


def betting_by_hand(z, c):
    bets, low, high = bets_by_hand(z, c), 0.0, 1.0
    for _ in range(50):
        m, capital, most = (low + high) / 2, 1.0, 1.0
        for b, x in zip(bets, z, strict=True):
            capital *= 1 + min(b, 0.9 / (1 - m)) * (m - x)
            most = max(most, capital)
        low, high = (low, m) if most >= math.exp(c) else (m, high)
    return max(high, sum(z) / len(z))


@given(some_losses, nats)
def test_betting_by_a_second_program(z, c):
    assert upper("betting", z, c) == pytest.approx(betting_by_hand(z.tolist(), c), rel=1e-9)


def exact_capital(z, bets, m):
    """max_t K_t(m) for the rational numbers that these floats are."""
    M, capital, most = Fraction(m), Fraction(1), Fraction(1)
    for b, x in zip(bets.tolist(), z.tolist(), strict=True):
        λ = min(Fraction(b), Fraction(κ) / (1 - M))
        capital *= 1 + λ * (M - Fraction(x))
        assert capital > 0
        most = max(most, capital)
    return most


@given(some_losses, nats)
def test_betting_refutes_its_bound_and_all_above(z, c):
    bound = upper("betting", z, c)
    bets = plug_in(z, c)
    if bound < 1:
        with ctx.workprec(300):
            assert exact(exact_capital(z, bets, bound)) >= arb(c).exp()
            below = exact(exact_capital(z, bets, bound * (1 - 1e-9)))
            assert below < arb(c).exp() * (1 + arb(2) ** -20) or bound <= z.mean() + 1e-12
    means = sorted({bound, *np.linspace(bound, 0.999, 7).tolist()} - {1.0})
    capitals = [exact_capital(z, bets, m) for m in means]
    assert capitals == sorted(capitals)


@given(some_losses, nats, unit)
def test_the_capital_is_from_below(z, c, m):
    m = min(m, 0.999)
    capital = log_capital(z, plug_in(z, c), m)
    with ctx.workprec(300):
        true = exact(exact_capital(z, plug_in(z, c), m)).log()
        assert arb(capital) <= true
        assert m in z or arb(capital) >= true - 1e-9 or true < 1e-6 or capital < 0


@given(some_losses, nats, st.data())
def test_bets_do_not_see_what_comes_after(z, c, data):
    t = data.draw(st.integers(0, len(z) - 1))
    other = z.copy()
    other[t:] = data.draw(st.lists(unit, min_size=len(z) - t, max_size=len(z) - t))
    assert np.array_equal(plug_in(z, c)[: t + 1], plug_in(other, c)[: t + 1])


@pytest.mark.parametrize("name", [*REAL, "clopper-pearson"])
@given(st.lists(st.booleans(), min_size=2, max_size=30), nats)
def test_intervals_grow_with_losses_and_confidence(name, z, c):
    z = np.array(z, float)
    bound = upper(name, z, c)
    assert z.mean() <= bound <= 1
    assert upper(name, np.ones(len(z)), c) == 1
    if name != "betting":  # whose bets, too, move with c
        assert upper(name, z, c + 1) >= bound * (1 - 1e-9)


def test_bets_beat_the_others_where_losses_vary_little():
    z = np.random.default_rng(0).beta(1, 9, 1000)
    bounds = {name: upper(name, z, 3.0) for name in REAL}
    assert sorted(bounds, key=lambda name: bounds[name])[:2] == ["betting", "fixed-bets"]
    zeros = {name: upper(name, np.zeros(1000), 3.0) for name in INTERVALS}
    assert max(zeros["betting"], zeros["fixed-bets"]) < 1.2 * zeros["clopper-pearson"]


@given(some_losses, nats, st.randoms())
def test_fixed_bets_refute_their_bound_in_any_order(z, c, random):
    bound, turned = upper("fixed-bets", z, c), z.tolist()
    random.shuffle(turned)
    assert upper("fixed-bets", np.array(turned), c) == bound
    if z.mean() < bound < 1:
        bets = bets_for(len(z), c)
        with ctx.workprec(300):
            capital = sum(
                arb(w)
                * exact(math.prod(1 - Fraction(θ) * Fraction(x) for x in z.tolist()))
                / (1 - arb(θ) * arb(bound)) ** len(z)
                for w, θ in zip(bets.weights.tolist(), bets.bets.tolist(), strict=True)
            )
            assert capital >= arb(c).exp() and sum(map(Fraction, bets.weights.tolist())) <= 1


@each("z", [[], [[0.0]], [-0.1], [1.1], [math.nan], [0.5, math.inf]])
@each("name", REAL)
def test_losses_outside_the_unit_interval_are_refused(name, z):
    with pytest.raises(InputError, match="losses"):
        upper(name, np.array(z), 3.0)


def test_odd_confidences_and_names_are_refused():
    for odd in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(InputError):
            upper("hoeffding", np.zeros(3), odd)
    with pytest.raises(DudleyError, match="did you mean betting"):
        upper("beting", np.zeros(3), 1.0)
    with pytest.raises(InputError, match=r"a loss of 0\.5"):
        upper("clopper-pearson", np.array([0.0, 0.5]), 1.0)


# -- losses -----------------------------------------------------------------------------------

logit = st.floats(-50, 50) | st.floats(-350, 350) | st.sampled_from([0.0, 1.0, -1.0])


@given(st.lists(st.tuples(logit, logit, logit), min_size=1, max_size=5), st.integers(0, 2))
def test_cross_entropy_is_from_above(rows, label):
    outputs = np.array(rows)
    losses = cross_entropy(outputs, np.full(len(rows), label))
    with ctx.workprec(1500):
        for row, value in zip(rows, losses.tolist(), strict=True):
            true = (sum((arb(o) - arb(row[label])).exp() for o in row)).log()
            assert true <= arb(value) <= true * (1 + arb(2) ** -38) + arb(1e-299)


@given(logit, st.integers(0, 1))
def test_one_output_is_two_logits(f, label):
    y = np.array([label])
    single = cross_entropy(np.array([[f]]), y)
    assert single == pytest.approx(cross_entropy(np.array([[0.0, f]]), y), rel=1e-12)


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=9), st.floats(0.01, 2), st.floats(0.1, 9))
def test_ramp_and_cross_entropy_are_above_the_error(f, γ, C):
    outputs, y = np.array(f)[:, None], np.ones(len(f), int)
    error = losses(outputs, y, BoundedLoss("error"))
    ramp = losses(outputs, y, BoundedLoss("ramp", γ))
    entropy = losses(outputs, y, BoundedLoss("clipped cross-entropy", C))
    for z in (error, ramp, entropy):
        assert ((z >= 0) & (z <= 1)).all()
    for x, e, r in zip(f, error, ramp, strict=True):
        assert e == (x <= 0)
        true = min(Fraction(1), max(Fraction(0), 1 - Fraction(x) / Fraction(γ)))
        assert true <= Fraction(float(r)) <= true + Fraction(1, 10**12)
    assert (ramp >= error).all()
    assert (entropy >= error * min(math.log(2), C) / C * (1 - 1e-12)).all()


@pytest.mark.parametrize(
    "loss",
    [BoundedLoss("error"), BoundedLoss("ramp", 1.0), BoundedLoss("clipped cross-entropy", 2)],
)
def test_undefined_outputs_lose_all(loss):
    y = np.array([1, 0])
    for outputs in (np.full((2, 1), np.nan), np.full((2, 2), np.inf), np.full((2, 2), np.nan)):
        assert losses(outputs, y, loss).tolist() == [1.0, 1.0]
    right = np.array([[np.inf], [-np.inf]])
    assert losses(right, y, loss) == pytest.approx(np.zeros(2))
