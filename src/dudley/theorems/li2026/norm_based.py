"""Theorems 5.3, B.1 and B.2: excess risk of L layers, one head and H heads with bounded ‖·‖_{1,1}.

The printed bounds hold log(γ³/δ²) where a log covering number belongs, but γ³/δ² (repaired) is the
log covering number already: one logarithm too many turns n^{−1/3} (one scale) or n^{−1/2} (chained)
into 1/n. One-hot tokens have an excess risk of 1/(2√n) without any noise, and 2^n heads one that
does not fall at all, because γ_SH and γ_MH do not contain B_QK. The examples are wide: there norms
bound the covering numbers, not the number of parameters.

>>> from dudley.theorems.registry import load
>>> for id in ("li2026/theorem-5.3", "li2026/theorem-B.1", "li2026/theorem-B.2"):
...     it = load()[id]
...     values = dict(it.example) | {"n": 1e10}
...     print(id, *(f"{it.evaluate_on(values, form).value:.2g}" for form in it.forms))
li2026/theorem-5.3 5e-08 0.17 0.067
li2026/theorem-B.1 4.4e-08 0.063 0.021
li2026/theorem-B.2 1.1e-07 0.32 0.12
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from dudley.core.binding import Bundled, bundled
from dudley.core.bound import Bound, Sense
from dudley.core.magnitude import Magnitude
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Repair, Verdict
from dudley.theorems import excess
from dudley.theorems.li2026.gammas import Bounds, printed_excess, γ_MH, γ_ML
from dudley.theorems.li2026.models import (
    ASSUMPTIONS,
    HEADS,
    LEARNING,
    PROJECTION,
    RESOLUTION,
    SIGMA,
    X_OP,
    Learning,
)
from dudley.theorems.li2026.norm_models import Class, heads, layers
from dudley.theorems.registry import register

NORMS = (
    Input("d"),
    Input("k"),
    Input("T", "tokens per example; any number if not given", math.inf),
    Input("W_QK.l11", aliases=("B_QK",)),
    Input("W_v.l11", aliases=("B_v",)),
    Input("W_c.l11", aliases=("B_c",)),
    Input("w.l2", aliases=("B_w",)),
    Input("w.l1", "ℓ1 norm of w, where one is known", math.inf),
    SIGMA,
    Input("X.row2inf", "largest ℓ2 norm of a token ([CLS] or not)", aliases=("B_x",)),
    RESOLUTION,
)


@dataclass(frozen=True)
class NormClass(Learning):
    """Abstract: a class with ‖·‖_{1,1} bounds (assumption 5.1), on inputs of whatever norm."""

    d: float
    k: float
    T: float
    W_QK_l11: float
    W_v_l11: float
    W_c_l11: float
    w_l2: float
    w_l1: float
    sigma_lipschitz: float
    resolution: float

    def printed_A(self, H: float, X_op: float) -> float:
        """The bound on predictions of H heads as printed, HB_wB_cB_vL_σB_X."""
        return H * self.w_l2 * self.W_c_l11 * self.W_v_l11 * self.sigma_lipschitz * X_op


@dataclass(frozen=True)
class NormBased(NormClass):
    """Such a class on tokens of norm ≤ B_x."""

    X_row2inf: float

    @property
    def bounds(self) -> Bounds:
        norms = (self.W_QK_l11, self.W_v_l11, self.W_c_l11, self.w_l2, self.sigma_lipschitz)
        return Bounds(*norms, self.w_l1)

    @property
    def C_1(self) -> float:
        """log(2dk + 1), as Lemma B.3 has it."""
        return math.log(2 * self.d * self.k + 1)

    def printed(self, A: float, γ: Magnitude) -> float:
        return printed_excess(self, A, γ, self.resolution)

    def derived(self, network: Class) -> Bound:
        """Maurey's covers for matrices and the best one for w, at one scale where that is sound."""
        return excess.derived(network.entropy("own"), self.task(network.A))

    def best(self, network: Class) -> Bound:
        """Every cover and every rule; the direct arguments with covers of uniform scope."""
        task = self.task(network.A)
        bounds = [self.derived(network), excess.best(network.entropy("all"), task)]
        uniform = network.entropy("uniform")
        if not excess.nothing(uniform, task):
            bounds += [excess.directly(uniform, task, route) for route in task.routes]
        return excess.smallest(bounds)


