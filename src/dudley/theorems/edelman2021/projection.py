"""Lemma A.9: projecting rows onto the unit ball does not expand distances.

>>> from dudley.theorems.registry import evaluate
>>> evaluate("edelman2021/lemma-A.9", {"error.rows": 3.0}).value
3.0...
"""

from __future__ import annotations

from dudley.calculus.facts import Signal
from dudley.core.magnitude import ONE
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Verdict
from dudley.networks.pointwise import ProjectRows
from dudley.theorems.registry import register


def contraction(error_rows: float) -> float:
    """The Lipschitz constant of the node, times the distance."""
    return float(ProjectRows().facts(Signal(ONE, 1.0, 1)).lipschitz) * error_rows


register(
    Statement(
        id="edelman2021/lemma-A.9",
        kind="lemma",
        says="Π_norm, the projection onto the unit ball, is a contraction.",
        quantity="distance of two projected rows",
        inputs=(Input("error.rows", "‖u − v‖₂"),),
        printed=Form(
            r"\|\Pi_{\mathrm{norm}}(u)-\Pi_{\mathrm{norm}}(v)\|\le\|u-v\|",
            lambda error_rows: error_rows,
        ),
        derived=Form(r"\|\Pi_{\mathrm{norm}}(u)-\Pi_{\mathrm{norm}}(v)\|\le\|u-v\|", contraction),
        best=Form(r"\min(2,\|u-v\|)", lambda error_rows: min(2.0, error_rows)),
        verdict=Verdict.true(),
        erratum=(
            "True. One display of the proof has (1 − α²)‖u‖² where (1 − α)²‖u‖² is meant: for "
            "u = (1.05, 0), v = (−0.9, 0) the left-hand side is 3.61 and the printed term 0.29; "
            "with (1 − α)² the step holds, as α ≤ 1/‖u‖. The parts of v are printed as B_V^{(1)} "
            "and B_V^2."
        ),
        example={"error.rows": 0.5},
    )
)
