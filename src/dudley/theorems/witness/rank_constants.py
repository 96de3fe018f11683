"""Which C_1 can serve Assumption 5.7 of li2026: those that grow with the width, and only those.

The assumption says log N(ε) ≤ C_1·r·log(rB_x²B_W²/ε²) for the maps x ↦ Wx with rank W ≤ r and
‖W‖₂ ≤ B_W, on inputs of norm ≤ B_x. Write e = ε/(B_xB_W), W ∈ R^{d×k}.

**C_1 = 3(d + k) serves** every r ≥ 2 and e < 1, and r = 1 for e ≤ ½. Two factors cover W:
log N ≤ rd·log(1 + 2(d + k)/(de)) + rk·log(1 + 2(d + k)/(ke)) (``classes/covers/rank``), which is at
most r(d + k)·log(1 + 4/e), as t ↦ t·log(1 + a/t) is concave. For e < 1, 1 + 4/e ≤ 5/e ≤ (2/e²)³,
since 5e⁵ ≤ 8; so log N ≤ 3(d + k)·r·log(2/e²), and 2 ≤ r. For r = 1 and e ≤ ½,
1 + 4/e ≤ 4.5/e ≤ (1/e²)³. In width d = k = 2 with r = 2, C_1 = 6 is enough: all four entries give
log N ≤ 4·log(1 + 2/e), and 1 + 2/e ≤ 3/e ≤ (2/e²)³.

For r = 1 and e → 1 no C_1 serves: two centres are needed as long as e < 1, while the right-hand
side tends to 0. For e ≥ 1 the centre 0 is enough, log N = 0; the right-hand side is positive up to
e = √r, and beyond it is read as 0.

**No C_1 below k·log 2/(r·log 4r) serves** (:func:`least`): rows of R^{1×k} have rank 1, and at the
input x = 1 the outputs are the rows themselves, a ball of R^k. Balls of half its radius that cover
it have at least its volume together: log N(B_xB_W/2) ≥ k·log 2. The same class, padded with zeros,
lies in every d×k. So C_1 cannot be free of the dimensions, and d + k is their right order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from dudley.theorems.witness.base import log_volume_ratio
from dudley.theorems.witness.premises import Premise

RANKS = ("r_QK", "r_v", "r_c")


def serving(d: int, k: int) -> float:
    """A C_1 with which Assumption 5.7 holds in R^{d×k}, for r ≥ 2 or e ≤ ½.

    >>> serving(2, 2)
    12.0
    """
    return 3.0 * (d + k)


def least(k: int, r: int = 1) -> float:
    """No smaller C_1 serves in width k: k·log 2 ≤ C_1·r·log(4r), at ε = B_xB_W/2.

    >>> least(64), round(least(64, 2), 2)
    (32.0, 10.67)
    """
    return log_volume_ratio(k, 2.0) / (r * math.log(4 * r))


def serves(d: int, k: int, r: int, C_1: float) -> bool:
    """Does C_1 satisfy Assumption 5.7 on a grid of e < 1, by the covers above?

    >>> serves(2, 2, 2, 6.0), serves(2, 2, 1, 1e3)
    (True, False)
    """
    e = np.concatenate([np.logspace(-12, -0.01, 400), 1 - np.logspace(-2, -12, 60)])
    log_N = np.minimum(r * (d + k) * np.log1p(4 / e), d * k * np.log1p(2 / e))
    return bool((log_N <= C_1 * r * (math.log(r) - 2 * np.log(e))).all())


def rank_covering(inputs: Mapping[str, float]) -> Premise:
    """Assumption 5.7 for d×d matrices of the least rank bound, and for w ∈ R^d with the same."""
    d, C_1, r = int(inputs["d"]), inputs["c"], int(min(inputs[name] for name in RANKS))
    return Premise(
        f"log N(ε) ≤ C_1·r·log(rB_x²B_W²/ε²) with r = {r} and C_1 = {C_1:g}, for all ε < B_xB_W "
        "(5.7; on a grid of ε, the proof is in rank_constants.py)",
        lambda: serves(d, d, r, C_1) and serves(d, 1, r, C_1),
    )
