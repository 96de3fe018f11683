"""Numbers as a certificate file writes them: ten significant digits, rounded in a stated direction.

Another machine sums in another order and gets the last bits of a norm or a margin differently; ten
digits are the same on both, so that a file can be compared digit by digit.

>>> up(0.123456789012345), down(0.123456789012345), near(2 / 3)
(0.1234567891, 0.123456789, 0.6666666667)
>>> plain({"margins": [0.1 + 0.2], "n": 3})
{'margins': [0.3], 'n': 3}
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Any

DIGITS = 10
_UP, _DOWN, _NEAR = (
    Context(prec=DIGITS, rounding=way) for way in (ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN)
)


def up(x: float) -> float:
    """At or above x: the float of a ten-digit number that is, or the next one."""
    rounded = float(_UP.plus(Decimal(x)))
    return rounded if rounded >= x else math.nextafter(rounded, math.inf)


def down(x: float) -> float:
    """At or below x."""
    rounded = float(_DOWN.plus(Decimal(x)))
    return rounded if rounded <= x else math.nextafter(rounded, -math.inf)


def near(x: float) -> float:
    """The nearest."""
    return float(_NEAR.plus(Decimal(x)))


def plain(value: Any) -> Any:
    """JSON with its floats to ten digits; numpy's numbers become Python's."""
    if isinstance(value, dict):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if hasattr(value, "item") and not isinstance(value, str):
        value = value.item()
    return near(value) if isinstance(value, float) and math.isfinite(value) else value
