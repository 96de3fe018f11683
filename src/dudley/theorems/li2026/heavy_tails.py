"""Theorems 6.9, 6.10 and 6.11: rank-based bounds for heavy-tailed inputs and robust losses.

The printed bounds are those of Theorems B.4, B.5 and 5.8 with the level M for the token norm in
N_rank (B_X stays in the factor before it) and the bias C_βM^{2−β} added; by appendix C.2 that is
C_β = c·κB_ψ·Cβ/(β − 2), c for what is not named, and c is also the constant C_1 of Assumption 5.7.
They inherit what is wrong in the bounded case. The proof ends, in (26), with a term C_1M^{1−β/2}
that the theorems do not have and that is larger than M^{2−β} for every β > 2; it is not needed.

Derived: :mod:`dudley.theorems.li2026.truncation` for the κB_ψ-Lipschitz loss ψ(αℓ)/α and tokens of
norm ≤ M. The bias is of order M^{1−β} for heads, M^{−β} for layers, and β > 1 suffices.
ψ increases, so a target that is optimal for ℓ at every example is so for the robust loss. Excess
risks and ``class.approximation`` are those of the robust loss.

>>> from dudley.theorems.registry import load
>>> for id in ("li2026/theorem-6.9", "li2026/theorem-6.10", "li2026/theorem-6.11"):
...     it = load()[id]
...     print(id, *(f"{it.evaluate_on(it.example, form).value:.2g}" for form in it.forms))
li2026/theorem-6.9 5.8e-05 0.69 0.19
li2026/theorem-6.10 0.00014 8.8 2.5
li2026/theorem-6.11 0.0048 0.26 0.072
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from dudley.core.assumption import Assumption, Status
from dudley.core.binding import bundled
from dudley.core.bound import Bound, Sense
from dudley.core.errors import InputError
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Repair, Verdict
from dudley.theorems import excess
from dudley.theorems.li2026 import rank_based
from dudley.theorems.li2026.logs import exp
from dudley.theorems.li2026.models import ASSUMPTIONS, HEADS, RESOLUTION, SPECTRAL, of_stack
from dudley.theorems.li2026.rank_models import (
    RANKS,
    SCORES,
    SIZES,
    LowRankLayer,
    LowRankLearning,
    LowRankStack,
)
from dudley.theorems.li2026.ranks import COUNTING, bound_by_log, bound_by_log_log
from dudley.theorems.li2026.robust_loss import POWER, slope
from dudley.theorems.li2026.sub_gaussian import BEST
from dudley.theorems.li2026.tails import PolynomialTail
from dudley.theorems.li2026.truncation import (
    LAYER_ERROR,
    LEVEL,
    PREFACTOR,
    STACK_ERROR,
    TRUNCATED,
    UNBOUNDED,
    error_of_layer,
    error_of_stack,
    for_one_head,
    learn,
)
from dudley.theorems.registry import register
from dudley.theorems.trauger2024.peeling import UNIFORM

Bounded = TypeVar("Bounded", LowRankLayer, LowRankStack)
Rule = Callable[[LowRankLayer | LowRankStack, float], Bound]

TAIL = (
    Input("tail.C", "C with P(‖X‖_F > x) ≤ Cx^{−β}", aliases=("C",)),
    Input("tail.beta", "the tail index β", aliases=("beta",)),
)
CONSTANT = Input("c", "C_1 of Assumption 5.7, and the constant hidden in C_β", 1.0)
INPUTS = (*UNBOUNDED, *SIZES, *RANKS, SCORES, *SPECTRAL, *TAIL, POWER, LEVEL, RESOLUTION, CONSTANT)
ROBUST = Assumption(
    "robust loss", "risks are those of ψ(αℓ)/α, ψ(x) = log(1 + x + x^p/p)", Status.DECLARED
)

TAILS = Assumption("tail", "‖X‖_F has the tail (12) with tail.C and tail.beta", Status.DECLARED)


@dataclass(frozen=True)
class HeavyTailed(LowRankLearning):
    """Matrices of low rank on heavy-tailed inputs, truncated at M, learnt with a robust loss."""

    tail_C: float
    tail_beta: float
    psi_power: float
    truncation: float

    @property
    def B_ψ(self) -> float:
        return slope(self.psi_power)

    @property
    def tail(self) -> PolynomialTail:
        return PolynomialTail(self.tail_C, self.tail_beta)

    def _bounded(self, kind: type[Bounded], **more: float) -> Bounded:
        """The class on inputs of norm ≤ M, with the robust loss's Lipschitz constant."""
        shared = {n: getattr(self, n) for n in kind.__dataclass_fields__ if hasattr(self, n)}
        shared["kappa"] = self.kappa * self.B_ψ
        return kind(**shared, **more, X_op=self.truncation, X_row2inf=self.truncation)

    def layer(self, H: float) -> LowRankLayer:
        return self._bounded(LowRankLayer, H=H)

    def stack(self, L: float) -> LowRankStack:
        return self._bounded(LowRankStack, L=L)

    def printed_bias(self, c: float) -> float:
        """c·κB_ψ·Cβ/(β − 2)·M^{2−β}."""
        β, M = self.tail_beta, self.truncation
        if not β > 2:
            raise InputError("tail.beta", "a number > 2, as Assumption 6.8 has it", β)
        if M == 0:
            raise InputError("truncation", "a number > 0", M)
        return c * self.kappa * self.B_ψ * self.tail_C * (β / (β - 2)) * exp((2 - β) * math.log(M))


