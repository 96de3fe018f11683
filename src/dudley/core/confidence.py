"""A confidence 1 − δ as a number that people read."""

from __future__ import annotations

from decimal import Context, Decimal

SMALLEST = 1e-9  # below it nobody counts the nines


def confidence(delta: float) -> str:
    """1 − δ with all of its digits; the difference itself where δ is tiny.

    >>> confidence(0.05), confidence(1e-7), confidence(1e-12)
    ('0.95', '0.9999999', '1 − 1e-12')
    """
    digits = repr(float(delta))
    if delta < SMALLEST:
        return f"1 − {digits}"
    return str(Context(prec=60).subtract(Decimal(1), Decimal(digits)).normalize())
