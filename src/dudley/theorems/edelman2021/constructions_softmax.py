"""Lemma B.7: softmax ignores tokens that score much less.

>>> from dudley.theorems.registry import evaluate
>>> values = {"T": 100, "s": 3, "score.gap": 8.0}
>>> [round(evaluate("edelman2021/lemma-B.7", values, f).value, 6) for f in ("printed", "derived")]
[0.021693, 0.02146]
"""

from __future__ import annotations

import math

from dudley.core.assumption import Assumption, Status
from dudley.core.errors import InputError
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Verdict
from dudley.theorems.registry import register


def outside(T: float, s: float, gap: float) -> float:
    """(T−s)e^{−gap}/s."""
    if s > T:
        raise InputError("s", f"at most T = {T:g}", s)
    return (T - s) / s * math.exp(-gap)


def sharp(T: float, s: float, score_gap: float) -> float:
    """2x/(1+x): twice the mass outside, largest when all scores stand at their bounds."""
    x = outside(T, s, score_gap)
    return 2 * x / (1 + x)


LEMMA_B_7 = register(
    Statement(
        id="edelman2021/lemma-B.7",
        kind="lemma",
        says="Cutting off T − s tokens that score R less moves the softmax by 2(T−s)/(se^R).",
        quantity="ℓ1 change of the softmax when the other tokens are cut off",
        inputs=(
            Input("T", "tokens, [CLS] among them"),
            Input("s", "tokens that are kept"),
            Input("score.gap"),
        ),
        printed=Form(
            r"2\frac{T-s}{s\,e^R}",
            lambda T, s, score_gap: 2 * outside(T, s, score_gap),
        ),
        derived=Form(r"\frac{2x}{1+x},\quad x=\frac{T-s}{s\,e^R}", sharp),
        verdict=Verdict.true(),
        erratum=(
            "True; 2x/(1+x) is exact. With the [CLS] token the count is T + 1 − s. It compares "
            "with the softmax restricted to the kept tokens, which is uniform only if their "
            "scores are. In the definition of z′ the second case is printed with z_t for z′_t."
        ),
        example={"T": 100, "s": 3, "score.gap": 8.0},
        assumptions=(
            Assumption(
                "scores", "at least R on the kept tokens, at most 0 elsewhere", Status.DECLARED
            ),
        ),
    )
)
