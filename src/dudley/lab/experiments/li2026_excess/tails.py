"""How fast the inputs of the experiment thin out, and where they are truncated.

Entries are independent, ``scale`` times a law of `train.tasks.entries`, or ±scale (``sign``):

| law | known of ‖X‖_F |
|---|---|
| sign | √(Td)·scale, surely |
| gaussian | P(‖X‖_F ≥ t) ≤ (T + d)e^{−t²/2ν²}, the least such ν: li2026, (9) |
| student, pareto | P(‖X‖_F > t) ≤ Ct^{−β}, C = (Td)^{1+β/2}·sup_x x^β P(|x_ij| > x): (12), C.2 |

The level M ``"tail"`` is where that bound is 1/n: ν√(2 log(n(T + d))) as in Remark 6.7, (Cn)^{1/β}.

>>> light = EntryLaw("gaussian", 4, 6, 0.5)
>>> round(light.ν, 3), round(light.level(1000), 2)
(0.988, 4.24)
>>> heavy = EntryLaw("pareto", 4, 6, 0.5, 3.0)
>>> heavy.C == 24**2.5 * 0.125, round(heavy.level(1000), 1)
(True, 70.7)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from dudley.core.errors import InputError

SIGN, HEAVY = "sign", ("student", "pareto")


@dataclass(frozen=True)
class EntryLaw:
    """A law of entries in T×d matrices."""

    law: str
    T: int
    d: int
    scale: float
    tail: float | None = None

    @property
    def heavy(self) -> bool:
        return self.law in HEAVY

    @property
    def ν(self) -> float:
        """The least scale with P(‖X‖_F ≥ t) ≤ (T + d)e^{−t²/2ν²} on a fine grid of t."""
        if self.law != "gaussian":
            raise InputError("law with a sub-Gaussian tail", "gaussian", self.law)
        N = self.T * self.d
        t = np.linspace(0.5 * math.sqrt(N), math.sqrt(N) + 30, 20_000)
        room = math.log(self.T + self.d) - stats.chi.logsf(t, N)
        return self.scale * float(np.sqrt((t * t / (2 * room)).max())) * (1 + 1e-6)

    @property
    def C(self) -> float:
        """C with P(‖X‖_F > t) ≤ Ct^{−β}: a union over the entries."""
        β, N = self.β, self.T * self.d
        return N ** (1 + β / 2) * self.scale**β * self._entry(β)

    @property
    def β(self) -> float:
        if not self.heavy or self.tail is None:
            raise InputError("law with a polynomial tail", " or ".join(HEAVY), self.law)
        return self.tail

    def _entry(self, β: float) -> float:
        """sup_x x^β P(|x_ij| > x) at scale 1."""
        if self.law == "pareto":
            return 1.0
        x = np.geomspace(1e-2, 1e6, 20_000)
        return float((2 * x**β * stats.t.sf(x, β)).max()) * (1 + 1e-3)

    def level(self, n: int, rule: str | float | None = "tail") -> float:
        """Where inputs are truncated, for n examples: ∞ (None), a number, or by the tail."""
        if rule is None:
            return math.inf
        if not isinstance(rule, str):
            return float(rule)
        if rule != "tail" or self.law == SIGN:
            raise InputError("truncation", "none, a level, or tail for unbounded inputs", rule)
        if self.heavy:
            return (self.C * n) ** (1 / self.β)
        return self.ν * math.sqrt(2 * math.log(n * (self.T + self.d)))