def single_layer(model: NormBased, H: float = 1.0, X_op: float = math.inf) -> Class:
    """H heads; no token is longer than ‖X‖_op."""
    B_x = min(model.X_row2inf, X_op)
    return Class(heads(model.d, model.k, model.bounds, H), model.d, B_x, model.T)


def multi_layer(model: NormBased, L: float) -> Class:
    return Class(layers(model.d, model.k, model.bounds, L), model.d, model.X_row2inf, model.T)


def printed_heads(model: NormBased, H: float, X_op: float) -> float:
    γ = γ_MH(model.bounds, model.C_1, model.X_row2inf, H)
    return model.printed(model.printed_A(H, X_op), γ)


def printed_layers(model: NormBased, L: float) -> float:
    return model.printed(model.w_l2, γ_ML(model.bounds, model.C_1, model.X_row2inf, L))


of = bundled(NormBased)
RATES = {"printed": -1.0, "derived": -1 / 3, "best": -1 / 2}
ONCE = (
    "γ³/δ² is meant as the log covering number, and the theorem takes its logarithm once more: "
    "this alone makes the rate 1/n. With one logarithm the bound is 4M·Γ/(nδ²) + 8κδ, of order "
    "n^{−1/3}, or n^{−1/2}·log n when chained. (Only past n of order dk, where counting "
    "parameters is the better cover, does a 1/n appear, with dk·log n for its constant.) "
)
LOST = (
    "On the way to γ most of the factors B_j² of (14) are lost, that of W_QK always; radii of "
    "hidden rows are missing, and C_1 = log(2dk+1) grows with the widths (W_QK is d×d). w lies in "
    "an ℓ2 ball, which the lemma does not cover: here it is covered by perceptrons or volumes, or "
    "by Maurey's lemma if w.l1 is given. "
)
OTHERS = (
    "As in Theorem 4.4, the approximation error counts three times and label noise forbids the "
    "fast rate."
)
DERIVED = (
    r"\min_\delta\frac{4M}{n}\min_{\sum\beta_i\varepsilon_i\le\delta}\Bigl[\sum_i\log D\bigl(p_i,"
    r"\lceil B_i^2/\varepsilon_i^2\rceil-1\bigr)+\log N_w(\varepsilon_w)\Bigr]+8\kappa\delta"
    r"+3\inf_{\mathcal F}\mathcal E\ \text{(noise-free)},\quad M=\kappa(B+A)"
)
BEST = r"\text{the smallest of all covers, one scale or chained, fast or slow, and }M"
EXAMPLE = {
    "n": 1e9,
    "kappa": 1.0,
    "target.bound": 1.0,
    "noise.free": 1,
    "d": 2**20,
    "k": 2**20,
    "W_QK.l11": 1.0,
    "W_v.l11": 1.0,
    "W_c.l11": 1.0,
    "w.l2": 1.0,
    "sigma.lipschitz": 1.0,
    "X.row2inf": 1.0,
}