def printed_heads(model: HeavyTailed, H: float, X_op: float, resolution: float, c: float) -> float:
    """B_X in the factor, M in N_rank, and the logarithm of N_rank."""
    layer = model.layer(H)
    P = 4 * model.kappa * (model.target_bound + layer.slope * X_op) / model.n
    cover = layer.matrices.layer_cover(model.truncation, H, c)
    rest = model.class_approximation + model.printed_bias(c)
    return bound_by_log_log(cover, P, model.kappa, resolution) + rest


def printed_layers(model: HeavyTailed, L: float, resolution: float, c: float) -> float:
    """M̃_ψ = κB_ψ(B + B_w), and N_rank once."""
    P = 4 * model.kappa * model.B_ψ * (model.target_bound + model.w_l2) / model.n
    cover = model.stack(L).matrices.stack_cover(model.truncation, L, c)
    rest = model.class_approximation + model.printed_bias(c)
    return bound_by_log(cover, P, model.kappa, resolution) + rest


def derived(bounded: LowRankLayer | LowRankStack, error: float) -> Bound:
    return learn(excess.derived, bounded.entropy(COUNTING), bounded.task(bounded.A), error)


def best(bounded: LowRankLayer | LowRankStack, error: float) -> Bound:
    by_all_covers = learn(excess.best, bounded.entropy(UNIFORM), bounded.task(bounded.A), error)
    return excess.smallest([by_all_covers, derived(bounded, error)])


def of_heads(rule: Rule) -> Callable[[HeavyTailed, float], Bound]:
    """``derived`` or ``best`` for H heads."""

    def value(model: HeavyTailed, H: float) -> Bound:
        layer = model.layer(H)
        return rule(layer, error_of_layer(model.tail, model.truncation, layer.slope))

    return value


def of_layers(rule: Rule) -> Callable[[HeavyTailed, float], Bound]:
    """``derived`` or ``best`` for L layers."""

    def value(model: HeavyTailed, L: float) -> Bound:
        return rule(model.stack(L), error_of_stack(model.tail, model.truncation, model.w_l2))

    return value


of = bundled(HeavyTailed, bernstein_V=math.inf)
EXAMPLE = rank_based.EXAMPLE | {"tail.C": 1.0, "tail.beta": 20.0, "truncation": 10.0}
BIAS = r"+C_\beta M^{2-\beta}+8\kappa\delta+\inf_{\mathcal F}\mathcal E,\quad "
C_BETA = r"C_\beta=c\,\kappa B_\psi C\tfrac{\beta}{\beta-2}"
LEARNT = (
    r"4\mathcal R^{\mathrm{off}}_n+3\inf_{\mathcal F}\mathcal E+3\kappa B_\psi\,%s,\quad"
    r"\mathbb P(\|X\|_F>t)\le\min\{1,Ct^{-\beta}\},"
    r"\quad\mathcal R^{\mathrm{off}}_n\text{ by ranks at one scale, on tokens of norm }\le M"
)
NOISE = (
    "Label noise forbids the fast rate: a coin in width 2, with rank bounds 2 and C_1 = 12, "
    "satisfies Assumptions 5.5, 5.7 and (12) and has an excess risk of order n^{−1/2}."
)
LOGARITHM = (
    "N_rank is a sum of log covering numbers, and its logarithm is taken once more; so the claim "
    "is false without noise as well: one row of W_QK, of rank 1, can hold n answers in width "
    "n + 2, with the C_1 = 6(n + 2) that satisfies Assumption 5.7 there. "
)
DIMENSION = (
    "The C_1 of Assumption 5.7 is at least of order d + k (see there): a matrix of rank r counts "
    "r(d + k) parameters. "
)
TRUNCATION = (
    "(26) ends with a term C_1M^{1−β/2} that the theorem does not have and that would dominate; "
    "the second moment behind M^{2−β} is not needed either, since predictions are bounded by the "
    "norm of the input: the bias is of order M^{1−β} for heads and M^{−β} for layers. It enters "
    "through the approximation error and counts three times. "
)
ESTIMATOR = (
    "Assumption 5.5 bounds the inputs almost surely, which a heavy tail excludes. The estimator "
    "(13) sees inputs that are not truncated, while the proof is about truncated ones; derived "
    "here is a bound for the minimiser on truncated inputs, as in (11). "
)
FACTOR = (
    "The factor before the logarithm keeps B_X, where (25) has the bound of the truncated class, "
    "of order M. The estimator is for the robust loss, so the risks must be, too. "
)


