"""Lemma A.8: how to share a resolution between blocks with covers C/ε².

>>> from dudley.theorems.registry import evaluate
>>> values = {"score.C": 1.0, "inner.C": 8.0, "score.weight": 1.0, "inner.weight": 1.0,
...           "epsilon": 1.0}
>>> round(evaluate("edelman2021/lemma-A.8", values).value, 9)
27.0
"""

from __future__ import annotations

from dudley.calculus.allocate import power_law
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Verdict
from dudley.theorems.edelman2021.common import RESOLUTION
from dudley.theorems.registry import register

LATEX = (
    r"\min_{\sum\beta_ix_i=\varepsilon}\sum_i\alpha_i/x_i^2=\gamma^3/\varepsilon^2,\quad"
    r"\gamma=\sum_i\alpha_i^{1/3}\beta_i^{2/3}"
)


def shared(
    score_C: float,
    inner_C: float,
    score_weight: float,
    inner_weight: float,
    H: float,
    epsilon: float,
) -> float:
    """The minimum for H pairs of blocks, by the calculus."""
    copies = int(H)
    return power_law(
        [score_C] * copies + [inner_C] * copies,
        [score_weight] * copies + [inner_weight] * copies,
        epsilon,
    )[0]


def closed(
    score_C: float,
    inner_C: float,
    score_weight: float,
    inner_weight: float,
    H: float,
    epsilon: float,
) -> float:
    γ = score_C ** (1 / 3) * score_weight ** (2 / 3) + inner_C ** (1 / 3) * inner_weight ** (2 / 3)
    return (H * γ) ** 3 / epsilon**2


register(
    Statement(
        id="edelman2021/lemma-A.8",
        kind="lemma",
        says="The best split of a resolution between blocks; here H pairs of two kinds.",
        quantity="smallest total Σ α_i/x_i² under Σ β_i x_i = ε",
        inputs=(
            Input("score.C", "α of the first kind"),
            Input("inner.C", "α of the second kind"),
            Input("score.weight", "β of the first kind"),
            Input("inner.weight", "β of the second kind"),
            Input("H", "how many blocks of each kind", default=1.0),
            RESOLUTION,
        ),
        printed=Form(LATEX, closed),
        derived=Form(LATEX, shared),
        verdict=Verdict.true(),
        erratum="True, for x_i > 0; at α_i = 0 or β_i = 0 the minimum is approached.",
        example={
            "score.C": 1.0,
            "inner.C": 8.0,
            "score.weight": 1.0,
            "inner.weight": 1.0,
            "H": 1,
            "epsilon": 1.0,
        },
    )
)
