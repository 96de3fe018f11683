"""Equation 10: inputs are scaled back to Frobenius norm M; and what learning on them costs.

T_M(X) = X·min(1, M/‖X‖_F) is the nearest point of the ball ‖·‖_F ≤ M, so it moves X by
(‖X‖_F − M)₊ and is 1-Lipschitz.

>>> from dudley.theorems.registry import evaluate
>>> evaluate("li2026/equation-10", {"X.fro": 5.0, "truncation": 2.0}).value
3.0

The minimiser over truncated inputs f̂ ∈ argmin P_nℓ(Y, f(X_M)), evaluated on truncated inputs too,
is a minimiser over {f∘T_M}: tokens have norm ≤ M there, and its approximation error is at most
inf_F exc + T_err with

    T_err = κ sup_f E|f(X) − f(X_M)| ≤ κS(2M·P(‖X‖_F > M) + ∫_M^∞ P(‖X‖_F > t) dt)   (H heads),
                                     ≤ 2κB_w·P(‖X‖_F > M)                             (L layers),

since f(X) = f(X_M) unless ‖X‖_F > M, where |f(X)| + |f(X_M)| is at most S(‖X‖_F + M) or 2B_w,
S = H·B_wB_cB_vL_σ. No Lipschitz constant of attention is needed, and no second moment. So T_err
counts three times where the noise allows a fast rate, once at the slow rate, and once more if f̂
is evaluated on X itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dudley.core.assumption import Assumption, Status
from dudley.core.bound import Bound, Term
from dudley.core.entropy import Entropy
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Verdict
from dudley.theorems.excess import ExcessTask
from dudley.theorems.li2026.models import LEARNING, X_OP
from dudley.theorems.li2026.tails import PolynomialTail, SubGaussianTail
from dudley.theorems.registry import register

LEVEL = Input("truncation", "level M at which inputs are truncated", aliases=("M",))
# The target need not be in the truncated class, so Bernstein's condition is of no use.
UNBOUNDED = tuple(i for i in LEARNING if i.name != "bernstein.V")
TRUNCATED = Assumption(
    "truncated inputs", "the minimiser is trained and evaluated on T_M(X)", Status.DECLARED
)
PREFACTOR = Input(
    X_OP.name,
    "B_X of the printed factor; derived forms use the level instead",
    aliases=X_OP.aliases,
)
LAYER_ERROR = (
    r"S\Bigl(2M\,\mathbb P(\|X\|_F>M)+\int_M^\infty\mathbb P(\|X\|_F>t)\,dt\Bigr)"
    r",\quad S=HB_wB_cB_vL_\sigma"
)
STACK_ERROR = r"2B_w\,\mathbb P(\|X\|_F>M)"


def truncate(X: np.ndarray, M: float) -> np.ndarray:
    """T_M(X) = X·min(1, M/‖X‖_F), over the last two axes.

    >>> truncate(np.array([[3.0, 4.0]]), 2.5).tolist()
    [[1.5, 2.0]]
    """
    norm = np.sqrt((X * X).sum(axis=(-2, -1), keepdims=True))
    return X * np.minimum(1.0, M / np.maximum(norm, 1e-300))


def error_of_layer(tail: SubGaussianTail | PolynomialTail, M: float, slope: float) -> float:
    """sup_f E|f(X) − f(X_M)| for |f(X)| ≤ slope·‖X‖_F."""
    if slope == 0:
        return 0.0
    return slope * (2 * M * tail.probability(M) + tail.beyond(M))


def error_of_stack(tail: SubGaussianTail | PolynomialTail, M: float, B_w: float) -> float:
    """sup_f E|f(X) − f(X_M)| for |f| ≤ B_w."""
    return 2 * B_w * tail.probability(M)


def learn(
    rule: Callable[[Entropy, ExcessTask], Bound], entropy: Entropy, task: ExcessTask, error: float
) -> Bound:
    """The excess risk on truncated inputs: ``rule`` with T_err = κ·error beside inf_F exc."""
    T_err = task.κ * error if task.κ > 0 else 0.0
    both = task.approximation + T_err
    bound = rule(entropy, replace(task, approximation=both))
    *others, approximation = bound.terms
    share = approximation.value / both if 0 < both < math.inf else 1.0
    terms = (
        *others,
        Term("approximation", share * task.approximation),
        Term("truncation", share * T_err, "inputs beyond the level"),
    )
    return replace(bound, terms=terms, details={"truncation_error": T_err})


def for_one_head(value: Callable[..., Bound]) -> Callable[..., Bound]:
    """A form for H heads as one for a single head."""
    return lambda model: value(model, 1.0)


def moved(X_fro: float, truncation: float) -> float:
    return max(X_fro - truncation, 0.0)


EQUATION_10 = register(
    Statement(
        id="li2026/equation-10",
        kind="equation",
        says="Truncation scales an input back to Frobenius norm M.",
        quantity="‖X − T_M(X)‖_F",
        inputs=(Input("X.fro"), LEVEL),
        printed=Form(
            r"\Bigl\|X-M\tfrac X{\|X\|_F}\Bigr\|_F\ \text{if}\ \|X\|_F>M,\ \text{else}\ 0",
            lambda X_fro, truncation: (
                X_fro * (1 - truncation / X_fro) if X_fro > truncation else 0.0
            ),
        ),
        derived=Form(r"(\|X\|_F-M)_+", moved),
        verdict=Verdict.true(),
        erratum="Right: the projection onto the ball of radius M, hence 1-Lipschitz.",
        example={"X.fro": 5.0, "truncation": 2.0},
    )
)
