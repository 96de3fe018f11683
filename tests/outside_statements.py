"""Statements from outside the package: what an author would write in a file of their own."""

from __future__ import annotations

KEY = "mine2027"
SOURCE = """
import math

from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Verdict
from dudley.theorems.registry import register, register_paper

register_paper("mine2027", "On covers of my own", "N. N.", 2027)

NORMS = (Input("d"), Input("k"), Input("W.l11"), Input("X.row2inf"), Input("epsilon"))
EXAMPLE = {"d": 8, "k": 8, "W.l11": 1.0, "X.row2inf": 1.0, "epsilon": 0.5}


def statement(number, says, quantity, inputs, example, value):
    form = Form(r"\\\\text{as in the file}", value)
    kind = number.partition("-")[0]
    register(
        Statement(
            id=f"mine2027/{number}", kind=kind, says=says, quantity=quantity, inputs=inputs,
            printed=form, derived=form, verdict=Verdict.true(), erratum="", example=example,
        )
    )


def cover(d, k, W_l11, X_row2inf, epsilon):
    return math.ceil((W_l11 * X_row2inf / epsilon) ** 2) * math.log(2 * d * k + 1)


MAPS = "log covering number of the linear maps, ℓ2 outputs"
statement("lemma-1", "Maurey's cover.", MAPS, NORMS, EXAMPLE, cover)
statement(
    "lemma-2", "A cover that is too small.", MAPS, NORMS, EXAMPLE,
    lambda W_l11, X_row2inf, epsilon: 0.1 * W_l11 * X_row2inf / epsilon,
)

HEAD = (Input("n"), Input("w.l2"), Input("W_v.op"), Input("W_QK.op"), Input("X.row2inf"))
SMALL = {"n": 100, "w.l2": 1.0, "W_v.op": 1.0, "W_QK.op": 1.0, "X.row2inf": 1.0}
COMPLEXITY = "Rademacher complexity of one head with a readout, for any sample"
statement(
    "theorem-3", "No complexity is larger than the radius.", COMPLEXITY, HEAD, SMALL,
    lambda w_l2, W_v_op, X_row2inf: w_l2 * W_v_op * X_row2inf,
)
statement(
    "theorem-4", "A rate that is too good.", COMPLEXITY, HEAD, SMALL,
    lambda n, w_l2, W_v_op, X_row2inf: w_l2 * W_v_op * X_row2inf / n,
)
statement(
    "remark-5", "Of something else.", "number of heads that agree", (Input("H"),), {"H": 2},
    lambda H: H,
)
"""
