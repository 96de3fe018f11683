"""The grid of bets θ_j ∈ (0, 1) with weights w_j, the same for every stretch.

The best bet for losses of mean q and variance v over m units at ln(1/δ) = c is near
d/(v + d(1−q)), d = √(2cv/m) + c/m: 1 without any loss, and about √(2c/(mv)) for long stretches. So
the grid is geometric below 1/2, by √2 down to 2^{−13}, and has 3/4, 7/8, 15/16, … above. An eighth
of the weight lies on the largest, which is the best without any loss, and the rest is spread evenly
over the other thirty. All weights are multiples of 2^{−53}, rounded down: their sum is at most 1.

A bet between two of the grid costs at most as much as the nearer one, and lines near the best add
up: together the price is about ln 30 less ln 3.

>>> len(BETS), round(float(BETS.min() * 2**13), 3), float(BETS.max())
(31, 1.0, 0.9990234375)
>>> from fractions import Fraction
>>> sum(map(Fraction, WEIGHTS.tolist())) <= 1
True
"""

from __future__ import annotations

import numpy as np

NEAR_ONE = 10  # the largest bet is 1 − 2^{−10}
BETS = np.array(
    [
        1 - 2.0**-NEAR_ONE,
        *(1 - 2.0**-k for k in (5, 4, 3, 2, 1.5)),
        *(2.0 ** (-j / 2) for j in range(2, 27)),
    ]
)
WEIGHTS = np.array([1 / 8, *[np.floor(7 / 8 / (len(BETS) - 1) * 2**53) / 2**53] * (len(BETS) - 1)])
BETS.flags.writeable = WEIGHTS.flags.writeable = False
