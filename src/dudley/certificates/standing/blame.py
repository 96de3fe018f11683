"""Which input of a bound is to blame: the one whose size makes the largest factor.

Near the n at which the bound begins to say something, halving an input x changes the bound by some
power x^e; x^e itself is what the bound would gain if x were 1. The largest of them is named.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dudley.core.errors import DudleyError

if TYPE_CHECKING:
    from dudley.certificates.standing.case import Case

NOT = ("n", "delta", "epsilon", "c", "target.bound", "L", "H", "kappa")
WHOLE = ("d", "k", "T")


def blame(case: Case) -> tuple[str, str]:
    """What is to blame for the derived form: in a few words, and with its numbers."""
    n = case.examples_needed("derived")
    at = case.training.n if n is None else n
    terms = case.terms("derived", at)
    first = max(terms, key=lambda name: terms[name])
    share = f"{first} is {100 * terms[first] / math.fsum(terms.values()):.0f} % of the bound"
    powers = factors(case, at) if first in ("complexity", "excess risk") else {}
    if not powers:
        return first, share
    name, (x, e) = max(powers.items(), key=lambda item: item[1][1] * math.log(item[1][0]))
    size, factor = f"{name} = {x:.3g}", f"a factor {float(f'{x**e:.3g}'):,g}"
    long = f"{share} at n = {at:.2g}, and of that {size} makes {factor} (power {e:.2g})"
    return f"{size}, {factor}", long


def factors(case: Case, n: float) -> dict[str, tuple[float, float]]:
    """By input, its size and the power with which it enters; the margin as 1/γ."""
    values, size = case.values("derived"), case.complexity("derived", n)
    powers = {}
    for name, x in values.items():
        if name in NOT or not 1 < x < math.inf:
            continue
        half = max(1.0, x // 2) if name in WHOLE else x / 2
        try:
            less = case.complexity("derived", n, values | {name: half})
        except DudleyError:
            continue  # no class has such sizes
        if 0 < less < size:
            powers[name] = x, math.log(size / less) / math.log(x / half)
    γ = case.training.separating_margin if case.excess else case.training.γ[0]
    if γ is not None and γ < 1:
        powers["1/margin"] = 1 / γ, 1.0
    return powers
