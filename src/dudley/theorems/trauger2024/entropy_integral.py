"""Equation 2.4: Dudley's integral, for a class with log N(ε) ≤ C/ε² and |f| ≤ A.

>>> from dudley.theorems.registry import evaluate
>>> values = {"class.C": 1.0, "class.radius": 1.0, "n": 1_000_000}
>>> forms = ("printed", "derived", "best")
>>> [round(evaluate("trauger2024/equation-2.4", values, form).value, 4) for form in forms]
[0.0079, 0.0734, 0.0254]
"""

from __future__ import annotations

from collections.abc import Callable

from dudley.core.bound import Bound, Sense
from dudley.core.entropy import PowerLaw
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Repair, Verdict
from dudley.theorems.chaining import chained, integral_latex, printed_integral
from dudley.theorems.registry import register


def by_rule(rule: str) -> Callable[[float, float, float], Bound]:
    def value(n: float, class_C: float, class_radius: float) -> Bound:
        complexity = chained(PowerLaw(class_C, class_radius), class_radius, n, rule)
        return Bound.of(complexity, quantity="", sense=Sense.SURELY, trivial=class_radius)

    return value


EQUATION_2_4 = register(
    Statement(
        id="trauger2024/equation-2.4",
        kind="equation",
        says="Covering numbers bound the Rademacher complexity (Dudley's integral).",
        quantity="empirical Rademacher complexity",
        inputs=(
            Input("n"),
            Input("class.C"),
            Input("class.radius", aliases=("A",)),
            Input("c", default=1.0),
        ),
        printed=Form(
            r"c\inf_{\delta\ge0}\Bigl(\delta"
            r"+\int_\delta^A\sqrt{\tfrac{\log N_\infty(F,\varepsilon,n)}{n}}\,d\varepsilon\Bigr)",
            printed_integral,
            Sense.CONSTANT,
        ),
        derived=Form(
            r"\min\Bigl\{A,\inf_{a>0}\Bigl(4a"
            r"+12\int_a^{A/2}\sqrt{\tfrac{\log N(\varepsilon)}{n}}\,d\varepsilon\Bigr)\Bigr\}="
            + integral_latex("n"),
            by_rule("dudley"),
        ),
        best=Form(
            r"\min_{A=d_0>\dots>d_J}d_J+\sum_jd_{j-1}\sqrt{2\log N(d_j)/n}",
            by_rule("best"),
        ),
        verdict=Verdict.true(Repair.SYMBOL),
        erratum=(
            "Holds with c = 12; the class in Rad_n(f, S) is F. The covers are proper there, and "
            "q > 0 should read q ≥ 1 for what Lemma 3.2 makes of them."
        ),
        example={"n": 100_000, "class.C": 1.0, "class.radius": 1.0},
    )
)
