"""The bound of language certificates, on toys with known means; each way to cheat is caught."""

import math
from functools import lru_cache

import numpy as np
import pytest

from certificates.validity import allowed, failures, leaks
from dudley.calculus.inversion import kl_upper
from dudley.certificates.methods.language import bound
from dudley.core.errors import InputError

δ, REPETITIONS = 0.1, 500


@pytest.mark.parametrize("share", [0.02, 0.3, 0.7])
@pytest.mark.parametrize("c", [0.002, 0.05])
def test_on_two_values_the_bet_is_kl_inversion(share, c):
    """sup_g S_g(m) = kl(q‖m/B) for losses 0 and B, q of them B: the list misses little of it."""
    B, x = 5.0, np.where(np.arange(1000) < 1000 * share, 5.0, 0.0)
    value, _ = bound.bet(x, B, c)
    exact = B * kl_upper(share, c)
    assert exact - 1e-12 <= value <= exact + 0.03 * (exact - B * share)


def test_the_bet_against_exact_arithmetic():
    """∏(1 + g(m − x)/(B − m)) in rationals is ≥ e^{nc} at the value and not 10⁻⁶ below."""
    from fractions import Fraction as F

    x, B, g, n, c = [1.25, 2.5, 0.5, 3.75], 5.0, 0.75, 4, 0.2
    value = bound.bet_at(np.array(x), B, c, g)

    def product(m: float):
        return math.prod(1 + F(g) * (F(m) - F(v)) / (F(B) - F(m)) for v in x)

    assert float(product(value)) >= math.exp(n * c) > float(product(value - 1e-6))


def test_the_bet_is_never_much_above_kl_and_far_below_where_losses_vary_little():
    generator, B = np.random.default_rng(0), 6.0
    for c in (0.01, 0.1):
        x = generator.normal(3.0, 0.3, 2000)
        value, kl = bound.bet(x, B, c)[0], B * kl_upper(float(x.mean()) / B, c)
        assert x.mean() < value < x.mean() + 0.55 * (kl - x.mean())
        wild = B * generator.integers(0, 2, 2000) * generator.random(2000)
        assert bound.bet(wild, B, c)[0] <= B * kl_upper(float(wild.mean()) / B, c) + 1e-3


def test_losses_beyond_the_limit_are_refused():
    with pytest.raises(InputError, match="losses"):
        bound.bet(np.array([1.0, 7.0]), 6.0, 0.1)


def at_confidence(x, B, g, ways: int = 1):
    """With a bet fixed before the toys are drawn: nothing is paid for it."""
    return _bet_at(tuple(np.sort(x).tolist()), B, math.log(ways / δ) / len(x), g)


@lru_cache(maxsize=4096)
def _bet_at(ordered: tuple[float, ...], B: float, c: float, g: float) -> float:
    """Toys repeat: each different set of losses is bounded once, as their order plays no role."""
    return bound.bet_at(np.array(ordered), B, c, g)


def test_the_order_of_the_losses_plays_no_role():
    x = np.random.default_rng(8).random(50)
    assert bound.bet_at(x, 1.0, 0.1, 0.5) == bound.bet_at(np.sort(x), 1.0, 0.1, 0.5)


@pytest.mark.parametrize("p, g", [(0.02, 0.8), (0.1, 0.4)])
def test_every_model_pays_for_its_code(p, g):
    """64 models with independent losses; the one with the least bound is shown."""
    n, models, B = 200, 64, 4.0

    def draw(generator):
        return B * (generator.random((models, n)) < p)

    def least(paid: bool):
        return lambda x: at_confidence(x[x.mean(1).argmin()], B, g, models if paid else 1)

    assert allowed(failures(draw, least(True), B * p, REPETITIONS, 1), REPETITIONS, δ)
    assert leaks(failures(draw, least(False), B * p, REPETITIONS, 1), REPETITIONS, δ)