THEOREM_5_3 = register(
    Statement(
        id="li2026/theorem-5.3",
        kind="theorem",
        says="The excess risk of L layers with bounded ‖·‖_{1,1} falls like log(γ³n²)/n.",
        quantity=excess.QUANTITY,
        inputs=(*LEARNING, *NORMS, Input("L")),
        printed=Form(
            r"\frac{4\kappa(B+B_w)}n\Bigl(1+\log\frac{(\gamma+\eta)^3}{\delta^2}\Bigr)+8\kappa\delta"
            r"+\inf_{\mathcal F}\mathcal E,\quad\gamma=C_1^{1/3}(2L_\sigma B_cB_v\alpha_1B_wB_x^2)"
            r"^{2/3}+C_1^{1/3}B_x^{2/3}\bigl(1+(\alpha_1B_w)^{2/3}+(\alpha_1B_wL_\sigma B_v)^{2/3}"
            r"\bigr),\quad\eta=C_1^{1/3}B_w^{2/3}\sum_{i\ge2}\bigl(\alpha_i^{2/3}"
            r"+(2\alpha_iL_\sigma B_cB_v)^{2/3}+(\alpha_iL_\sigma B_v)^{2/3}\bigr),"
            r"\quad\alpha_i=\textstyle\prod_{j=i}^LL_\sigma B_cB_v(1+4B_{QK}),\ C_1=\log(2dk+1)",
            of(printed_layers),
            Sense.EXPECTATION,
        ),
        derived=Form(
            DERIVED,
            of(lambda model, L: model.derived(multi_layer(model, L))),
            Sense.EXPECTATION,
        ),
        best=Form(
            BEST,
            of(lambda model, L: model.best(multi_layer(model, L))),
            Sense.EXPECTATION,
        ),
        verdict=Verdict.false(Repair.WEAKER),
        erratum=ONCE
        + "One-hot tokens have an excess risk of 1/(2√n) without noise, at B_v = B_c = 2n and "
        "other norms at most 1: no bound with B_v and B_c in a logarithm only beats n^{−1/2}. "
        + LOST
        + "The product α_i starts at i in the statement and at i + 1 in the proof; the last term "
        "of τ_i has B_v for B_c; in the block (5) σ acts twice, so L_σ² is due. " + OTHERS,
        assumptions=(*ASSUMPTIONS, PROJECTION),
        example=EXAMPLE | {"L": 2},
        rates=RATES,
    )
)


def single(
    number: str,
    says: str,
    M: str,
    γ: str,
    more: str,
    inputs: tuple[Input, ...],
    example: dict[str, float],
    one_head: bool,
) -> Statement:
    """Theorem B.1 or B.2."""

    def value(form: Callable[[NormBased, float, float], Bound | float]) -> Bundled:
        if one_head:
            return of(lambda model, X_op: form(model, 1.0, X_op))
        return of(lambda model, H, X_op: form(model, H, X_op))

    return register(
        Statement(
            id=f"li2026/theorem-{number}",
            kind="theorem",
            says=says,
            quantity=excess.QUANTITY,
            inputs=(*LEARNING, *NORMS, X_OP, *inputs),
            printed=Form(
                rf"\frac{{4\kappa(B+{M})}}n\Bigl(1+\log\frac{{\gamma^3}}{{\delta^2}}\Bigr)"
                rf"+8\kappa\delta+\inf_{{\mathcal F}}\mathcal E,\quad\gamma=C_1^{{1/3}}"
                rf"B_x^{{2/3}}\bigl[{γ}\bigr],\ C_1=\log(2dk+1)",
                value(printed_heads),
                Sense.EXPECTATION,
            ),
            derived=Form(
                DERIVED,
                value(lambda model, H, X_op: model.derived(single_layer(model, H, X_op))),
                Sense.EXPECTATION,
            ),
            best=Form(
                BEST,
                value(lambda model, H, X_op: model.best(single_layer(model, H, X_op))),
                Sense.EXPECTATION,
            ),
            verdict=Verdict.false(Repair.WEAKER),
            erratum=ONCE + LOST + more + OTHERS,
            assumptions=ASSUMPTIONS,
            example=EXAMPLE | {"X.op": 1.0} | example,
            rates=RATES,
        )
    )


THEOREM_B_1 = single(
    "B.1",
    "The excess risk of one head with bounded ‖·‖_{1,1} falls like log(γ³n²)/n.",
    r"B_wB_cB_vL_\sigma B_X",
    r"(B_wL_\sigma)^{2/3}+2(B_wL_\sigma B_cB_v)^{2/3}+1",
    "Scores need B_x² more. Since B_QK is absent, 2^n heads whose scores tell n inputs apart have "
    "an excess risk above ½. ",
    (),
    {},
    True,
)
THEOREM_B_2 = single(
    "B.2",
    "The excess risk of H heads with bounded ‖·‖_{1,1} falls like log(γ³n²)/n.",
    r"HB_wB_cB_vL_\sigma B_X",
    r"(HB_wL_\sigma)^{2/3}+2(HB_wL_\sigma B_cB_v)^{2/3}+H^{2/3}",
    "Scores need B_x² more. H heads have H sets of matrices, whose covers multiply: γ_MH grows "
    "like H (log-cover H³), not like H^{2/3}; only w is shared. ",
    (HEADS,),
    {"H": 4},
    False,
)
