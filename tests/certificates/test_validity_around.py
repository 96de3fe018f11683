"""Coverage around a start where the risk is known, and leaky twins that are seen to fail.

An example is one of d atoms, drawn uniformly, with a label that is a fair coin; the module is
linear in the atom's indicator, so a model is a sign for each atom, and every model errs with
probability 1/2. The adversary knows that: among all words of a code, or all posteriors of a list,
it takes the one whose number is lowest against the risk, so a failure is a failure of *some* word.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import pytest
from scipy import stats

from certificates.arounds import linear_start
from certificates.validity import allowed, leaks
from dudley.calculus.inversion import binomial_upper, kl_upper
from dudley.certificates.around.hashed import HashedPoint
from dudley.certificates.around.words import WordSpace
from dudley.certificates.methods.hold_out.interval import upper

RUNS, ATOMS = 2000, 48


@lru_cache(maxsize=100_000)
def tail(k: int, n: int, c: float) -> float:
    return binomial_upper(k, n, c)


def code_of_signs() -> tuple[np.ndarray, np.ndarray]:
    """(signs (words, atoms), bits (words)) of the real words around a start of small weights."""
    start = linear_start([[0.25] * (ATOMS // 2) + [-0.25] * (ATOMS // 2)])
    space = WordSpace(start, ("*",), 1, (5,), (3,))
    signs, bits = [], []
    for index in range(3**5):
        levels = np.array([index // 3**i % 3 - 1 for i in range(5)])
        word = space.write("hashed", "*", HashedPoint(5, 3, 4.0, levels))
        signs.append(np.sign(space.decode(word)["weight"][0]))
        bits.append(word.length)
    signs.append(np.sign(start.arrays(("weight",))["weight"][0]))
    return np.array(signs), np.array([*bits, space.write("start").length])


SIGNS, BITS = code_of_signs()


def coins(n: int, seed: int) -> np.ndarray:
    """(runs, atoms): the sum of the ±1 labels of each atom's examples; and how many it has."""
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(n, [1 / ATOMS] * ATOMS, RUNS)
    return np.stack([2 * rng.binomial(counts, 0.5) - counts, counts])


def failing(bits: np.ndarray, n: int, δ: float, seed: int = 0) -> int:
    """In how many runs the number of some word is below the risk 1/2."""
    sums, _ = coins(n, seed)
    errors = np.rint((n - sums @ SIGNS.T) / 2).astype(int)  # (runs, words)
    table = {
        b: [tail(k, n, -math.log(δ) + b * math.log(2)) for k in range(n + 1)]
        for b in set(bits.tolist())
    }
    bounds = np.stack([np.array(table[b])[errors[:, i]] for i, b in enumerate(bits.tolist())])
    return int((bounds.min(0) < 0.5).sum())


@pytest.mark.parametrize("δ", [0.1, 0.2])
def test_no_word_fails_more_often_than_declared(δ):
    assert allowed(failing(BITS, 100, δ), RUNS, δ)


def test_words_without_their_bits_fail():
    """The leaky twin: the best of 244 models at the confidence of one."""
    assert leaks(failing(0 * BITS, 100, 0.1), RUNS, 0.1)


def test_words_with_some_of_their_bits_fail():
    """The mutation: three quarters of the bits are forgotten."""
    assert failing(BITS // 4, 100, 0.1) > failing(BITS, 100, 0.1)
    assert not allowed(failing(BITS // 4, 100, 0.1), RUNS, 0.1)


def memory(n0: int, n: int, counts_share: bool, seed: int, δ: float = 0.1) -> int:
    """A start that remembers the share, and whose word is the start.

    It says of each atom what most of its labels in the share are. The honest number counts the
    other n − n₀ examples; the leaky twin counts all n.
    """
    (sums, _), (rest, _) = coins(n0, seed), coins(n - n0, seed + 1)
    sign = np.where(sums >= 0, 1, -1)
    errors = (n - n0 - (sign * rest).sum(1)) / 2
    size, c = n - n0, -math.log(δ) + 2 * math.log(2)
    if counts_share:
        errors, size = errors + (n0 - (sign * sums).sum(1)) / 2, n
    bounds = np.array([tail(int(k), size, c) for k in np.rint(errors)])
    return int((bounds < 0.5).sum())


def test_a_start_that_saw_the_counted_examples_fails():
    assert allowed(memory(60, 120, False, 3), RUNS, 0.1)
    assert leaks(memory(60, 120, True, 3), RUNS, 0.1)


# -- PAC-Bayes ----------------------------------------------------------------------------------


def posterior_failures(n: int, δ: float, divergence: bool, seen: int = 0, seed: int = 5) -> int:
    """In how many runs the number of some posterior of a list is below the risk 1/2.

    Weights N(u, 1) around a prior N(u₀, 1); u goes from u₀ along the label sums, in twelve lengths.
    The mean error of the draws is exact: P[the sign of an atom is −1] = Φ(−u). The honest u₀ is 0;
    the leaky one points where ``seen`` of the counted examples do.
    """
    first, second = coins(max(seen, 1), seed), coins(n - seen, seed + 1)
    sums, counts = first + second if seen else second
    u0 = 3.0 * np.sign(first[0]) * bool(seen)
    direction = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    failed = np.zeros(RUNS, bool)
    for length in np.linspace(0, 6, 12):
        wrong = stats.norm.cdf(-(u0 + length * direction))  # P[sign −1]
        ups = (counts + sums) / 2  # labels +1 of each atom
        q = (ups * wrong + (counts - ups) * (1 - wrong)).sum(1) / n
        nats = (0.5 * length**2 if divergence else 0.0) + math.log(2 * math.sqrt(n) / δ)
        bounds = [kl_upper(math.ceil(1000 * x) / 1000, round(nats / n, 12)) for x in q]
        failed |= np.array(bounds) < 0.5
    return int(failed.sum())


def test_posteriors_around_a_start_hold_and_without_their_divergence_fail():
    assert allowed(posterior_failures(200, 0.1, True), RUNS, 0.1)
    assert leaks(posterior_failures(200, 0.1, False), RUNS, 0.1)


def test_a_prior_around_a_start_that_saw_what_is_counted_fails():
    assert leaks(posterior_failures(200, 0.1, True, seen=150), RUNS, 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("δ", [0.1, 0.2])
def test_the_mean_of_draws_is_covered(δ):
    """Draws that nearly all agree, and a few that err everywhere: the hardest mean to bound."""
    rng, K, c = np.random.default_rng(6), 60, -math.log(δ)
    for rare in (0.0, 0.03, 0.3):
        truth, failed = 0.1 * (1 - rare) + rare, 0
        for _ in range(1000):
            shares = rng.binomial(16, 0.1, K) / 16
            shares[rng.random(K) < rare] = 1.0
            failed += upper("betting", shares, c) < truth
        assert allowed(failed, 1000, δ), rare


def test_draws_taken_for_pairs_fail():
    """The leaky twin: K·m examples of K draws as if each had its own weights."""
    rng, K, m, failed = np.random.default_rng(7), 30, 50, 0
    for _ in range(1000):
        erring = m * (rng.random(K) < 0.1).sum()
        failed += tail(int(erring), K * m, -math.log(0.1)) < 0.1
    assert leaks(failed, 1000, 0.1)
