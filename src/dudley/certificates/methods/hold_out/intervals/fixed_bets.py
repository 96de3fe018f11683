"""Fixed bets: a bound for losses of any kind in [0, 1] that needs no order of the examples.

Claim. For n independent losses in [0, 1] with mean μ, the least p at or above which

    Σ_j w_j Π_i (1 − θ_j z_i)/(1 − θ_j p) ≥ 1/δ

is below μ with probability at most δ. The bets θ_j ∈ (0, 1) and their weights w_j, Σ w_j ≤ 1, are a
function of n and c = ln(1/δ) alone.

Proof. The n factors of a product are independent and have mean 1 at p = μ. So the sum has mean at
most 1, and by Markov's inequality it reaches 1/δ with probability at most δ. It grows with p: where
p is refuted, every larger mean is, and a bound below μ would mean that μ itself is refuted. ∎

**No order.** A product does not depend on the order of its factors. Bets that learn from the losses
before (`betting`) need an order that is independent of the losses, and a table has none: sorted
losses in the order of one fixed seed are no independent draws. Of 200 losses 0 and 1 with mean
0.378, for one such order, a bound at δ = 0.05 by bets that learn lies below the mean with
probability 0.226.

**Which bets.** The best one is near √(2c/(n·variance)), and no loss in [0, 1] has a variance above
1/4. So bets below √(8c/n) are left out, or below 1/2 for few losses.

The program is that of `dudley.certificates.methods.prequential.forms.mixture`, rounding included.

>>> round(fixed_bets(np.array([0.0, 0.25, 0.5, 0.25] * 25), 3.0), 4)
0.2944
"""

from __future__ import annotations

import math

import numpy as np

from dudley.certificates.methods.hold_out.interval import INTERVALS, mean_up
from dudley.certificates.methods.prequential.forms.mixture import MixtureTally


@INTERVALS.register("fixed-bets")
def fixed_bets(losses: np.ndarray, c: float) -> float:
    """The bound; never below the average."""
    tally = bets_for(len(losses), c)
    tally.add(np.sort(losses))  # sums are rounded, so that they have an order after all
    return max(tally.upper(c), mean_up(losses))


def bets_for(n: int, c: float) -> MixtureTally:
    """The bets for n losses, before the first one."""
    return MixtureTally(min(0.5, math.sqrt(8 * c / n)))
