"""The mean of the conditional error exceeds the level: fixed bets from the first outcome on.

**Formula.** Σ_j w_j Π_{t≤m} f_j(X_t) ≥ 1/δ, with the bets θ_j and the weights w_j of
`prequential.grid`.

**Proof.** The product of the quotients (1 − θ(1 − X_t))/(1 − θ(1 − R_t)) is a martingale M that
begins at 1, whatever R_t. ln(1 − θ(1 − r)) is concave in r, so by Jensen's inequality
Π_{t≤m} (1 − θ(1 − R_t)) ≤ (1 − θ(1 − R̄))^m with R̄ the mean. Where R̄ ≤ a this is at most
(1 − θ(1 − a))^m, and so Π f_θ(X_t) ≤ M: wherever the claim R̄ > a is false, the mixture is at most
Σ w_j M_j, which ever reaches 1/δ with probability at most δ. ∎

This is the form ``mixture`` of a pass, for 1 − X in place of X, at one p.
"""

from __future__ import annotations

import numpy as np

from dudley.certificates.methods.prequential.grid import BETS, WEIGHTS
from dudley.certificates.stream.alarm import ALARMS, OFF, StreamAlarm


@ALARMS.register("mean")
class MeanAlarm(StreamAlarm):
    """Final: ``worth`` has the logarithm of each bet's stake, from below."""

    name = "mean"
    says = "the mean of the conditional error over the first {at} outcomes is above {level}"

    def __init__(self, level: float, threshold: float) -> None:
        super().__init__(level, threshold)
        self.worth = np.zeros(len(BETS))

    def block(self, factors: np.ndarray) -> np.ndarray:
        products = np.cumprod(factors, axis=1)
        with np.errstate(over="ignore"):
            total = (WEIGHTS * np.exp(self.worth)) @ products * OFF
        self.worth = np.nextafter(self.worth + np.log(products[:, -1] * OFF), -np.inf)
        return total
