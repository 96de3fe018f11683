"""Numbers in a few signs, the same on every page and on the terminal."""

from __future__ import annotations

import re
from fractions import Fraction


def short(x: float) -> str:
    """Three digits; below a million all those before the point, beyond it an exponent.

    >>> short(4096.0), short(1234567.0), short(4.08e-7), short(0.25)
    ('4096', '1.23e6', '4.08e-7', '0.25')
    """
    if 1000 <= abs(x) < 1e6:
        return f"{x:.0f}"
    return bare(f"{x:.3g}")


def plain(x: float) -> str:
    """A number that somebody gave: short if that is all of it, else with all its digits.

    >>> plain(4096.0), plain(0.05), plain(1e9), plain(123456789.0), plain(0.12345)
    ('4096', '0.05', '1e9', '123456789', '0.12345')
    """
    text = short(x)
    return text if float(text) == x else bare(f"{x:.12g}")


def bare(text: str) -> str:
    """An exponent without plus and zeros."""
    return re.sub(r"e([+-])0*", lambda sign: "e" + sign[1].replace("+", ""), text)


def power(exponent: float) -> str:
    """An exponent as a fraction.

    >>> power(-1 / 3), power(-1.0)
    ('-1/3', '-1')
    """
    return str(Fraction(exponent).limit_denominator(100))
