"""Clipping: what the radius costs at which an encoding scales rows or pixels back.

clip_R is part of the model that is certified, so R must be known before the data or come from a
list: a maximum over the training data is no bound for new inputs, and a model that was clipped
there has seen every example. R is declared; or a power of two, which pays for its place in the grid
2^j; or the full scale of stored pictures.

>>> from dudley.certificates.encodings import Rows
>>> clipping_prices(Rows(T=1, d=2, R=4.0), None)[0].note
'R = 4'
>>> clipping_prices(Rows(T=1, d=2, R=3.9), None)
Traceback (most recent call last):
dudley.core.errors.InputError: where rows or pixels are clipped: expected a power of two, or ...
"""

from __future__ import annotations

import math

from dudley.calculus.union import Grid
from dudley.certificates.encodings import Blocks, Encoding
from dudley.certificates.price import Price
from dudley.core.errors import InputError
from dudley.core.rounding import up

WHITES = (1.0, 255.0, 65535.0)  # full scale of stored pictures: known without looking at any


def clipping_prices(encoding: Encoding, declared: float | None) -> tuple[Price, ...]:
    """The price of the encoding's radius, given the one that was declared, if any."""
    # A picture's pixels are clipped where they are white.
    R = encoding.white if isinstance(encoding, Blocks) else getattr(encoding, "R", None)
    if declared not in (None, R):
        known = "none: the encoding clips nothing" if R is None else f"that of the encoding, {R}"
        raise InputError("declared radius", known, declared)
    if R in (None, declared) or (isinstance(encoding, Blocks) and R in WHITES):
        return ()
    mantissa, exponent = math.frexp(R)
    if mantissa != 0.5:
        raise InputError(
            "where rows or pixels are clipped",
            "a power of two, or radius = R declared before the data",
            R,
            f"clip at {2.0**exponent:g}; a maximum over the data is no bound for new inputs",
        )
    return (Price("radius", float(up(Grid(2.0).nats(exponent - 1))), f"R = {R:g}"),)
