"""Occam by simulation: near-tight where it should be, and every leak is seen.

Toys have 2 to 16 hypotheses; what is not paid in a leaky variant is what was chosen after looking.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from certificates.validity import NoisyCopies, allowed, failures, leaks, reader, tight
from dudley.calculus.inversion import binomial_upper
from dudley.certificates.base import METHODS
from dudley.certificates.codes.atoms import OneOf, encode
from dudley.certificates.codes.base import Frame
from dudley.certificates.codes.kinds.subspace import Subspace, SubspacePoint
from dudley.certificates.data import Dataset
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.price import Bill, bits

δ, N, TIMES = 0.1, 200, 1000


def number(errors: int, n: int, length: int) -> float:
    """Occam's bound at a code word of so many bits."""
    return binomial_upper(int(errors), n, Bill(δ, (bits("code", length),)).log_confidence)


def best_of(errors_of, length: int, truth: float, draw, repetitions=TIMES) -> int:
    """Failures when the hypothesis with fewest errors is taken and its word is ``length`` long."""

    def certify(data):
        errors = errors_of(data)
        return number(errors.min(), data.n, length)

    return failures(draw, certify, truth, repetitions, seed=1)


@pytest.mark.parametrize("count", [2, 16])
def test_near_tight_and_5_6_best_of_logged(count):
    """Independent hypotheses of one risk: with log₂ count bits almost δ, with none far beyond.

    The leaky variant is a logged certificate that was to be declared beforehand and was not.
    """
    length = encode(OneOf(count), count - 1).length
    assert length == math.log2(count)
    risk = tight(12, N, δ / count)
    toy = NoisyCopies((risk,) * count, N)
    failed = best_of(toy.errors, length, risk, toy)
    assert allowed(failed, TIMES, δ)
    assert failed >= 0.6 * δ * TIMES  # almost as often as it may
    risk = tight(12, N, 2 * δ / count)
    toy = NoisyCopies((risk,) * count, N)
    assert not allowed(best_of(toy.errors, length - 1, risk, toy), TIMES, δ)  # one bit too few
    if count > 2:
        risk = tight(20, N, δ)
        toy = NoisyCopies((risk,) * count, N)
        assert leaks(best_of(toy.errors, 0, risk, toy), TIMES, δ)


def coins(T: int):
    """x and y independent: every function that never ties errs with probability ½."""

    def draw(generator) -> Dataset:
        X = generator.integers(0, 2, (N, T)).astype(np.uint8)
        return Dataset(X, generator.integers(0, 2, N))

    return draw


@cache
def of_seeds(count: int, T: int = 8) -> np.ndarray:
    """What the models of ``count`` subspace seeds say on all inputs: (count, 2^T), 0 or 1."""
    model = reader(T, 0)
    X = (np.arange(2**T)[:, None] >> np.arange(T)) & 1
    bounds = []
    for seed in range(count):
        frame = Frame(tuple(model.shapes.items()), T, seed, (2,), (3,))
        W = Subspace().weights(SubspacePoint(2, 3, 0, 1.0, np.array([1, -1])), frame)
        f = Hypothesis(model.tables, model.encoding_table, W).outputs(X)[:, 0]
        assert np.abs(f).min() > 1e-9
        bounds.append(f > 0)
    return np.array(bounds)


def test_13_a_seed_chosen_after_looking_must_be_coded():
    count, T = 16, 8
    said = of_seeds(count)

    def errors(data):
        index = data.X.astype(int) @ (1 << np.arange(T))
        return (said[:, index] != data.y).sum(axis=1)

    assert allowed(best_of(errors, encode(OneOf(count), 3).length, 0.5, coins(T)), TIMES, δ)
    assert leaks(best_of(errors, 0, 0.5, coins(T)), TIMES, δ)


def test_7_a_step_chosen_after_looking_must_be_coded():
    """f = ±(Σ(2x_t − 1) − step), for 16 odd steps of either sign: a threshold."""
    T, steps = 16, np.arange(-15, 17, 4)

    def errors(data):
        sums = 2.0 * data.X.sum(axis=1) - T
        wrong = ((sums[None] - steps[:, None] > 0) != data.y).sum(axis=1)
        return np.minimum(wrong, data.n - wrong)

    assert allowed(best_of(errors, encode(OneOf(16), 0).length, 0.5, coins(T)), TIMES, δ)
    assert leaks(best_of(errors, 0, 0.5, coins(T)), TIMES, δ)


def test_14_a_start_that_saw_the_data_must_be_coded():
    """The start is the best of 16 readers; "no move from the start" is a word of one bit."""
    risk = tight(30, N, δ)
    toy = NoisyCopies((risk,) * 16, N)
    assert allowed(best_of(toy.errors, 1 + 4, risk, toy), TIMES, δ)
    assert leaks(best_of(toy.errors, 1, risk, toy), TIMES, δ)


def test_the_method_itself_never_fails_more_often_than_allowed():
    """The best reader of eight, by the method's own code; and with a word that is not paid."""
    T, times, n = 8, 500, 60
    risk = tight(0, n, δ)
    toy, occam, unpaid = NoisyCopies((risk,) * T, n), METHODS["occam"], []

    def certify(data):
        certificate = occam(reader(T, int(toy.errors(data).argmin())), data, delta=δ)
        unpaid.append(binomial_upper(certificate.facts.errors, data.n, -math.log(δ)))
        return certificate.value

    assert allowed(failures(toy, certify, risk, times, seed=3), times, δ)
    assert leaks(sum(value < risk for value in unpaid), times, δ)
