"""Section 4.1 and Assumption 3: the class of networks near θ⁰, and inputs that are not aligned.

>>> from dudley.theorems.registry import evaluate
>>> values = {"W_Q.moved": 1.0, "W_K.moved": 1.0, "W_v.moved": 1.0, "w.moved": 1.0}
>>> evaluate("mwigo2026/section-4.1", values).value
2.0
>>> values = {"X.fro": 1.5, "correlation.c": 0.5, "delta": 0.05}
>>> forms = ("printed", "derived")
>>> [round(evaluate("mwigo2026/assumption-3", values, form).value, 3) for form in forms]
[8.974, 5.062]
"""

from __future__ import annotations

import math

from dudley.core.assumption import Assumption, Status
from dudley.core.bound import Bound, Sense
from dudley.core.errors import InputError
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Repair, Verdict
from dudley.theorems.mwigo2026.encoder import moved
from dudley.theorems.registry import register


def distance(W_Q_moved: float, W_K_moved: float, W_v_moved: float, w_moved: float) -> float:
    """R, from R_Q, R_K, R_V and R_O.

    >>> distance(2.0, 3.0, 6.0, 0.0)
    7.0
    """
    return math.hypot(W_Q_moved, W_K_moved, W_v_moved, w_moved)


register(
    Statement(
        id="mwigo2026/section-4.1",
        kind="section",
        says="The class: networks whose matrices have each moved by at most a stated distance.",
        quantity="ℓ2 distance of the weights from their initial value",
        inputs=moved(),
        printed=Form(r"R=\sqrt{R_Q^2+R_K^2+R_V^2+R_O^2}", distance),
        derived=Form(
            r"R\text{ on }\{f_\theta:\|W_Q-W_Q^0\|_F\le R_Q,\dots,\|w_O-w_O^0\|_2\le R_O\}",
            distance,
        ),
        verdict=Verdict.no_claim(Repair.SYMBOL),
        erratum=(
            "The class is written through trajectories (for all t, ‖θ^{t+1} − θ⁰‖ ≤ R) while its "
            "members are indexed by θ: it should be a set of θ. And Lemma 1 uses the distances of "
            "the blocks, R_Q, R_K, R_V, R_O; in the ball ‖θ − θ⁰‖ ≤ R any one of them can be R. So "
            "the class is that of the four balls."
        ),
        example={"W_Q.moved": 1.0, "W_K.moved": 1.0, "W_v.moved": 1.0, "w.moved": 1.0},
    )
)


def quantile(correlation_c: float, delta: float) -> float:
    """The t at which exp(−t^c) is δ."""
    if correlation_c == 0:
        raise InputError("correlation.c", "a number > 0", 0)
    return math.log(1 / delta) ** (1 / correlation_c)


def cut(X_fro: float, correlation_c: float, delta: float) -> Bound:
    """|⟨XᵀX, X′ᵀX′⟩| ≤ ‖XᵀX‖_F‖X′ᵀX′‖_F ≤ ‖X‖_F²‖X′‖_F² in any case."""
    value = min(quantile(correlation_c, delta), X_fro**4)
    return Bound.of(value, quantity="", sense=Sense.CONFIDENCE, trivial=X_fro**4)


register(
    Statement(
        id="mwigo2026/assumption-3",
        kind="assumption",
        says="Two inputs are not aligned: |⟨XᵀX, X′ᵀX′⟩| has a stretched exponential tail.",
        quantity="|⟨XᵀX, X′ᵀX′⟩| of two examples",
        inputs=(
            Input("X.fro", "√d_s·R_X, bounds the Frobenius norm of every input"),
            Input("correlation.c"),
            Input("delta"),
        ),
        printed=Form(r"\log(1/\delta)^{1/\hat c}", quantile, Sense.CONFIDENCE),
        derived=Form(r"\min\bigl\{\log(1/\delta)^{1/\hat c},(d_sR_X^2)^2\bigr\}", cut),
        verdict=Verdict.no_claim(),
        erratum=(
            "Sound as an assumption, stated here as a quantile. It depends on the scale of the "
            "inputs: exp(−t^ĉ) names no unit, so inputs that satisfy it need not do so when "
            "multiplied by a constant. Bounded inputs have the trivial bound besides."
        ),
        assumptions=(
            Assumption(
                "inputs",
                "P(|⟨XᵀX, X′ᵀX′⟩| ≥ t) ≤ exp(−t^ĉ), and every X has full row rank",
                Status.UNCHECKABLE,
            ),
        ),
        example={"X.fro": 1.5, "correlation.c": 0.5, "delta": 0.05},
    )
)
