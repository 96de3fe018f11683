"""Numbers in a few signs, the same on every page and on the terminal."""

from __future__ import annotations

import re
from fractions import Fraction


def short(x: float) -> str:
    """Three digits, and an exponent without ornaments.

    >>> short(1234567.0), short(4.08e-7), short(0.25)
    ('1.23e6', '4.08e-7', '0.25')
    """
    return re.sub(r"e([+-])0*", lambda sign: "e" + sign[1].replace("+", ""), f"{x:.3g}")


def power(exponent: float) -> str:
    """An exponent as a fraction.

    >>> power(-1 / 3), power(-1.0)
    ('-1/3', '-1')
    """
    return str(Fraction(exponent).limit_denominator(100))
