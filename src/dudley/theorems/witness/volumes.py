"""Volumes of norm balls, and what a comparison of volumes says about every cover.

Balls of radius ε must fill the class. Let A be the members within ε of one centre, which may be
any function: any two of them are at most 2ε apart, so A − A lies in 2ε times the unit ball D of the
metric, and by Brunn and Minkowski vol(A) ≤ vol(A − A)/2^p ≤ vol(εD) in p dimensions. Hence
N(ε) ≥ vol(K)/vol(εD), also for centres outside of the class.
"""

from __future__ import annotations

import math

from dudley.core.norms import NORMS, implied, norm_named
from dudley.core.rounding import down

_SLACK = 1e-13  # of the size of all terms: log and lgamma are good to a few units in 1e16


def log_volume(norm: str, shape: tuple[int, int]) -> float:
    """log of the volume of the unit ball of a norm on R^{a×b} (none is known here for nuclear).

    >>> round(math.exp(log_volume("fro", (2, 1))), 6), round(math.exp(log_volume("l11", (2, 1))), 6)
    (3.141593, 2.0)
    >>> round(math.exp(log_volume("op", (2, 2))), 6)              # 2π²/3
    6.579736
    """
    return norm_named(norm).log_volume(*shape)


def inscribed(radii: dict[str, float], shape: tuple[int, int]) -> dict[str, float]:
    """For every norm of known volume, the radius of a ball of it that lies in all given balls.

    >>> inscribed({"fro": 2.0}, (4, 1))["linf"]
    0.99...
    """
    inner = {}
    for norm in _with_volume():
        sizes = implied(((norm, 1.0),), shape, None)  # of the members of its unit ball
        inner[norm] = float(down(min(r / sizes[name] for name, r in radii.items())))
    return inner


def _with_volume() -> list[str]:
    """The norms of known volume, rows before columns: of equal volumes the first is named."""
    known = [norm for _, norm in NORMS.items() if norm.supplies("log_volume")]
    return list(dict.fromkeys(name for norm in known for name in (norm.transposed, norm.name)))


def volume_ratio(
    radii: dict[str, float], shape: tuple[int, int], metric: str, ε: float
) -> tuple[float, str]:
    """log N(ε) of the intersection of balls, at least; and the norm of the ball that was compared.

    ``metric`` names the norm in which ε is measured.

    >>> volume_ratio({"op": 1.0}, (3, 2), "op", 0.5)               # 6·log 2
    (4.1588..., 'op')
    """
    p = shape[0] * shape[1]
    best, name = 0.0, metric
    radii_inside = inscribed(radii, shape)
    for norm, r in {metric: radii_inside[metric], **radii_inside}.items():
        if r <= 0:
            continue
        volume, metric_volume = log_volume(norm, shape), log_volume(metric, shape)
        terms = (volume, p * math.log(r), -p * math.log(ε), -metric_volume)
        slack = _SLACK * (math.fsum(map(abs, terms)) + 4 * p + 4 * math.lgamma(p + 2))
        value = math.fsum(terms[1:3] if norm == metric else terms) - slack
        if value > best * (1 + 1e-9):
            best, name = value, norm
    return whole(best), name


def whole(log_N: float) -> float:
    """The log of the next integer, where that can be told: a covering number is one.

    >>> round(math.exp(whole(math.log(2.5)))), whole(-3.0), whole(math.log(2))
    (3, 0.0, 0.693...)
    """
    if log_N <= 0:
        return 0.0
    if log_N > 25:
        return log_N
    return float(down(math.log(math.ceil(math.exp(log_N) * (1 - 1e-9)))))
