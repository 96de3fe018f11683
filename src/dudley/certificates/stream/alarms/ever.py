"""Some conditional error exceeds the level: bets that begin anew at every outcome.

**Formula.** With shares v_s = 1/(s(s + 1)) of the stake for bets that begin at outcome s,

    Σ_{s≤m} v_s Σ_j w_j Π_{s≤t≤m} f_j(X_t)  +  1/(m + 1)  ≥ 1/δ.

The last term is what is still set aside for later beginnings.

**Proof.** While all R_t ≤ a, each product is 1 until it begins and a supermartingale from then on;
Σ v_s = 1 and Σ w_j ≤ 1. So the sum is at most a non-negative supermartingale that begins at 1; it
is stopped at the first t with R_t > a, which is known before X_t. It reaches 1/δ before that with
probability at most δ. ∎

A change after s outcomes is seen almost as fast as if its time were known: the price is about
2 ln s nats. All bets together are those of a bettor who learns from the past. Read as a statement
on the *mean* this would be wrong: after a quiet year one bad week gives the alarm, and the mean of
the year is low.

What is kept is S_j = Σ_{s≤m} v_s Π f_j; after a block with products P_i it has become
P_i(S_j + Σ_{s≤i} v_s/P_{s−1}).
"""

from __future__ import annotations

import numpy as np

from dudley.certificates.methods.prequential.grid import BETS, WEIGHTS
from dudley.certificates.stream.alarm import ALARMS, OFF, StreamAlarm


@ALARMS.register("ever")
class EverAlarm(StreamAlarm):
    """Final: ``worth`` has S_j, from below."""

    name = "ever"
    says = "at some time within the first {at} outcomes the conditional error was above {level}"

    def __init__(self, level: float, threshold: float) -> None:
        super().__init__(level, threshold)
        self.worth = np.zeros(len(BETS))

    def block(self, factors: np.ndarray) -> np.ndarray:
        products = np.cumprod(factors, axis=1)
        before = np.concatenate([np.ones((len(BETS), 1)), products[:, :-1]], axis=1)
        s = self.n + np.arange(1.0, factors.shape[1] + 1)
        begun = np.cumsum(1 / (s * (s + 1)) / before, axis=1)
        after = products * (self.worth[:, None] + begun)
        self.worth = after[:, -1] * OFF
        return (WEIGHTS @ after + 1 / (s + 1)) * OFF
