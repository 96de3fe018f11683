"""Volumes of norm balls, and what a comparison of volumes says about every cover.

Balls of radius ε must fill the class. Let A be the members within ε of one centre, which may be
any function: any two of them are at most 2ε apart, so A − A lies in 2ε times the unit ball D of the
metric, and by Brunn and Minkowski vol(A) ≤ vol(A − A)/2^p ≤ vol(εD) in p dimensions. Hence
N(ε) ≥ vol(K)/vol(εD), also for centres outside of the class.
"""

from __future__ import annotations

import math

from dudley.core.errors import InputError
from dudley.core.norms import implied
from dudley.core.rounding import down

_SLACK = 1e-13  # of the size of all terms: log and lgamma are good to a few units in 1e16


def _euclid(p: int) -> float:
    return p / 2 * math.log(math.pi) - math.lgamma(p / 2 + 1)


def _cross(p: int) -> float:
    return p * math.log(2) - math.lgamma(p + 1)


def _spectral(a: int, b: int) -> float:
    """π^{ab/2} ∏_{j<m} Γ(1 + j/2)/Γ(1 + (M + j)/2), m = min(a, b), M = max(a, b).

    In singular values s, t = s², the volume element is a constant times
    ∏|t_i − t_j| ∏ t^{(M−m−1)/2} dt; over [0, 1]^m and against e^{−t} that is Selberg's integral
    and Laguerre's, and the latter belongs to the Gaussian measure, whose mass is known.
    """
    m, M = min(a, b), max(a, b)
    ratio = (math.lgamma(1 + j / 2) - math.lgamma(1 + (M + j) / 2) for j in range(m))
    return a * b / 2 * math.log(math.pi) + math.fsum(ratio)


def _sum_of(one: float, width: int, count: int) -> float:
    """{(x_1, …, x_count) : Σ‖x_i‖ ≤ 1} for a norm on R^width whose unit ball has log volume one."""
    return count * (one + math.lgamma(width + 1)) - math.lgamma(width * count + 1)


_VOLUMES = {
    "op": _spectral,
    "fro": lambda a, b: _euclid(a * b),
    "l11": lambda a, b: _cross(a * b),
    "linf": lambda a, b: a * b * math.log(2),
    "row2inf": lambda a, b: a * _euclid(b),
    "col2inf": lambda a, b: b * _euclid(a),
    "row1inf": lambda a, b: a * _cross(b),
    "col1inf": lambda a, b: b * _cross(a),
    "row21": lambda a, b: _sum_of(_euclid(b), b, a),
    "col21": lambda a, b: _sum_of(_euclid(a), a, b),
}


def log_volume(norm: str, shape: tuple[int, int]) -> float:
    """log of the volume of the unit ball of a norm on R^{a×b} (none is known here for nuclear).

    >>> round(math.exp(log_volume("fro", (2, 1))), 6), round(math.exp(log_volume("l11", (2, 1))), 6)
    (3.141593, 2.0)
    >>> round(math.exp(log_volume("op", (2, 2))), 6)              # 2π²/3
    6.579736
    """
    if norm not in _VOLUMES:
        raise InputError("norm of a ball whose volume is asked for", ", ".join(_VOLUMES), norm)
    return _VOLUMES[norm](*shape)


def inscribed(radii: dict[str, float], shape: tuple[int, int]) -> dict[str, float]:
    """For every norm of known volume, the radius of a ball of it that lies in all given balls.

    >>> inscribed({"fro": 2.0}, (4, 1))["linf"]
    0.99...
    """
    found = {}
    for norm in _VOLUMES:
        sizes = implied(((norm, 1.0),), shape, None)  # of the members of its unit ball
        found[norm] = float(down(min(r / sizes[given] for given, r in radii.items())))
    return found


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
    found = inscribed(radii, shape)
    for norm, r in {metric: found[metric], **found}.items():
        if r <= 0:
            continue
        own, other = log_volume(norm, shape), log_volume(metric, shape)
        terms = (own, p * math.log(r), -p * math.log(ε), -other)
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
