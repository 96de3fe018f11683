"""Dudley's integral for a class with |f| ≤ A, as both papers use it.

For log N(ε) ≤ C/ε² the integral is explicit, with r = √(C/n). As printed, its infimum over the
cut-off is r(1 + log(A/r)) for r ≤ A, and A beyond. With the constants 4 and 12 and the upper limit
A/2 it is 4a + 12r·log(ρ/a) at a = min{3r, ρ}, where ρ = min{A/2, √(C/log 2)}: past √(C/log 2) a
cover has fewer than two elements, hence one. ``calculus.chain.inverse_square`` has the proof.
"""

from __future__ import annotations

import math

import numpy as np

from dudley.calculus import chain
from dudley.core.entropy import Entropy


def integral_latex(n: str, C: str = "C") -> str:
    """The derived form for log N(ε) ≤ C/ε², whose infimum over the cut-off is attained at a."""
    root = rf"\sqrt{{{C}/{n}}}"
    return (
        rf"\min\bigl(A,4a+12{root}\log\tfrac\rho a\bigr),\quad a=\min(3{root},\rho),\quad"
        rf"\rho=\min\bigl(\tfrac A2,\sqrt{{{C}/\log2}}\bigr)"
    )


def chained(entropy: Entropy, A: float, n: float, rule: str = "dudley") -> float:
    """A bound on the Rademacher complexity of a class with |f| ≤ A: by the 4/12 rule or the best.

    >>> from dudley.core.entropy import PowerLaw
    >>> [round(chained(PowerLaw(1.0, 1.0), 1.0, 1e6, rule), 4) for rule in ("dudley", "best")]
    [0.0734, 0.0254]
    """
    if A == 0:
        return 0.0
    log_n = np.array([math.log(n)])
    form = chain.complexity if rule == "best" else chain.by_integral
    return A * float(form(entropy, math.log(A), log_n)[0])


def printed_integral(n: float, class_C: float, class_radius: float, c: float) -> float:
    """c·inf over δ of δ + √(C/n)·log(A/δ), whose minimiser is √(C/n) or A.

    >>> printed_integral(4, 16.0, 1.0, c=1.0)
    1.0
    """
    root = math.sqrt(class_C / n)
    δ = min(root, class_radius)
    return c * (δ + (root * math.log(class_radius / δ) if δ > 0 else 0.0))
