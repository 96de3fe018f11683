"""One scale: the gap of a network whose training error is known, by a single cover.

The network is covered for all inputs at once, at half the margin (or at the best resolution of a
fixed list, for losses), and ``calculus.fast_rate`` does the rest. Nothing is chained.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dudley.calculus import fast_rate
from dudley.calculus.allocate import Allocated
from dudley.core.assumption import Assumption, Status
from dudley.core.bound import Term
from dudley.core.rounding import exp_up
from dudley.networks.explain import power
from dudley.networks.losses import CrossEntropy, Loss, Margin
from dudley.networks.robust import Robust


@dataclass(frozen=True, eq=False)
class OneScale:
    """A network's entropy and loss, its training error q, and ln(1/δ) with what was paid for."""

    entropy: Allocated
    loss: Loss | Margin | CrossEntropy | Robust
    q: float
    nats: float

    @property
    def trivial(self) -> float:
        """What risk − q is at most."""
        return self.loss.range - self.q

    @property
    def quantity(self) -> str:
        """The classification error less a share of margins, or a difference of losses."""
        if isinstance(self.loss, Margin):
            return f"risk − share of training margins below {float(self.loss.margin):g}"
        return "risk − training loss"

    @property
    def resolutions(self) -> np.ndarray:
        """The ε that are tried: half a margin's, or the list for losses."""
        if isinstance(self.loss, Margin):
            return np.array([fast_rate.STEP / 2 / self.loss.lipschitz])
        return self.loss.range * fast_rate.SCALES / self.loss.lipschitz

    @cached_property
    def log_costs(self) -> np.ndarray:
        """log of log N(ε) + ln(1/δ) + paid, at each resolution: covers on points are left out."""
        listed = 0.0 if isinstance(self.loss, Margin) else fast_rate.LISTED
        log_H = self.entropy.log_log(np.log(self.resolutions), None)
        return np.logaddexp(log_H, math.log(self.nats + listed))

    def risk(self, log_n: float) -> tuple[float, int]:
        """The bound on the risk, and at which resolution."""
        rounded = (np.abs(self.log_costs) + abs(log_n)) * 2.0**-50
        shares = exp_up(self.log_costs - log_n + rounded)
        if not isinstance(self.loss, Margin):
            return fast_rate.losses(self.q, shares, self.loss.range)
        n = math.exp(log_n) if log_n < 700 else math.inf
        return fast_rate.margins(self.q, float(shares[0]), n), 0

    def gap(self, log_n: float) -> float:
        """risk − q, at most the trivial bound."""
        return min(self.risk(log_n)[0] - self.q, self.trivial)

    def terms(self, log_n: float) -> tuple[Term, ...]:
        """The parts of :meth:`gap`."""
        gap, place = self.gap(log_n), self.risk(log_n)[1]
        ε = float(self.resolutions[place])
        moved = 0.0 if isinstance(self.loss, Margin) else 2 * self.loss.lipschitz * ε
        nats = power(self.log_costs[place])
        note = f"{nats} nats at ε = {ε:.3g}; the risk is at most {self.q + gap:.6g}"
        deviation = Term("deviation", gap - moved, note)
        resolution = Term("resolution", moved, "2Lε: the loss of a centre is another one")
        return (deviation, resolution) if moved else (deviation,)

    def assumption(self) -> Assumption:
        """What q must be."""
        what = f"the mean training loss is {self.q:g}"
        if isinstance(self.loss, Margin):
            γ = float(self.loss.margin)
            what = (
                f"the trained network's margin is below {γ:g} on a share {self.q:g} of the sample"
            )
        return Assumption("training error", what, Status.DECLARED)
