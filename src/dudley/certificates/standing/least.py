"""The number of examples that a bound needs."""

from __future__ import annotations

import math
from collections.abc import Callable

MOST = 30.0  # log₁₀ of the number of examples up to which one is looked for
STEP = 3.0  # decades, until the target is passed
NEAR = 0.02  # decades


def least(value: Callable[[int], float], target: float, start: int = 1) -> float | None:
    """The n, to 5 % from above, at which a falling function of n is below a target.

    ``None`` where it is not below it at 10^30; ``start`` is where to begin the search. Between two
    n the next one is where a power of n through both would meet the target, kept off the ends.

    >>> [1000 < least(lambda n: 1 / n, 0.001, start) <= 1050 for start in (1, 10, 10**6)]
    [True, True, True]
    >>> least(lambda n: 1.0, 0.5) is None
    True
    """
    seen: dict[float, float] = {}

    def over(x: float) -> float:
        """log(value/target) at n = 10^x."""
        if x not in seen:
            bound = value(math.ceil(10**x))
            seen[x] = math.log(bound / target) if bound > 0 else -math.inf
        return seen[x]

    low, high = 0.0, max(1.0, math.log10(start))
    while over(high) >= 0:
        if high >= MOST:
            return None
        low, high = high, min(MOST, high + STEP)
    while high - low > NEAR:
        width, ends = high - low, (over(low), over(high))
        met = low + width * ends[0] / (ends[0] - ends[1]) if ends[0] > 0 > ends[1] else low
        middle = min(max(met, low + 0.1 * width), high - 0.1 * width)
        if len(seen) % 3 == 0 or not math.isfinite(middle):
            middle = (low + high) / 2
        low, high = (low, middle) if over(middle) < 0 else (middle, high)
    return float(math.ceil(10**high))
