"""Lemma A.2 and Corollary A.3: from covering numbers C/ε² to Rademacher complexity.

>>> from dudley.theorems.registry import evaluate
>>> values = {"n": 4, "class.C": 400.0, "class.radius": 1.0}
>>> print(evaluate("edelman2021/corollary-A.3", values, "printed"))
empirical Rademacher complexity ≤ -13.0259 (up to an unnamed constant;
the formula is negative here: it bounds nothing)
>>> evaluate("edelman2021/corollary-A.3", values).value
1.0
>>> from dudley.theorems.registry import load
>>> it = load()["edelman2021/lemma-A.2"]
>>> [float(f"{it.evaluate_on(it.example, form).value:.3g}") for form in it.forms]
[0.00791, 0.0734, 0.0254]
"""

from __future__ import annotations

import math

from dudley.core.bound import Bound, Sense
from dudley.core.entropy import PowerLaw
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Extent, Repair, Verdict
from dudley.theorems.chaining import chained, integral_latex, printed_integral
from dudley.theorems.edelman2021.common import HIDDEN, SAMPLES
from dudley.theorems.registry import register

QUANTITY = "empirical Rademacher complexity"
CLASS = (
    SAMPLES,
    Input("class.C", aliases=("C_F",)),
    Input("class.radius", aliases=("A",)),
)


def complexity(C: float, A: float, n: float, rule: str = "dudley") -> float:
    """R̂ of a class with |f| ≤ A and log N(ε) ≤ C/ε²."""
    return chained(PowerLaw(C, A), A, n, rule)


def as_bound(value: float, A: float) -> Bound:
    """A complexity beside the trivial bound A."""
    return Bound.of(value, quantity=QUANTITY, sense=Sense.SURELY, trivial=A)


def dudley(n: float, class_C: float, class_radius: float) -> Bound:
    return as_bound(complexity(class_C, class_radius, n), class_radius)


def optimised(n: float, class_C: float, class_radius: float) -> Bound:
    return as_bound(complexity(class_C, class_radius, n, "best"), class_radius)


def without_cut(n: float, class_C: float, class_radius: float, c: float) -> float:
    """c·√(C/n)(1 + log(A√(n/C))) as printed: negative where A√(n/C) < 1/e."""
    root = math.sqrt(class_C / n)
    if root == 0:
        return 0.0
    return c * root * (1 + (math.log(class_radius / root) if class_radius > 0 else -math.inf))


EXAMPLE = {"n": 1_000_000, "class.C": 1.0, "class.radius": 1.0}
DERIVED = Form(
    r"\min\Bigl(A,\inf_{a\le A/2}4a+12\int_a^{A/2}\sqrt{\log\mathcal N_\infty/m}\,d\varepsilon"
    r"\Bigr)=" + integral_latex("m"),
    dudley,
)
BEST = Form(r"\text{optimised scales, }d_J+\sum_j\ell_j\sqrt{2\log N(d_j)/m}", optimised)

register(
    Statement(
        id="edelman2021/lemma-A.2",
        kind="lemma",
        says="Dudley's entropy integral, cut off below; here for log N(ε) ≤ C/ε².",
        quantity=QUANTITY,
        inputs=(*CLASS, HIDDEN),
        printed=Form(
            r"c\inf_{\delta\ge0}\Bigl(\delta+\int_\delta^A\sqrt{\log\mathcal N_\infty/m}\,"
            r"d\varepsilon\Bigr)",
            printed_integral,
            Sense.CONSTANT,
        ),
        derived=DERIVED,
        best=BEST,
        verdict=Verdict.true(),
        erratum="True; the constant may be 12, the cut-off 4a and the upper limit A/2.",
        example=EXAMPLE,
    )
)

register(
    Statement(
        id="edelman2021/corollary-A.3",
        kind="corollary",
        says="Classes with log N(ε) ≤ C/ε² have complexity √(C/n) up to a logarithm.",
        quantity=QUANTITY,
        inputs=(*CLASS, HIDDEN),
        printed=Form(
            r"c\sqrt{C_{\mathcal F}/m}\,\bigl(1+\log(A\sqrt{m/C_{\mathcal F}})\bigr)",
            without_cut,
            Sense.CONSTANT,
        ),
        derived=DERIVED,
        best=BEST,
        verdict=Verdict.false(Repair.SYMBOL, Extent.EMPTY),
        erratum=(
            "The minimiser δ = √(C/m) of the integral may exceed A, and then the logarithm is "
            "negative: for A√(m/C) ≤ 1/e the printed right-hand side is at most 0 while the "
            "complexity may be A. It needs log⁺ in place of log and the minimum with A; the "
            "constant may then be 12 (and A/6 for A inside the logarithm)."
        ),
        example=EXAMPLE,
    )
)
