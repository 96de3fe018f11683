"""Bits that have a limit: a unit's probability is mixed with a uniform one, linearly.

**Formula.** A unit of size l over V symbols has probability p under the model. For 0 < α < 1,

    bits = −log₂((1−α) p + α V^{−l}) ≤ l log₂ V + log₂(1/α).

So the bits over the size are at most B = log₂ V + log₂(1/α)/S for sizes of at least S. α, V and S
are declared. Since (1−α)p + αu is linear in p, the smoothed mixture of models is the mixture of
smoothed models, and −log₂ is convex: the bits of the mixture are at most the mean of the bits. A
loss that is clipped at B has no such property, and is refused here.

>>> smooth = UnitSmoothing(symbols=256, α=0.5, shortest=10)
>>> round(smooth.limit, 3), smooth.bits(np.array([14.0, 1e6]), np.array([10, 10])).round(2)
(8.1, array([21.2, 81. ]))
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dudley.core.errors import InputError
from dudley.core.rounding import up


@dataclass(frozen=True)
class UnitSmoothing:
    """α, the number of symbols V, and the shortest size S."""

    symbols: int
    α: float = 0.5
    shortest: int = 1

    def __post_init__(self):
        if self.symbols < 2 or not 0 < self.α < 1 or self.shortest < 1:
            got = f"{self.symbols} symbols, α = {self.α}, shortest {self.shortest}"
            raise InputError("smoothing", "at least 2 symbols, 0 < α < 1, a size ≥ 1", got)

    @property
    def limit(self) -> float:
        """B, from above."""
        return float(up(math.log2(self.symbols) + math.log2(1 / self.α) / self.shortest))

    def bits(self, nats: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """The smoothed bits of units with these −ln p, from above, at most B·size."""
        nats, size = np.asarray(nats, np.float64), np.asarray(sizes)
        if nats.shape != size.shape or not (nats >= 0).all():
            raise InputError("−ln p of units", "a number ≥ 0 for each size", f"shape {nats.shape}")
        if size.size and not size.min() >= self.shortest:  # their bits may be above the limit
            fix = "declare the shortest size that the population has"
            raise InputError("sizes of units", f"at least {self.shortest}", f"{size.min()}", fix)
        model = math.log1p(-self.α) - nats
        uniform = math.log(self.α) - size * math.log(self.symbols)
        bits = np.asarray(up(-np.logaddexp(model, uniform) / math.log(2), 16))
        return np.clip(bits, 0.0, self.limit * size)
