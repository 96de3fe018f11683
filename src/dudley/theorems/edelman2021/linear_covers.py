"""Lemmas A.10 (Zhang) and 4.5: covers of linear functionals, and of linear maps by columns.

>>> from dudley.theorems.registry import evaluate
>>> values = {"d": 64, "k": 8, "n": 1000, "W.col2inf": 1.0, "X.row2inf": 1.0, "epsilon": 1.0}
>>> [round(evaluate("edelman2021/lemma-4.5", values, form).value)
...  for form in ("printed", "derived", "best")]
[442, 23644, 157]
>>> from dudley.theorems.registry import load
>>> it = load()["edelman2021/lemma-A.10"]
>>> [float(f"{it.evaluate_on(it.example, form).value:.3g}") for form in it.forms]
[40800.0, 40900.0, 195.0]
"""

from __future__ import annotations

import math

from dudley.classes.linear import LinearMap
from dudley.core.bound import Sense
from dudley.core.constraint import L2, Col2Inf, Constraint
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Repair, Verdict
from dudley.theorems.edelman2021.common import (
    HIDDEN,
    OWN,
    RADIUS,
    READOUT,
    RESOLUTION,
    SAMPLES,
)
from dudley.theorems.registry import register

POINTS = Input("n", "number of points", aliases=("N", *SAMPLES.aliases))


def log_cover(
    shape: tuple[int, int],
    constraint: Constraint,
    R: float,
    ε: float,
    n: float,
    covers: tuple[str, ...] | None = None,
) -> float:
    """log N(ε) of {x ↦ xW} on n points of norm ≤ R, by the calculus."""
    entropy = LinearMap(shape, constraint).entropy().only(covers)
    return float(entropy.scaled(R)(ε, n)) if R > 0 else 0.0


def zhang(n: float, w_l2: float, X_row2inf: float, epsilon: float) -> float:
    x = w_l2 * X_row2inf / epsilon
    return 36 * x**2 * math.log(2 * math.ceil(4 * x + 2) * n + 1)


register(
    Statement(
        id="edelman2021/lemma-A.10",
        kind="lemma",
        says="Linear functionals with ‖w‖₂ bounded have covers that grow like log(points).",
        quantity="log covering number of x ↦ x·w on n points",
        inputs=(Input("d", default=1e6), POINTS, READOUT, RADIUS, RESOLUTION),
        printed=Form(
            r"36\frac{B_1^2B_2^2}{\varepsilon^2}\log(2\lceil4B_1B_2/\varepsilon+2\rceil N+1)",
            zhang,
        ),
        derived=Form(
            r"36\frac{B_1^2B_2^2}{\varepsilon^2}\log\bigl(2(4B_1B_2/\varepsilon+3)N+1\bigr),\ "
            r"0\text{ from }\varepsilon=B_1B_2\text{ on}",
            lambda d, n, w_l2, X_row2inf, epsilon: log_cover(
                (int(d), 1), L2(w_l2), X_row2inf, epsilon, n, OWN
            ),
        ),
        best=Form(
            r"\log D(N,\lceil B_1^2B_2^2/\varepsilon^2\rceil-1),\ \text{and other covers}",
            lambda d, n, w_l2, X_row2inf, epsilon: log_cover(
                (int(d), 1), L2(w_l2), X_row2inf, epsilon, n
            ),
        ),
        verdict=Verdict.true(),
        erratum="True (T. Zhang 2002, Theorem 4), with one base of logarithm on both sides.",
        example={"d": 64, "n": 1000, "w.l2": 1.0, "X.row2inf": 1.0, "epsilon": 0.1},
    )
)

register(
    Statement(
        id="edelman2021/lemma-4.5",
        kind="lemma",
        says="Linear maps with bounded columns, each output coordinate covered by Zhang's lemma.",
        quantity="log covering number of x ↦ xW on n points, ℓ2 outputs",
        inputs=(
            Input("d", "input width d₁"),
            Input("k", "output width d₂"),
            POINTS,
            Input(
                "W.col2inf",
                "largest ℓ2 norm of a column, the weights of one output coordinate",
                aliases=("B_inf",),
            ),
            RADIUS,
            RESOLUTION,
            HIDDEN,
        ),
        printed=Form(
            r"c\,\frac{(d_2B_\infty B_X)^2}{\varepsilon^2}\log N",
            lambda k, n, W_col2inf, X_row2inf, epsilon, c: (
                c * (k * W_col2inf * X_row2inf / epsilon) ** 2 * math.log(n)
            ),
            Sense.CONSTANT,
        ),
        derived=Form(
            r"36\,d_2^2\frac{B_\infty^2B_X^2}{\varepsilon^2}"
            r"\log\bigl(2\lceil4\sqrt{d_2}B_\infty B_X/\varepsilon+2\rceil N+1\bigr)",
            lambda d, k, n, W_col2inf, X_row2inf, epsilon: log_cover(
                (int(d), int(k)), Col2Inf(W_col2inf), X_row2inf, epsilon, n, OWN
            ),
        ),
        best=Form(
            r"\text{the smallest of all covers}",
            lambda d, k, n, W_col2inf, X_row2inf, epsilon: log_cover(
                (int(d), int(k)), Col2Inf(W_col2inf), X_row2inf, epsilon, n
            ),
        ),
        verdict=Verdict.true(Repair.SYMBOL),
        erratum=(
            "The bound stands by one line: cover each column at resolution ε/√d₂. The map is "
            "x ↦ Wᵀx, as the dimensions of W ∈ R^{d₁×d₂} and x ∈ R^{d₁} say, and the logarithm is "
            "that of N + 1, as for one point log N is 0. The printed proof needs this line: its "
            "integers k_i = ⌊d₂‖v_i‖/B_∞⌋ may sum to d₂², not d₂, so that the tuple is missing "
            "from 𝒮 and the final error is ε√((1+d₂)/2)."
        ),
        example={
            "d": 64,
            "k": 64,
            "n": 1000,
            "W.col2inf": 1.0,
            "X.row2inf": 1.0,
            "epsilon": 0.5,
        },
    )
)
