"""How many examples until a certificate of sparse AND says what a success of a trial says?

The planted function itself, as one head with a fixed query over the bits, is certified as if it had
been trained without an error: then a certificate is 1 − e^{−c/n}, with c = ln(1/δ) and the price of
everything that was chosen, and it is at most ε at

    n = c / ln(1/(1 − ε)).

*occam*: the bits of the code word of the head with uniform attention, u = −2 at the hidden places'
zeros and 1 at [CLS], which is positive if none of them is there; or, odd in the bits, u = ±1 at the
hidden places and −2 at [CLS]. *norm-cover*: attention sharp enough for a margin that does not fall
with T: z hidden zeros of score β, [CLS] of score c,

    f = (e^c − z e^β) / (e^c + z e^β + T − z),

the better of two c. *hold-out*: c = ln(1/δ), whatever T is.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from dudley.calculus.union import Grid
from dudley.certificates.base import METHODS
from dudley.certificates.codes.base import cheapest
from dudley.certificates.fit.heads import tables
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.methods.norm_cover.method import NormCover
from dudley.certificates.methods.norm_cover.terms import terms
from dudley.certificates.methods.occam.method import checked_frame

LONGEST = 20_000  # bits; the exact code of a longer head takes minutes
SHARPNESS = (4.0, 16.0)  # e^c over T
APART = 5.0  # e^{β − c}


def sizes(lengths: list[int], error: float, delta: float, s: int = 3) -> list[dict[str, Any]]:
    """For each T the n at which each certificate comes down to an error.

    >>> [row] = sizes([10], error=0.01, delta=0.05)
    >>> row["hold-out"], row["hold-out"] < row["occam"] < row["norm-cover"]
    (299, True)
    """
    rows = []
    for T in lengths:
        if T <= LONGEST:
            costs = {"hold-out": 0.0, "occam": coded(T, s), "norm-cover": covered(T, s, delta)}
            counts = {name: needed(nats - math.log(delta), error) for name, nats in costs.items()}
            rows.append({"T": T} | counts)
    return rows


def needed(nats: float, error: float) -> int:
    """The least n with 1 − e^{−nats/n} ≤ error."""
    return math.ceil(nats / -math.log1p(-error))


@lru_cache
def coded(T: int, s: int) -> float:
    """Nats of the shortest code word of the planted function."""
    occam = METHODS["occam"]
    words = []
    for ones, zeros, last in ((0.0, -2.0, 1.0), (1.0, -1.0, 1.0 - s)):
        model = head(T, s, (0.0, 0.0), (ones, zeros, last))
        word = cheapest(dict(model.weights), checked_frame(model, occam.read_declared({})))
        assert word is not None
        words.append(word.length)
    return min(words) * math.log(2)


@lru_cache
def covered(T: int, s: int, delta: float) -> float:
    """Log of the cover around the planted function, with the price of norms and margin."""
    method = NormCover()
    declared = method.read_declared({"delta": delta})
    grid, least = Grid(declared.margin_ratio), math.inf
    for sharp in SHARPNESS:
        last = math.log(sharp * T)
        model = head(T, s, (last + math.log(APART), last), (0.0, -1.0, 1.0))
        γ, _ = grid.round_down(margin(T, s, sharp * T, APART))
        j = round(math.log(γ) / math.log(grid.ratio))
        for recipe in declared.norms:
            counted = terms(model, declared, recipe)
            paid = method.bill(declared, counted, j).log_confidence + math.log(delta)
            least = min(least, float(counted.cover(grid.ratio**j).log_size) + paid)
    return least


def margin(T: int, s: int, last: float, apart: float) -> float:
    """The least |f| over all inputs, a thousandth less for rounding.

    >>> round(margin(T=100, s=3, last=400.0, apart=5.0), 3)
    0.64
    """
    z = np.arange(1, s + 1)
    off = (z * apart * last - last) / (last + z * apart * last + T - z)
    return 0.999 * min(last / (last + T), float(off.min()))


def head(
    T: int, s: int, scores: tuple[float, float], values: tuple[float, float, float]
) -> Hypothesis:
    """A head that looks at the first s places; scores of their zeros and of [CLS], 0 elsewhere.

    ``values`` of their ones, of their zeros, of [CLS].
    """
    encoding = {"name": "bits", "T": T}
    v, u = np.zeros((2 * T + 1, 1)), np.zeros((2 * T + 1, 1))
    v[:s], v[2 * T] = scores
    u[T : T + s], u[:s], u[2 * T] = values
    return Hypothesis(tables(encoding), encoding, {"0.v": v, "0.W_v": u})
