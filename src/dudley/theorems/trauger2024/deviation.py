"""Equation 2.3: from Rademacher complexity to the gap between risk and training loss.

>>> from dudley.theorems.registry import evaluate
>>> values = {"n": 10_000, "class.rademacher": 0.05, "loss.bound": 1.0, "delta": 0.05}
>>> forms = ("printed", "derived")
>>> [round(evaluate("trauger2024/equation-2.3", values, form).value, 4) for form in forms]
[0.2184, 0.1815]
"""

from __future__ import annotations

import math

from dudley.calculus.deviate import deviation
from dudley.core.assumption import Assumption, Status
from dudley.core.bound import Bound, Sense, Term
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Verdict
from dudley.theorems.registry import register


def gap(class_rademacher: float, drift: float, c: float, most: float) -> Bound:
    """2R plus a deviation, at most ``most``; losses in [−c, c] never differ by more than 2c."""
    return Bound.of(
        min(2 * class_rademacher + drift, most),
        quantity="",
        sense=Sense.CONFIDENCE,
        terms=(Term("complexity", 2 * class_rademacher), Term("deviation", drift)),
        trivial=2 * c,
    )


EQUATION_2_3 = register(
    Statement(
        id="trauger2024/equation-2.3",
        kind="equation",
        says="With confidence 1 − δ the gap is at most twice the complexity plus O(c/√n).",
        quantity="|risk − training loss|",
        inputs=(
            Input("n", aliases=("m", "N")),
            Input("class.rademacher", "empirical Rademacher complexity of the loss class"),
            Input("loss.bound", "c with |loss| ≤ c"),
            Input("delta"),
        ),
        printed=Form(
            r"2\,\mathrm{Rad}_n(\ell\circ H,S)+4c\sqrt{\frac{2\log(4/\delta)}{n}}",
            lambda n, class_rademacher, loss_bound, delta: gap(
                class_rademacher,
                4 * loss_bound * math.sqrt(2 * math.log(4 / delta) / n),
                loss_bound,
                math.inf,
            ),
            Sense.CONFIDENCE,
        ),
        derived=Form(
            r"\min\Bigl(2c,2\,\mathrm{Rad}_n(\ell\circ H,S)"
            r"+3c\sqrt{\frac{2\log(2/\delta)}{n}}\Bigr)",
            lambda n, class_rademacher, loss_bound, delta: gap(
                class_rademacher,
                float(deviation(n, delta, 2 * loss_bound, "two-sided")),
                loss_bound,
                2 * loss_bound,
            ),
            Sense.CONFIDENCE,
        ),
        verdict=Verdict.true(),
        erratum=(
            "True as printed (m under the root is n). One use of McDiarmid's inequality on "
            "sup(risk − training loss) − 2·Rad gives the smaller constant 3 and log(2/δ)."
        ),
        assumptions=(
            Assumption("sample", "the examples are independent draws", Status.UNCHECKABLE),
        ),
        example={"n": 10_000, "class.rademacher": 0.05, "loss.bound": 1.0, "delta": 0.05},
    )
)
