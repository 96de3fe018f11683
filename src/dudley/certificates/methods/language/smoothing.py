"""Smoothing: what makes the loss of a document bounded.

Let p(x) = ∏ p(x_t | x_<t) be the model's probability of a document of ℓ symbols. Two kinds, each
with a weight α from the list 2⁻¹, …, 2⁻⁸, sixteen entries in all: which one is chosen after the
data, so it is coded (ln 16 nats).

*symbol* (Lotfi et al. 2024): each prediction is mixed with the uniform one, (1−α)p(x_t|·) + α/V.
A symbol costs between −log₂(1 − α + α/V) and log₂(V/α) bits; the difference is Δ = log₂(1 +
(1−α)V/α).

*document*: the whole document is mixed with the uniform one, (1−α)p(x) + α V^{−ℓ}: also a causal
predictor (its next symbol is a mixture with weights that depend on what came before). The loss is
at most log₂ V + log₂(1/α)/ℓ a symbol, next to the least possible, since for any predictor some
document costs log₂ V a symbol; and it costs at most log₂(1/(1−α))/ℓ more than the model alone.

>>> [round(Smoothing(kind, 0.5).limit(32, 16), 3) for kind in KINDS]
[5.063, 6.0]
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dudley.core.errors import InputError

KINDS = ("document", "symbol")
EXPONENTS = range(1, 9)
GRID = 2.0**-16  # losses are rounded up to multiples of this


@dataclass(frozen=True)
class Smoothing:
    """A kind and a weight."""

    kind: str
    α: float

    def __post_init__(self):
        if self.kind not in KINDS or not 0 < self.α < 1:
            raise InputError("smoothing", f"{' or '.join(KINDS)}, 0 < α < 1", (self.kind, self.α))

    def limit(self, V: int, shortest: int) -> float:
        """The largest loss of any document of at least ``shortest`` symbols, on the grid."""
        extra = math.log2(1 / self.α) / (shortest if self.kind == "document" else 1)
        return _up(math.log2(V) + extra)

    def range(self, V: int, shortest: int) -> float:
        """Δ: the largest loss less the smallest, never below it."""
        if self.kind == "symbol":
            return _up(math.log2(1 + (1 - self.α) * V / self.α))
        return self.limit(V, shortest)

    def losses(self, symbols: np.ndarray, lengths: np.ndarray, V: int) -> np.ndarray:
        """Bits per symbol of documents (n,), from −log₂ p of their symbols (T, n).

        Rounded up to multiples of 2⁻¹⁶: two machines whose sums differ in the last digits agree.
        """
        inside = np.arange(len(symbols))[:, None] < lengths
        if self.kind == "symbol":
            mixed = -np.log2((1 - self.α) * np.exp2(-symbols) + self.α / V)
            bits = (mixed * inside).sum(0)
        else:
            bits = -np.logaddexp2(
                math.log2(1 - self.α) - (symbols * inside).sum(0),
                math.log2(self.α) - lengths * math.log2(V),
            )
        return np.ceil((bits / lengths + 1e-9) / GRID) * GRID


ENTRIES = tuple(Smoothing(kind, 2.0**-j) for kind in KINDS for j in EXPONENTS)


def _up(x: float) -> float:
    return math.ceil((x + 1e-9) / GRID) * GRID
