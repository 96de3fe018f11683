"""What several attacks share: the inputs a statement asks for, the mean of a random walk."""

from __future__ import annotations

import math
from collections.abc import Mapping

from dudley.theorems import registry


def only(statement: str, values: Mapping[str, float]) -> dict[str, float]:
    """Those of the values that the statement asks for.

    >>> only("edelman2021/definition-A.1", {"n": 4, "w.l2": 1.0, "X.row2inf": 1.0, "H": 3})
    {'n': 4, 'w.l2': 1.0, 'X.row2inf': 1.0}
    """
    return {i.name: values[i.name] for i in registry.load()[statement].inputs if i.name in values}


def mean_sign(n: int) -> float:
    """E|s_1 + … + s_n|/n for random signs, from below: C(2k, k)/4^k with k = ⌊n/2⌋.

    Exact up to n = 1,000; beyond, 1/√(π(k + ½)) by the inequality of Wallis and Gurland.

    >>> mean_sign(1), mean_sign(2), mean_sign(3)
    (1.0, 0.5, 0.5)
    >>> 0.999 < mean_sign(2001) / math.sqrt(2 / (math.pi * 2001)) < 1
    True
    """
    k = n // 2
    exact = n <= 1000
    value = math.comb(2 * k, k) / 4**k if exact else 1 / math.sqrt(math.pi * (k + 0.5))
    return value if exact else value * (1 - 1e-15)
