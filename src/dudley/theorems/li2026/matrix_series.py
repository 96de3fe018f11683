"""Lemma 6.1: the spectral norm of a matrix Gaussian or Rademacher series (Tropp).

For Z = Σ_k γ_kB_k ∈ R^{d_1×d_2} and v = max(‖E ZZ*‖, ‖E Z*Z‖),

    E‖Z‖ ≤ √(2v log(d_1 + d_2)),   P(‖Z‖ ≥ t) ≤ (d_1 + d_2)e^{−t²/2v}.

For small matrices the trace does better: E‖Z‖² ≤ E‖Z‖_F² ≤ min(d_1, d_2)·v. The tail at a level t
is among the details: the smaller of the lemma's and of Markov's from the trace.

>>> from dudley.theorems.registry import evaluate
>>> values = {"T": 1, "d": 1, "tail.nu": 1.0, "truncation": 3.0}  # one Gaussian: E|g| = 0.798
>>> [round(evaluate("li2026/lemma-6.1", values, f).value, 3) for f in ("printed", "derived")]
[1.177, 1.0]
>>> round(evaluate("li2026/lemma-6.1", values).details["tail"], 4)
0.0222
"""

from __future__ import annotations

import math

from dudley.core.bound import Bound, Sense
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Verdict
from dudley.theorems.li2026.tails import SubGaussianTail
from dudley.theorems.registry import register


def printed(T: float, d: float, tail_nu: float) -> float:
    return tail_nu * math.sqrt(2 * math.log(T + d))


def derived(T: float, d: float, tail_nu: float, truncation: float) -> Bound:
    """The smaller of the two means; beside it the tail, if a level is given."""
    by_trace = tail_nu * math.sqrt(min(T, d))
    value = min(printed(T, d, tail_nu), by_trace)
    details = {}
    if truncation < math.inf:
        markov = (by_trace / truncation) ** 2 if truncation > by_trace else 1.0
        details["tail"] = min(SubGaussianTail(T, d, tail_nu).probability(truncation), markov)
    return Bound.of(value, quantity="", sense=Sense.EXPECTATION, details=details)


LEMMA_6_1 = register(
    Statement(
        id="li2026/lemma-6.1",
        kind="lemma",
        says="The spectral norm of a matrix series is of the order of its matrix deviation.",
        quantity="E‖Z‖ of a d₁×d₂ Gaussian or Rademacher series",
        inputs=(
            Input("T", "rows d₁", aliases=("d1",)),
            Input("d", "columns d₂", aliases=("d2",)),
            Input("tail.nu", "√v(Z), the root of the matrix variance statistic"),
            Input("truncation", "level t of the tail P(‖Z‖ ≥ t); none if not given", math.inf),
        ),
        printed=Form(r"\sqrt{2v\log(d_1+d_2)}", printed, Sense.EXPECTATION),
        derived=Form(
            r"\min\bigl\{\sqrt{2v\log(d_1+d_2)},\ \sqrt{v\min(d_1,d_2)}\bigr\}",
            derived,
            Sense.EXPECTATION,
        ),
        verdict=Verdict.true(),
        erratum="True, for the spectral norm and with v in the exponent, not v².",
        example={"T": 20, "d": 64, "tail.nu": 1.0, "truncation": 5.0},
    )
)
