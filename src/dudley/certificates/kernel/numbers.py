"""Exact numbers from a certificate's decimals, each rounded to the side that claims less.

A certificate has its bound and its prices as decimals, the prices as nats ln(1/w) rounded up. The
kernel knows fractions only:

    bound       the value, up at the sixth digit (and by 10^-8 of itself before, since prices come
                with ten digits)
    one of M    M = ⌊e^nats⌋: where 1/w is known to be a whole number, it is at most e^nats, hence
                at most M. It is whole for one of m; for a grid, 1/w = 3(|j|+1)(|j|+2)/2; and for a
                number s of nonzeros, 1/w = s(s+1)
    weight      a fraction at or below e^-nats
    size        a whole number at or above e^nats

>>> print(bound_above(0.01319356001) * 10**7, decimal(0.05))
131936 1/20
>>> one_of(5.010635295), size_above(2.08), weight_below(0.7) < Fraction(1, 2)
(150, 9, True)
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

from dudley.core.errors import InputError
from dudley.core.rounding import ceiling

DIGITS = 6
FARTHEST = 9_000.0  # nats: numbers of 13,000 bits, of which Python writes all digits
BITS = 64  # of a weight


def decimal(x: float) -> Fraction:
    """The number that a file shows: 0.05 is 1/20."""
    return Fraction(Decimal(repr(float(x))))


def bound_above(value: float) -> Fraction:
    """The bound that the kernel proves: six digits, not below the value."""
    above = decimal(value) * (1 + Fraction(1, 10**8))
    exact = Decimal(above.numerator) / Decimal(above.denominator)
    return Fraction(Decimal(ceiling(exact, DIGITS)))


def one_of(nats: float) -> int:
    """The largest whole number up to e^nats."""
    return math.floor(_power(nats, "upper"))


def weight_below(nats: float) -> Fraction:
    """A fraction of few bits at or below e^-nats."""
    exact = _power(-nats, "lower")
    scale = max(0, exact.denominator.bit_length() - exact.numerator.bit_length()) + BITS
    return Fraction(math.floor(exact * (1 << scale)), 1 << scale)


def size_above(nats: float) -> int:
    """A whole number at or above e^nats."""
    return math.ceil(_power(nats, "upper"))


def _power(nats: float, side: str) -> Fraction:
    """A fraction at or beyond e^nats."""
    from flint import arb, ctx

    if not abs(nats) <= FARTHEST:
        raise InputError("nats for the kernel", f"a number up to {FARTHEST:g}", nats)
    with ctx.workprec(256 + 2 * math.ceil(abs(nats))):
        power: Any = arb(nats).exp()
        mantissa, exponent = getattr(power, side)().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
