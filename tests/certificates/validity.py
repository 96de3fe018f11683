"""Validity by simulation: how often does a number fall below the risk that it claims to bound?

``failures`` counts; ``allowed`` asks whether so many can come from failing with probability ≤ δ
(exact binomial test); ``leaks`` whether a leaky variant is caught. The toys have known risks: bit j
of an example is a copy of its label that is wrong with probability risks[j], so the model that
reads bit j errs with probability risks[j] exactly; ``tight`` gives a risk at which Clopper and
Pearson's bound fails almost as often as δ allows.

    from certificates.validity import NoisyCopies, allowed, failures, leaks, reader, tight
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import stats

from dudley.certificates.data import Dataset
from dudley.certificates.hypothesis import Hypothesis

LEVEL = 1e-3  # at which a number that fails as often as δ allows is called wrong


def failures(
    draw: Callable[[np.random.Generator], Any],
    certify: Callable[[Any], Any],
    truth: float | Callable[[Any], float],
    repetitions: int,
    seed: int,
) -> int:
    """In how many repetitions the number is below the truth.

    ``draw(generator)`` makes the data; ``certify(data)`` returns the number, or a pair of the
    number and what it is about (the model that was chosen); ``truth`` is the risk, or a function
    of what the number is about (of the data, where certify returned no pair).
    """
    generator, failed = np.random.default_rng(seed), 0
    for _ in range(repetitions):
        data = draw(generator)
        certificate = certify(data)
        value, about = certificate if isinstance(certificate, tuple) else (certificate, data)
        failed += value < (truth(about) if callable(truth) else truth)
    return failed


def allowed(failed: int, repetitions: int, delta: float) -> bool:
    """Is P[Bin(repetitions, δ) ≥ failed] at least 1e-3?

    >>> allowed(100, 1000, 0.1), allowed(150, 1000, 0.1)
    (True, False)
    """
    return float(stats.binom.sf(failed - 1, repetitions, delta)) >= LEVEL


def leaks(failed: int, repetitions: int, delta: float) -> bool:
    """Did a leaky variant fail at three times δ or more?"""
    return failed >= 3 * delta * repetitions


def tight(errors: int, n: int, delta: float) -> float:
    """A risk p with P[Bin(n, p) ≤ errors] just below δ: there Clopper–Pearson fails with
    probability almost δ.

    >>> p = tight(3, 100, 0.1)
    >>> bool(0.0999 < stats.binom.cdf(3, 100, p) < 0.1)
    True
    """
    return float(stats.beta.isf(delta, errors + 1, n - errors)) * (1 + 1e-6)


@dataclass(frozen=True)
class NoisyCopies:
    """n examples of len(risks) bits: y is a fair coin, bit j is y, wrong with probability risks[j].

    The noises are independent over bits and examples, or with ``together`` made of one uniform
    number an example, so that models with equal risks err on the same ones.
    """

    risks: tuple[float, ...]
    n: int
    together: bool = False

    def __call__(self, generator: np.random.Generator) -> Dataset:
        y = generator.integers(0, 2, self.n)
        shape = (self.n, 1 if self.together else len(self.risks))
        wrong = generator.random(shape) < np.array(self.risks)
        return Dataset((y[:, None] ^ wrong).astype(np.uint8), y)

    def errors(self, data: Dataset) -> np.ndarray:
        """Of every reader on the data."""
        return (data.y[:, None] != data.X).sum(axis=0)


@lru_cache(maxsize=256)
def reader(T: int, j: int, size: float = 1.0) -> Hypothesis:
    """The model f(x) = ±size/(T+1) that says what bit j says: one head with a fixed query.

    >>> reader(3, 1).outputs(np.array([[0, 1, 0], [1, 0, 1]])).ravel()
    array([ 0.25, -0.25])
    """
    W_v = np.zeros((2 * T + 1, 1))
    W_v[j], W_v[T + j] = -size, size
    return Hypothesis(_head(T), {"name": "bits", "T": T}, {"0.v": np.zeros_like(W_v), "0.W_v": W_v})


def _head(T: int) -> dict[str, Any]:
    layer = {"node": "head", "query": "fixed", "v": "free", "W_v": "free", "k": 1}
    layer["sigma"] = "identity"
    return {"schema": "dudley.net/1", "input": {"T": T + 1, "V": 2 * T + 1}, "layer": [layer]}


def log_confidence(delta: float, ways: int = 1) -> float:
    """ln(1/δ′) where δ is split evenly."""
    return math.log(ways / delta)
