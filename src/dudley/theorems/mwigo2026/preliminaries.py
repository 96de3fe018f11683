"""Sections 3.2 and 3.3: Rademacher complexity and Dudley's integral, as the paper recalls them.

>>> from dudley.theorems.registry import evaluate
>>> values = {"n": 10_000, "class.rademacher": 0.05, "delta": 0.05}
>>> forms = ("printed", "derived")
>>> [round(evaluate("mwigo2026/equation-3.2", values, form).value, 4) for form in forms]
[0.1407, 0.1367]
>>> values = {"class.C": 1.0, "class.radius": 1.0, "n": 1_000_000}
>>> forms = ("printed", "derived", "best")
>>> [round(evaluate("mwigo2026/equation-3.3", values, form).value, 4) for form in forms]
[0.0079, 0.0734, 0.0254]
"""

from __future__ import annotations

import math
from collections.abc import Callable

from dudley.calculus.deviate import deviation
from dudley.core.assumption import Assumption, Status
from dudley.core.bound import Bound, Sense, Term
from dudley.core.entropy import PowerLaw
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Verdict
from dudley.theorems.chaining import chained, integral_latex, printed_integral
from dudley.theorems.registry import register

SAMPLE = Assumption("sample", "the examples are independent draws", Status.UNCHECKABLE)


def gap(
    class_rademacher: float, loss_lipschitz: float, loss_range: float, drift: float, most: float
) -> Bound:
    """2ρR and a deviation, at most ``most``; losses in [0, c] never differ by more than c."""
    complexity = 2 * loss_lipschitz * class_rademacher
    return Bound.of(
        min(complexity + drift, most),
        quantity="",
        sense=Sense.CONFIDENCE,
        terms=(Term("complexity", complexity), Term("deviation", drift)),
        trivial=loss_range,
    )


def printed_gap(
    n: float, class_rademacher: float, loss_lipschitz: float, loss_range: float, delta: float
) -> Bound:
    drift = 3 * loss_range * math.sqrt(math.log(2 / delta) / (2 * n))
    return gap(class_rademacher, loss_lipschitz, loss_range, drift, math.inf)


def one_sided(
    n: float, class_rademacher: float, loss_lipschitz: float, loss_range: float, delta: float
) -> Bound:
    drift = float(deviation(n, delta, loss_range, "empirical"))
    return gap(class_rademacher, loss_lipschitz, loss_range, drift, loss_range)


register(
    Statement(
        id="mwigo2026/equation-3.2",
        kind="equation",
        says="The risk exceeds the training loss by at most 2ρ complexities and O(c/√N).",
        quantity="largest risk − training loss over the class",
        inputs=(
            Input("n", aliases=("N",)),
            Input("class.rademacher", aliases=("R_S",)),
            Input("loss.lipschitz", default=1.0, aliases=("rho",)),
            Input("loss.range", default=1.0),
            Input("delta"),
        ),
        printed=Form(
            r"2\rho\mathcal R_S(\mathcal F)+3c\sqrt{\tfrac{\log(2/\delta)}{2N}}",
            printed_gap,
            Sense.CONFIDENCE,
        ),
        derived=Form(
            r"\min\Bigl(c,2\rho\mathcal R_S(\mathcal F)+3c\sqrt{\tfrac{\log(1/\delta)}{2N}}\Bigr)",
            one_sided,
            Sense.CONFIDENCE,
        ),
        verdict=Verdict.true(),
        erratum=(
            "True as printed. One use of McDiarmid's inequality on sup(risk − training loss) − "
            "2R_S(ℓ∘F), whose bounded differences are 3c/N, and then contraction give log(1/δ) for "
            "log(2/δ)."
        ),
        assumptions=(SAMPLE,),
        example={"n": 10_000, "class.rademacher": 0.05, "delta": 0.05},
    )
)


def by_rule(rule: str) -> Callable[[float, float, float], Bound]:
    def value(n: float, class_C: float, class_radius: float) -> Bound:
        complexity = chained(PowerLaw(class_C, class_radius), class_radius, n, rule)
        return Bound.of(complexity, quantity="", sense=Sense.SURELY, trivial=class_radius)

    return value


register(
    Statement(
        id="mwigo2026/equation-3.3",
        kind="equation",
        says="Covering numbers bound the Rademacher complexity (Dudley's integral).",
        quantity="empirical Rademacher complexity of a class with log N(ε) ≤ C/ε²",
        inputs=(
            Input("n", aliases=("N",)),
            Input("class.C"),
            Input("class.radius", aliases=("A",)),
            Input("c", default=1.0),
        ),
        printed=Form(
            r"c\inf_{\delta\ge0}\Bigl(\delta+\int_\delta^A\sqrt{\tfrac{\log\mathcal N_\infty"
            r"(\mathcal F;\varepsilon)}{N}}\,d\varepsilon\Bigr)",
            printed_integral,
            Sense.CONSTANT,
        ),
        derived=Form(
            r"\min\Bigl\{A,\inf_{a>0}\Bigl(4a+12\int_a^{A/2}\sqrt{\tfrac{\log\mathcal N_\infty"
            r"(\mathcal F;\varepsilon)}{N}}\,d\varepsilon\Bigr)\Bigr\}=" + integral_latex("N"),
            by_rule("dudley"),
        ),
        best=Form(
            r"\min_{A=d_0>\dots>d_J}d_J+\sum_jd_{j-1}\sqrt{2\log\mathcal N(d_j)/N}",
            by_rule("best"),
        ),
        verdict=Verdict.true(),
        erratum="True; c = 12 will do, and centres need not be members of the class.",
        example={"n": 100_000, "class.C": 1.0, "class.radius": 1.0},
    )
)
