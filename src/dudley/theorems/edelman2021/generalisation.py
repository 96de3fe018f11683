"""Theorem A.4 and Lemma 2.2 (restated as A.5): from complexity to |risk − training loss|.

>>> from dudley.theorems.registry import evaluate
>>> values = {"n": 1, "class.rademacher": 0.0, "delta": 0.99}
>>> [round(evaluate("edelman2021/theorem-A.4", values, form).value, 3)
...  for form in ("printed", "derived")]
[0.142, 1.0]
>>> from dudley.theorems.registry import load
>>> it = load()["edelman2021/lemma-2.2"]
>>> [float(f"{it.evaluate_on(it.example, form).value:.3g}") for form in it.forms]
[0.0341, 0.151, 0.0521]
"""

from __future__ import annotations

import math

from dudley.calculus.deviate import deviation
from dudley.core.assumption import Assumption, Status
from dudley.core.bound import Bound, Sense, Term
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Extent, Repair, Verdict
from dudley.theorems.chaining import integral_latex
from dudley.theorems.edelman2021.common import HIDDEN, SAMPLES
from dudley.theorems.edelman2021.dudley_integral import CLASS, complexity, without_cut
from dudley.theorems.registry import register

QUANTITY = "largest |risk − training loss| over the class"
LOSS = (
    Input("loss.lipschitz", default=1.0, aliases=("L_loss",)),
    Input("loss.range", default=1.0, aliases=("b",)),
    Input("delta"),
)
SAMPLE = Assumption("sample", "the examples are independent draws", Status.UNCHECKABLE)


def gap(R: float, drift: float, b: float, radius: float = math.inf) -> Bound:
    """2·(complexity of the loss class) + deviation, cut at b: two losses in [0, b] differ by b.

    A complexity that is the ``radius`` of the loss class needed no integral, and is called so.
    """
    return Bound.of(
        min(2 * R + drift, b),
        quantity=QUANTITY,
        sense=Sense.CONFIDENCE,
        terms=(Term("complexity" if radius > R else "radius", 2 * R), Term("deviation", drift)),
        trivial=b,
    )


def two_sided(
    n: float, class_rademacher: float, loss_lipschitz: float, loss_range: float, delta: float
) -> Bound:
    drift = float(deviation(n, delta, loss_range, "two-sided"))
    return gap(loss_lipschitz * class_rademacher, drift, loss_range)


def printed_drift(n: float, loss_range: float, delta: float) -> float:
    return 2 * loss_range * math.sqrt(math.log(1 / delta) / (2 * n))


register(
    Statement(
        id="edelman2021/theorem-A.4",
        kind="theorem",
        says="Risk and training loss differ by the Rademacher complexity and a deviation.",
        quantity=QUANTITY,
        inputs=(SAMPLES, Input("class.rademacher"), *LOSS),
        printed=Form(
            r"4L\widehat{\mathcal R}(\mathcal F)+2b\sqrt{\tfrac{\log(1/\delta)}{2m}}",
            lambda n, class_rademacher, loss_lipschitz, loss_range, delta: (
                4 * loss_lipschitz * class_rademacher + printed_drift(n, loss_range, delta)
            ),
            Sense.CONFIDENCE,
        ),
        derived=Form(
            r"\min\Bigl(b,2L\widehat{\mathcal R}(\mathcal F)"
            r"+3b\sqrt{\tfrac{\log(2/\delta)}{2m}}\Bigr)",
            two_sided,
            Sense.CONFIDENCE,
        ),
        verdict=Verdict.false(Repair.CONSTANT, Extent.EDGE),
        erratum=(
            "With the complexity of the sample at hand McDiarmid's inequality gives 3b, and two "
            "sides cost log(2/δ); then 2L is enough. With 2b√(log(1/δ)/2m) the claim fails for δ "
            "near 1: one function, a fair coin, one example."
        ),
        example={"n": 10_000, "class.rademacher": 0.01, "delta": 0.05},
        assumptions=(SAMPLE,),
    )
)


def by_cover(
    n: float,
    class_C: float,
    class_radius: float,
    loss_lipschitz: float,
    loss_range: float,
    delta: float,
) -> Bound:
    R, radius = loss_lipschitz * complexity(class_C, class_radius, n), loss_lipschitz * class_radius
    return gap(R, float(deviation(n, delta, loss_range, "two-sided")), loss_range, radius)


def by_any_rule(
    n: float,
    class_C: float,
    class_radius: float,
    loss_lipschitz: float,
    loss_range: float,
    delta: float,
) -> Bound:
    """The cover serves every sample, so b is enough; each side takes half of δ."""
    R = loss_lipschitz * complexity(class_C, class_radius, n, "best")
    drift = float(deviation(n, delta / 2, loss_range, "a-priori"))
    return gap(R, drift, loss_range, loss_lipschitz * class_radius)


register(
    Statement(
        id="edelman2021/lemma-2.2",
        kind="lemma",
        says="Classes with log N(ε) ≤ C/ε² on every sample generalise at rate √(C/n).",
        quantity=QUANTITY,
        inputs=(*CLASS, *LOSS, HIDDEN),
        printed=Form(
            r"4cL\sqrt{\tfrac{C_{\mathcal F}}m}\bigl(1+\log(A\sqrt{m/C_{\mathcal F}})\bigr)"
            r"+2b\sqrt{\tfrac{\log(1/\delta)}{2m}}",
            lambda n, class_C, class_radius, loss_lipschitz, loss_range, delta, c: (
                4 * loss_lipschitz * without_cut(n, class_C, class_radius, c)
                + printed_drift(n, loss_range, delta)
            ),
            Sense.CONSTANT,
        ),
        derived=Form(
            r"\min\Bigl(b,2L\widehat{\mathcal R}+3b\sqrt{\tfrac{\log(2/\delta)}{2m}}\Bigr),\quad"
            r"\widehat{\mathcal R}=" + integral_latex("m", r"C_{\mathcal F}"),
            by_cover,
            Sense.CONFIDENCE,
        ),
        best=Form(
            r"\min\Bigl(b,2L\widehat{\mathcal R}+b\sqrt{\tfrac{\log(2/\delta)}{2m}}\Bigr)",
            by_any_rule,
            Sense.CONFIDENCE,
        ),
        verdict=Verdict.false(Repair.CONSTANT, Extent.EMPTY),
        erratum=(
            "It inherits Corollary A.3: where A√(m/C) is small the logarithm is negative and so "
            "may be the bound; it needs log⁺. It inherits the deviation term of Theorem A.4. "
            "Once repaired it reads: 2L times the complexity of Corollary A.3 with constant 12, "
            "plus 3b√(log(2/δ)/2m)."
        ),
        example={"n": 1_000_000, "class.C": 1.0, "class.radius": 1.0, "delta": 0.05},
        assumptions=(SAMPLE,),
        also=("lemma-A.5",),
    )
)
