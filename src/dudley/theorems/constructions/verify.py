"""Run a construction on its inputs: all 2^T of them up to T = 20, a sample beyond.

Beyond, N inputs are drawn uniformly from {0,1}^T and k of them found wrong. The Clopper–Pearson
bound then says that with the stated confidence 1 − α over the draw the wrong fraction is at most
the p with P(Bin(N, p) ≤ k) = α; for k = 0 that is 1 − α^{1/N}.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dudley.core.errors import InputError
from dudley.theorems.constructions.assemble import Construction
from dudley.theorems.constructions.targets import all_bits

EXHAUSTIVE_T = 20
TOLERANCE = 1e-9  # of an output, relative to max(1, max|f|): float64 rounding, nothing else
CONFIDENCE = 0.999
_CHUNK = 2_000_000  # floats of one batch of tokens or hidden units
_SAMPLE = 400_000_000  # floats of all batches of a sample


@dataclass(frozen=True)
class ConstructionCheck:
    """How a construction did."""

    inputs: int
    exhaustive: bool
    head_error: float  # largest sup-norm distance of the heads' output from the goal
    stated_error: float
    output_error: float  # largest distance of the network's output from the target
    wrong: int
    example: str | None  # the first wrong input, as bits
    confidence: float
    wrong_fraction: float  # at most this, with that confidence

    @property
    def right(self) -> bool:
        return self.wrong == 0

    @property
    def head_holds(self) -> bool:
        return self.head_error <= self.stated_error * (1 + TOLERANCE)


def verify(built: Construction, samples: int | None = None, seed: int = 0) -> ConstructionCheck:
    """Every input, or a sample of them.

    >>> from dudley.theorems.constructions.assemble import build
    >>> from dudley.theorems.constructions.targets import target
    >>> verify(build(target("majority", 3), T=8, coherence=0.05)).right
    True
    >>> verify(build(target("majority", 3), T=8, coherence=0.05, form="printed")).right
    False
    """
    T, d = built.selector.mapping.shape
    exhaustive = T <= EXHAUSTIVE_T and samples is None
    if samples is not None and samples < 1:
        raise InputError("samples", "an integer ≥ 1", samples)
    per_input = (T + 1) * d
    total = 2**T if exhaustive else samples or max(100, min(20_000, _SAMPLE // per_input))
    widest = max(per_input, built.mlp[0]["W_1"].shape[1])
    step = max(1, min(total, _CHUNK // widest))
    rng = np.random.default_rng(seed)
    tolerance = TOLERANCE * max(1.0, built.target.largest)
    head_error = output_error = 0.0
    wrong, example = 0, None
    for start in range(0, total, step):
        stop = min(total, start + step)
        if exhaustive:
            bits = all_bits(T, start, stop)
        else:
            bits = rng.integers(0, 2, size=(stop - start, T))
        features, outputs = built.run(bits)
        head_error = max(head_error, float(np.abs(features - built.goal(bits)).max()))
        errors = np.abs(outputs - built.wanted(bits))
        output_error = max(output_error, float(errors.max()))
        bad = np.flatnonzero(~(errors <= tolerance))  # a NaN is wrong
        wrong += len(bad)
        if example is None and len(bad):
            example = "".join(map(str, bits[bad[0]]))
    fraction = wrong / total if exhaustive else clopper_pearson(wrong, total, 1 - CONFIDENCE)
    return ConstructionCheck(
        inputs=total,
        exhaustive=exhaustive,
        head_error=head_error,
        stated_error=built.selector.stated_error,
        output_error=output_error,
        wrong=wrong,
        example=example,
        confidence=1.0 if exhaustive else CONFIDENCE,
        wrong_fraction=fraction,
    )


def clopper_pearson(wrong: int, total: int, α: float) -> float:
    """The upper end of the one-sided Clopper–Pearson interval at level 1 − α.

    >>> round(clopper_pearson(0, 1000, 0.05), 6), round(clopper_pearson(1, 10, 0.05), 4)
    (0.002991, 0.3942)
    """
    if wrong >= total:
        return 1.0
    if wrong == 0:
        return -math.expm1(math.log(α) / total)
    from scipy.special import betaincinv

    return float(betaincinv(wrong + 1, total - wrong, 1 - α))