def test_documents_without_replacement_from_a_pool():
    """Maclaurin: the number holds for the mean of the pool, half of which was drawn."""
    pool = np.where(np.arange(200) < 10, 4.0, 0.5)

    def draw(generator):
        return generator.permutation(pool)[:100]

    failed = failures(draw, lambda x: at_confidence(x, 4.0, 0.3), pool.mean(), REPETITIONS, 2)
    assert allowed(failed, REPETITIONS, δ)


def test_chunks_are_not_documents():
    """Trap 20: 40 documents cut into 100 chunks with one loss each, counted as 4,000."""

    def draw(generator):
        return np.where(generator.random(40) < 0.3, 4.0, 1.0)

    def value(copies):
        return lambda x: at_confidence(np.repeat(x, copies), 4.0, 0.05 if copies > 1 else 0.4)

    assert leaks(failures(draw, value(100), 1.9, REPETITIONS, 3), REPETITIONS, δ)
    assert allowed(failures(draw, value(1), 1.9, REPETITIONS, 3), REPETITIONS, δ)


def test_the_number_is_about_the_smoothed_loss():
    """Trap 22: a rare document that costs the bare model 900 bits a symbol, the smoothed one 5."""
    p, B = 0.002, 5.0

    def draw(generator):
        return np.where(generator.random(300) < p, 900.0, 2.0)

    def value(x):
        return at_confidence(np.minimum(x, B), B, 0.75)

    assert leaks(failures(draw, value, 2 + 898 * p, REPETITIONS, 4), REPETITIONS, δ)
    assert allowed(failures(draw, value, 2 + 3 * p, REPETITIONS, 4), REPETITIONS, δ)


def part_of(x, generator, n_s):
    return x[generator.integers(0, len(x), n_s)]


def test_part_of_the_documents_drawn_after_training():
    """A part certifies nothing below the number of all; the best of 30 draws does (trap 18)."""
    n, n_s, B, g, g2 = 2000, 100, 4.0, 0.5, 0.5
    x = np.where(np.arange(n) < 200, 4.0, 1.0)
    c, c_part = 5.0 / n, math.log(1 / δ) / n_s
    below = bound.bet_at(x, B, c, g) - 1e-6

    def wrong(part):
        return not bound.certified_from_part(part, B, c, c_part, g, g2, below)

    def once(generator):
        return part_of(x, generator, n_s)

    def searched(generator):
        return min((part_of(x, generator, n_s) for _ in range(30)), key=np.mean)

    assert allowed(failures(once, wrong, 0.5, REPETITIONS, 5), REPETITIONS, δ)
    assert leaks(failures(searched, wrong, 0.5, REPETITIONS, 6), REPETITIONS, δ)


def test_the_part_bound_tends_to_that_of_all():
    generator, B = np.random.default_rng(7), 5.1
    x = np.round(generator.normal(3, 0.3, 5000), 2)
    value, c = bound.bet(x, B, 0.05)[0], 0.05
    few, many = (
        bound.bet_from_part(part_of(x, generator, n_s), B, c, 20 / n_s) for n_s in (500, 50_000)
    )
    assert few is not None and many is not None
    assert value < many[0] < few[0] < 4 and many[0] < value + 0.02


def test_sublora_by_hand_and_its_weights():
    K = 1000 + 2 * math.log2(1000) + 1
    r = 500 / 10_500
    expected = 3 + 6 * (
        math.sqrt((K * math.log(2) + math.log(1 / (r * 0.05))) / 20_000)
        + math.sqrt(math.log(1 / ((1 - r) * 0.05)) / 1000)
    )
    number = bound.sublora(3.0, 6.0, 1000, 10_000, 0.05, 500)
    assert expected <= number < expected + 1e-10
    lengths = range(1, 10_000)  # Σ over strings: 2^ℓ of each length
    assert sum(2.0 ** -(2 * math.log2(ℓ) + 1) for ℓ in lengths) < 1
    assert sum(2.0 ** -(2 * math.log2(ℓ)) for ℓ in lengths) > 1
