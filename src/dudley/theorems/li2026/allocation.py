"""Corollary 5.6: the best split of a resolution between blocks of logarithmic entropy.

Each block costs r_iC_i log(r_iB_X²/ε_i²), and 0 from ε_i = √r_i·B_X on: no log covering number is
negative. Without that cap the minimiser is ε_i = εr_iC_i/(β_iS), S = Σr_jC_j, as the paper's
eq. (20) has it, and the value is Σ r_iC_i log(b_i²/ε²) with

    b_i = B_X β_i S/(√r_i·C_i),

while the paper prints its own b_i = √(B_Xβ_iS/(r_iC_i)). Stated for two blocks here;
:func:`least_value` takes any number.

>>> from dudley.theorems.registry import evaluate
>>> values = {"score.rank": 1, "score.C": 0.5, "score.weight": 1.0}
>>> values |= {"inner.rank": 2, "inner.C": 0.5, "inner.weight": 3.0}
>>> values |= {"X.op": 2.0, "epsilon": 0.1}
>>> forms = ("printed", "derived")
>>> [round(evaluate("li2026/corollary-5.6", values, form).value, 4) for form in forms]
[10.0009, 13.7871]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Repair, Verdict
from dudley.theorems.li2026.logs import log
from dudley.theorems.registry import register


def capped(p: Sequence[float] | np.ndarray, log_reach: Sequence[float] | np.ndarray) -> float:
    """min Σ 2p_i log⁺(ρ_i/ε_i) subject to Σβ_iε_i = ε; ``log_reach`` is log(β_iρ_i/ε).

    With λ the multiplier, block i takes β_iε_i/ε = min(a_i, μp_i), a_i = β_iρ_i/ε, μ = 1/λ. Blocks
    with small a_i/p_i take all they can use; the others share what is left in proportion to p_i.

    >>> round(capped([1.0, 3.0], [0.0, 0.0]), 6)  # ε_i = p_i/4
    4.498681
    >>> round(capped([1.0, 1.0], [math.log(0.1), 0.0]), 6)  # the first at its cap, 2 log(1/0.9)
    0.210721
    """
    p, log_a = np.asarray(p, dtype=float), np.asarray(log_reach, dtype=float)
    p, log_a = p[counts := (p > 0) & (log_a > -math.inf)], log_a[counts]
    log_t = log_a - np.log(p)  # blocks are capped in this order
    order = np.argsort(log_t)
    p, log_a, log_t = p[order], log_a[order], log_t[order]
    left = 1.0  # of the budget
    for j in range(len(p)):
        log_μ = math.log(left) - math.log(p[j:].sum())
        if log_t[j] >= log_μ:
            return float(2 * (p[j:] * (log_t[j:] - log_μ)).sum())
        left -= math.exp(log_a[j])
        if left <= 0:  # by rounding: the rest costs nothing
            break
    return 0.0


def printed_value(
    r: Sequence[float], C: Sequence[float], β: Sequence[float], B_X: float, ε: float
) -> float:
    """Σ r_iC_i log(b_i²/ε²) as printed, over the blocks with r_iC_iβ_iB_X > 0."""
    S = sum(r_i * C_i for r_i, C_i in zip(r, C, strict=True))
    value = 0.0
    for r_i, C_i, β_i in zip(r, C, β, strict=True):
        if r_i * C_i > 0 and β_i > 0 and B_X > 0:
            log_b2 = log(B_X, β_i, S) - log(r_i, C_i)
            value += r_i * C_i * (log_b2 - 2 * math.log(ε))
    return value


def least_value(
    r: Sequence[float], C: Sequence[float], β: Sequence[float], B_X: float, ε: float
) -> float:
    """The minimum itself, for any number of blocks."""
    reach = [log(β_i, B_X) + 0.5 * log(r_i) - math.log(ε) for r_i, β_i in zip(r, β, strict=True)]
    return capped(np.asarray(r, dtype=float) * np.asarray(C, dtype=float), reach)


def of_two(value: Callable[..., float]) -> Callable[..., float]:
    """A form for two blocks."""

    def form(
        score_rank: float,
        score_C: float,
        score_weight: float,
        inner_rank: float,
        inner_C: float,
        inner_weight: float,
        X_op: float,
        epsilon: float,
    ) -> float:
        r, C, β = (score_rank, inner_rank), (score_C, inner_C), (score_weight, inner_weight)
        return value(r, C, β, X_op, epsilon)

    return form


COROLLARY_5_6 = register(
    Statement(
        id="li2026/corollary-5.6",
        kind="corollary",
        says="The cheapest split of ε between blocks of entropy r_iC_i log(r_iB_X²/ε_i²).",
        quantity="min Σ r_iC_i log⁺(r_iB_X²/ε_i²) subject to β₁ε₁ + β₂ε₂ = ε",
        inputs=(
            Input("score.rank", "r₁"),
            Input("score.C", "C₁"),
            Input("score.weight", "β₁"),
            Input("inner.rank", "r₂"),
            Input("inner.C", "C₂"),
            Input("inner.weight", "β₂"),
            Input("X.op", aliases=("B_X",)),
            Input("epsilon"),
        ),
        printed=Form(
            r"\sum_ir_iC_i\log(b_i^2/\varepsilon^2),\quad "
            r"b_i=\frac{(B_X\beta_i\sum_jr_jC_j)^{1/2}}{r_i^{1/2}C_i^{1/2}}",
            of_two(printed_value),
        ),
        derived=Form(
            r"\sum_ir_iC_i\log(b_i^2/\varepsilon^2),\quad "
            r"b_i=\frac{B_X\beta_i\sum_jr_jC_j}{\sqrt{r_i}\,C_i},\quad"
            r"\text{where every log is }\ge0\text{; blocks are capped at }"
            r"\varepsilon_i=\sqrt{r_i}B_X\text{ otherwise}",
            of_two(least_value),
        ),
        verdict=Verdict.false(Repair.SYMBOL),
        erratum=(
            "The split of eq. (20) is right, the value is not: put into the sum it gives "
            "b_i = B_Xβ_i ΣrC/(√r_i·C_i), where the corollary prints the square root of "
            "B_Xβ_i ΣrC/(r_iC_i). Where the former exceed 1 (r_i ≥ 1) the printed value is below "
            "the minimum. A logarithm that comes out negative must count as 0, and its block gives "
            "back what it does not need. Blocks with r_iC_iβ_iB_X = 0 cost nothing."
        ),
        also=("equation-20",),
        example={
            "score.rank": 1.0,
            "score.C": 0.5,
            "score.weight": 1.0,
            "inner.rank": 2.0,
            "inner.C": 0.5,
            "inner.weight": 3.0,
            "X.op": 2.0,
            "epsilon": 0.1,
        },
    )
)
