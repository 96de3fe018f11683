"""Lemmas A.11 and A.12: one head on tokens with fixed positions, and H heads in parallel.

>>> from dudley.theorems.registry import evaluate, load
>>> example = load()["edelman2021/lemma-A.12"].example
>>> two, four = (evaluate("edelman2021/lemma-A.12", {**example, "H": H}).value for H in (2, 4))
>>> 8 < four / two < 10  # H³, and the logarithm of a finer resolution
True
>>> it = load()["edelman2021/lemma-A.11"]
>>> [float(f"{it.evaluate_on(it.example, form).value:.3g}") for form in it.forms]
[62800000.0, 10700000000.0, 2960.0]
"""

from __future__ import annotations

from dudley.core.binding import bundled
from dudley.core.bound import Sense
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Repair, Verdict
from dudley.theorems.edelman2021.common import HIDDEN, RADIUS, RESOLUTION
from dudley.theorems.edelman2021.one_head import (
    ASSUMPTIONS,
    BEST,
    EXAMPLE,
    NO_POSITIONS,
    ONE_HEAD,
    QUANTITY,
    SIZES,
    WEIGHTS,
    HeadClass,
)
from dudley.theorems.registry import register

register(
    Statement(
        id="edelman2021/lemma-A.11",
        kind="lemma",
        says="Fixed positions only enlarge the radius of the tokens.",
        quantity=QUANTITY,
        inputs=(
            *SIZES,
            RADIUS,
            Input("P.row2inf", aliases=("B_P",)),
            *WEIGHTS,
            RESOLUTION,
            HIDDEN,
        ),
        printed=Form(
            r"c(dL_\sigma(B_X+B_P))^2\frac{\bigl((B_V^\infty)^{2/3}"
            r"+(2B_{QK}^\infty B_V(B_X+B_P))^{2/3}\bigr)^3}{\varepsilon^2}\log(mT)",
            bundled(HeadClass, **ONE_HEAD)(HeadClass.lemma_A_11),
            Sense.CONSTANT,
        ),
        derived=Form(
            r"\text{Corollary 4.4 repaired, with }B_X+B_P\text{ for }B_X",
            bundled(HeadClass, **ONE_HEAD)(HeadClass.derived),
        ),
        best=Form(BEST, bundled(HeadClass, **ONE_HEAD)(HeadClass.best)),
        verdict=Verdict.false(Repair.HYPOTHESIS),
        erratum=(
            "The score term needs (B_X+B_P)², the query x_τ + p_τ having norm up to B_X + B_P; "
            "with the first power it holds for queries of norm at most 1 and is refuted "
            "otherwise, by the heads that refute Corollary 4.4."
        ),
        example=EXAMPLE | {"P.row2inf": 1.0},
        assumptions=ASSUMPTIONS,
    )
)


register(
    Statement(
        id="edelman2021/lemma-A.12",
        kind="lemma",
        says="H heads cost H³ times one head.",
        quantity="log covering number of the sum of H heads, ℓ2 outputs",
        inputs=(*SIZES, Input("H"), RADIUS, *WEIGHTS, RESOLUTION, HIDDEN),
        printed=Form(
            r"c(dL_\sigma B_X)^2\frac{\bigl(\sum_h(B_V^{\infty[h]})^{2/3}"
            r"+(2B_{QK}^{\infty[h]}B_V^{[h]})^{2/3}\bigr)^3}{\varepsilon^2}\log(mT)",
            bundled(HeadClass, **NO_POSITIONS)(HeadClass.lemma_A_12),
            Sense.CONSTANT,
        ),
        derived=Form(
            r"H^3\text{ times Corollary 4.4 repaired}",
            bundled(HeadClass, **NO_POSITIONS)(HeadClass.derived),
        ),
        best=Form(BEST, bundled(HeadClass, **NO_POSITIONS)(HeadClass.best)),
        verdict=Verdict.false(Repair.HYPOTHESIS),
        erratum=(
            "The factor H³ for equal heads is right; the score term lacks B_X², as in Corollary "
            "4.4, and with one head the same heads refute it."
        ),
        example=EXAMPLE | {"H": 4},
        assumptions=ASSUMPTIONS,
    )
)
