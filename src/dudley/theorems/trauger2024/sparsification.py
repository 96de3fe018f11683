"""Lemma 3.1: a convex combination is close to an average of few of its atoms (Maurey).

The printed error (γ²b² − ‖f‖²)/K would belong to the average (γ/K) Σ k_i V_i. For the printed
average (1/K) Σ k_i V_i with Σ k_i ≤ K, draw K atoms independently, V_i with probability α_i and 0
with probability 1 − γ: the mean is f and the mean squared error (Σ α_i‖V_i‖² − ‖f‖²)/K, at most
(γb² − ‖f‖²)/K. The empty average is also at hand, so the error is never above ‖f‖².

The number of tuples with Σ k_i ≤ K is C(d+K, K) ≤ (d+1)^K, more than the d^K in the paper.

>>> from dudley.theorems.registry import evaluate
>>> half = {"d": 1, "terms": 1, "combination.mass": 0.5, "combination.norm2": 0.5, "atoms.norm2": 1}
>>> [evaluate("trauger2024/lemma-3.1", half, form).value for form in ("printed", "derived")]
[0.0, 0.25]
"""

from __future__ import annotations

import math

from dudley.core.bound import Bound, Sense
from dudley.core.errors import InputError
from dudley.core.rounding import up
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Extent, Repair, Verdict
from dudley.theorems.registry import register


def checked(terms: float, γ: float, f: float, b: float) -> None:
    """The hypotheses: an integer K ≥ 1, γ ≤ 1, and ‖f‖ ≤ γb, which follows from f = Σ α_i V_i."""
    if terms < 1 or terms != int(terms):
        raise InputError("terms", "an integer ≥ 1", terms)
    if γ > 1:
        raise InputError("combination.mass", "a number in [0, 1]", γ)
    if f > up(γ * b):
        raise InputError("combination.norm2", f"at most γb = {γ * b:g}", f)


def with_count(value: float, log_tuples: float) -> Bound:
    """The squared error, and beside it the log of the number of averages."""
    facts = {"quantity": "", "sense": Sense.SURELY, "details": {"log_tuples": log_tuples}}
    return Bound.of(value, **facts)


def printed(
    d: float, terms: float, combination_mass: float, combination_norm2: float, atoms_norm2: float
) -> Bound:
    checked(terms, combination_mass, combination_norm2, atoms_norm2)
    error = ((combination_mass * atoms_norm2) ** 2 - combination_norm2**2) / terms
    return with_count(error, terms * math.log(d))


def derived(
    d: float, terms: float, combination_mass: float, combination_norm2: float, atoms_norm2: float
) -> Bound:
    checked(terms, combination_mass, combination_norm2, atoms_norm2)
    f = combination_norm2**2
    spread = max(0.0, combination_mass * atoms_norm2**2 - f)
    tuples = math.lgamma(d + terms + 1) - math.lgamma(terms + 1) - math.lgamma(d + 1)
    return with_count(min(f, spread / terms), tuples)


LEMMA_3_1 = register(
    Statement(
        id="trauger2024/lemma-3.1",
        kind="lemma",
        says="A convex combination of atoms is near an average of K of them (Maurey).",
        quantity="squared distance of f = Σ α_i V_i from averages (1/K) Σ k_i V_i, Σ k_i ≤ K",
        inputs=(
            Input("d", "number of atoms"),
            Input("terms", "K, the number of terms", aliases=("k", "K")),
            Input("combination.mass", aliases=("gamma",)),
            Input("combination.norm2"),
            Input("atoms.norm2", aliases=("b",)),
        ),
        printed=Form(r"\frac{\gamma^2b^2-\|f\|^2}{K},\qquad\#\{(k_i)\}\le d^K", printed),
        derived=Form(
            r"\min\Bigl\{\|f\|^2,\frac{\gamma b^2-\|f\|^2}{K}\Bigr\},"
            r"\qquad\#\{(k_i)\}=\tbinom{d+K}{K}",
            derived,
        ),
        verdict=Verdict.false(Repair.CONSTANT, Extent.EDGE),
        erratum=(
            "For γ < 1 the error of the average (1/K) Σ k_i V_i is bounded with γb², not γ²b²: "
            "with one atom V = 1, f = 1/2 and K = 1 the best average is off by 1/2 while the "
            "formula gives 0. The tuples with Σ k_i ≤ K number C(d+K, K) ≤ (d+1)^K, not d^K. "
            "Lemmas 3.3 and 3.6 do not suffer: their counts already carry the +1."
        ),
        example={
            "d": 64,
            "terms": 4,
            "combination.mass": 0.5,
            "combination.norm2": 0.25,
            "atoms.norm2": 1.0,
        },
    )
)
