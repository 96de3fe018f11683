"""Lemmas A.13 and A.14: how attention moves with its weights and with its inputs.

>>> from dudley.theorems.registry import evaluate
>>> values = {"W_v.op": 1.0, "error.QK": 0.1, "error.v": 0.1}
>>> [round(evaluate("edelman2021/lemma-A.13", values, form).value, 3)
...  for form in ("printed", "derived", "best")]
[0.3, 0.3, 0.2]
>>> from dudley.theorems.registry import load
>>> it = load()["edelman2021/lemma-A.14"]
>>> [float(f"{it.evaluate_on(it.example, form).value:.3g}") for form in it.forms]
[0.5, 0.5, 0.3]
"""

from __future__ import annotations

from dudley.calculus.facts import Signal
from dudley.core.constraint import Spectral
from dudley.core.magnitude import Magnitude
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Verdict
from dudley.networks.head import Head
from dudley.theorems.edelman2021.common import PAPERS
from dudley.theorems.registry import register

QUANTITY = "largest ℓ2 change of a row of the attention's output"
ROWS = Input("X.row2inf", "largest norm of an input row; the paper asks for at most 1", 1.0)
VALUES = Input("W_v.op", aliases=("B_V",))


def moved(
    W_v_op: float,
    W_QK_op: float,
    R: float,
    error_rows: float = 0.0,
    error_QK: float = 0.0,
    error_v: float = 0.0,
    attention: str = PAPERS,
) -> float:
    """The head's facts times the errors: those of weights are measured on its own rows."""
    if R == 0:
        return 0.0  # rows of norm 0 stay where they are
    head = Head(1, Spectral(W_v_op), Spectral(W_QK_op), sigma="identity", attention=attention)
    facts = head.facts(Signal(Magnitude.of(R), 2.0, 1))
    weight = {use.name: float(use.weight) for use in facts.uses}
    of_weights = weight["W_QK"] * (error_QK / R) + weight["W_v"] * (error_v / R)
    return float(facts.lipschitz) * error_rows + of_weights


register(
    Statement(
        id="edelman2021/lemma-A.13",
        kind="lemma",
        says="Attention moves with its weights as much as their maps move on the tokens.",
        quantity=QUANTITY,
        inputs=(VALUES, ROWS, Input("error.QK"), Input("error.v")),
        printed=Form(
            r"2\|W_V\|_2\|\Delta W_{QK}Z^\top\|_{2,\infty}+\|\Delta W_V^\top Z^\top\|_{2,\infty}",
            lambda W_v_op, error_QK, error_v: 2 * W_v_op * error_QK + error_v,
        ),
        derived=Form(
            r"2R^2\|W_V\|_2\max_t\|\Delta W_{QK}z_t\|+\max_t\|z_t\Delta W_V\|",
            lambda W_v_op, X_row2inf, error_QK, error_v: moved(
                W_v_op, 0.0, X_row2inf, error_QK=error_QK, error_v=error_v
            ),
        ),
        best=Form(
            r"R^2\|W_V\|_2\max_t\|\Delta W_{QK}z_t\|+\max_t\|z_t\Delta W_V\|",
            lambda W_v_op, X_row2inf, error_QK, error_v: moved(
                W_v_op, 0.0, X_row2inf, error_QK=error_QK, error_v=error_v, attention="softmax"
            ),
        ),
        verdict=Verdict.true(),
        erratum=(
            "True for rows of norm at most 1, as it says. For rows of norm up to R the first term "
            "takes R², which matters in the first layer, where nothing bounds the rows by 1. "
            "W_QW_Kᵀ and its transpose are used in turn."
        ),
        example={"W_v.op": 1.0, "X.row2inf": 1.0, "error.QK": 0.1, "error.v": 0.1},
    )
)

register(
    Statement(
        id="edelman2021/lemma-A.14",
        kind="lemma",
        says="Attention is Lipschitz in its input rows, whatever their number.",
        quantity=QUANTITY,
        inputs=(VALUES, Input("W_QK.op", aliases=("B_QK",)), ROWS, Input("error.rows")),
        printed=Form(
            r"\|W_V\|_2(1+4\|W_KW_Q^\top\|_2)\|(Z-\hat Z)^\top\|_{2,\infty}",
            lambda W_v_op, W_QK_op, error_rows: W_v_op * (1 + 4 * W_QK_op) * error_rows,
        ),
        derived=Form(
            r"\|W_V\|_2(1+4R^2\|W_{QK}\|_2)\max_t\|z_t-\hat z_t\|",
            lambda W_v_op, W_QK_op, X_row2inf, error_rows: moved(
                W_v_op, W_QK_op, X_row2inf, error_rows
            ),
        ),
        best=Form(
            r"\|W_V\|_2(1+2R^2\|W_{QK}\|_2)\max_t\|z_t-\hat z_t\|",
            lambda W_v_op, W_QK_op, X_row2inf, error_rows: moved(
                W_v_op, W_QK_op, X_row2inf, error_rows, attention="softmax"
            ),
        ),
        verdict=Verdict.true(),
        erratum=(
            "True for rows of norm at most 1, as it says; 1 + 4R²‖W_QK‖ for rows of norm up to R, "
            "and 2 for 4 with the sharp softmax constant."
        ),
        example={"W_v.op": 1.0, "W_QK.op": 1.0, "X.row2inf": 1.0, "error.rows": 0.1},
    )
)
