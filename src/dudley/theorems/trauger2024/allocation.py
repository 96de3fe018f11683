"""Lemma E.1: the best split of a resolution between blocks with log N_i ≤ C_i/ε_i².

Stated for two blocks here; ``calculus.allocate.power_law`` takes any number.

>>> from dudley.theorems.registry import evaluate
>>> values = {"score.C": 1, "inner.C": 8, "score.weight": 1, "inner.weight": 1, "epsilon": 1}
>>> [round(evaluate("trauger2024/lemma-E.1", values, f).value, 9) for f in ("printed", "derived")]
[27.0, 27.0]
"""

from __future__ import annotations

from dudley.calculus.allocate import power_law
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Verdict
from dudley.theorems.registry import register


def printed(
    score_C: float, inner_C: float, score_weight: float, inner_weight: float, epsilon: float
) -> float:
    γ = score_C ** (1 / 3) * score_weight ** (2 / 3) + inner_C ** (1 / 3) * inner_weight ** (2 / 3)
    return γ**3 / epsilon**2


def derived(
    score_C: float, inner_C: float, score_weight: float, inner_weight: float, epsilon: float
) -> float:
    return power_law([score_C, inner_C], [score_weight, inner_weight], epsilon)[0]


LEMMA_E_1 = register(
    Statement(
        id="trauger2024/lemma-E.1",
        kind="lemma",
        says="The cheapest split of ε between blocks of entropy C_i/ε_i² costs (ΣC_i^⅓β_i^⅔)³/ε².",
        quantity="min C₁/ε₁² + C₂/ε₂² subject to β₁ε₁ + β₂ε₂ = ε",
        inputs=(
            Input("score.C", "C₁"),
            Input("inner.C", "C₂"),
            Input("score.weight", "β₁"),
            Input("inner.weight", "β₂"),
            Input("epsilon"),
        ),
        printed=Form(
            r"\gamma^3/\varepsilon^2,\quad\gamma=\textstyle\sum_iC_i^{1/3}\beta_i^{2/3},"
            r"\quad\varepsilon_i=\tfrac{\varepsilon}{\gamma}(C_i/\beta_i)^{1/3}",
            printed,
        ),
        derived=Form(
            r"\gamma^3/\varepsilon^2\text{; blocks with }C_i\beta_i=0\text{ cost nothing}", derived
        ),
        verdict=Verdict.true(),
        erratum="True; where C_i or β_i is 0 it is an infimum, and that block is dropped.",
        example={
            "score.C": 1.0,
            "inner.C": 8.0,
            "score.weight": 1.0,
            "inner.weight": 2.0,
            "epsilon": 0.5,
        },
    )
)