def theorem(
    number: str,
    says: str,
    printed: Form,
    rules: tuple[Callable[..., Bound], Callable[..., Bound], str],
    inputs: tuple[Input, ...],
    erratum: str,
    example: dict[str, float],
    repair: Repair = Repair.WEAKER,
) -> Statement:
    """One of the three theorems."""
    by_derived, by_best, error = rules
    return register(
        Statement(
            id=f"li2026/theorem-{number}",
            kind="theorem",
            says=says,
            quantity=excess.QUANTITY,
            inputs=(*INPUTS, *inputs),
            printed=printed,
            derived=Form(LEARNT % error, of(by_derived), Sense.EXPECTATION),
            best=Form(BEST, of(by_best), Sense.EXPECTATION),
            verdict=Verdict.false(repair),
            erratum=erratum + TRUNCATION + ESTIMATOR + NOISE,
            assumptions=(*ASSUMPTIONS, *of_stack(inputs), TRUNCATED, ROBUST, TAILS),
            example=EXAMPLE | example,
            rates={"printed": -1.0, "derived": -1.0, "best": -1.0},
        )
    )


heads = (of_heads(derived), of_heads(best))
THEOREM_6_9 = theorem(
    "6.9",
    "The excess risk of one head on heavy-tailed inputs: log N_rank over n, and a bias.",
    Form(
        r"\frac{4\kappa(B+B_wB_cB_vL_\sigma B_X)}n\bigl(1+\log N_{\mathrm{rank}}(M)\bigr)"
        + BIAS
        + C_BETA,
        of(lambda model, X_op, resolution, c: printed_heads(model, 1.0, X_op, resolution, c)),
        Sense.CONSTANT,
    ),
    (for_one_head(heads[0]), for_one_head(heads[1]), LAYER_ERROR),
    (PREFACTOR,),
    LOGARITHM + DIMENSION + FACTOR,
    {"X.op": 1.0},
)
THEOREM_6_10 = theorem(
    "6.10",
    "The excess risk of H heads on heavy-tailed inputs: log N_rank over n, and a bias.",
    Form(
        r"\frac{4\kappa(B+HB_wB_cB_vL_\sigma B_X)}n\bigl(1+\log N_{\mathrm{rank}}(M)\bigr)"
        + BIAS
        + C_BETA,
        of(printed_heads),
        Sense.CONSTANT,
    ),
    (*heads, LAYER_ERROR),
    (PREFACTOR, HEADS),
    LOGARITHM + DIMENSION + FACTOR,
    {"X.op": 1.0, "H": 4},
)
THEOREM_6_11 = theorem(
    "6.11",
    "The excess risk of L layers on heavy-tailed inputs: N_rank over n, and a bias.",
    Form(
        r"\frac{4\kappa B_\psi(B+B_w)}n\bigl(1+N_{\mathrm{rank}}(M)\bigr)" + BIAS + C_BETA,
        of(printed_layers),
        Sense.CONSTANT,
    ),
    (of_layers(derived), of_layers(best), STACK_ERROR),
    (Input("L"),),
    "N_rank is taken once, as it should be, and the factor does not grow with the level. "
    + DIMENSION,
    {"L": 2},
    repair=Repair.HYPOTHESIS,
)
