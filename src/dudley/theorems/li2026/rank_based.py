"""Assumption 5.5 and Theorems B.4, B.5 and 5.8: excess risk of heads and layers of low rank.

The idea is right: matrices of low rank have parametric entropy, p·log(1/ε), and that gives log n/n
where the noise allows it. But p counts r(d + k) parameters a matrix, so the C_1 of Assumption 5.7
is of order d + k (``rank_covers.py``); Theorems B.4 and B.5 take the logarithm of what is a log
covering number already; and what section 4 lacks (noise, the factor 3) is lacking here.

The class of derived forms: W_QK ∈ R^{d×d}, W_v ∈ R^{d×k} and W_c ∈ R^{k×d} of the given ranks and
spectral norms, ‖w‖₂ ≤ B_w, any number of tokens of norm ≤ B_x. Covers by volume and by low-rank
factors, one scale as in the paper: rate log n/n if the noise is known to allow it.

>>> from dudley.theorems.registry import evaluate, load
>>> ids = ["li2026/theorem-5.8", "li2026/theorem-B.4", "li2026/theorem-B.5"]
>>> for it in (load()[id] for id in ids):
...     print(*(f"{it.evaluate_on(it.example, form).value:.4f}" for form in it.forms))
0.0045 0.2240 0.0631
0.0001 0.1095 0.0309
0.0001 0.9559 0.2715

A target of norm B and a class bounded by A give |g| ≤ κ(A + B). Under Assumption 5.5 alone A would
be infinite, since it bounds ranks and no norm of a matrix:

>>> norms = {"W_v.op": 1.0, "W_c.op": 2.0, "w.l2": 3.0, "sigma.lipschitz": 1.0}
>>> values = norms | {"X.op": 8.0, "X.row2inf": 1.0}
>>> [evaluate("li2026/assumption-5.5", values, form).value for form in ("printed", "derived")]
[48.0, 6.0]
"""

from __future__ import annotations

from dudley.core.binding import Bundling, bundled
from dudley.core.bound import Bound, Sense
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Repair, Verdict
from dudley.theorems import excess
from dudley.theorems.li2026.models import (
    ASSUMPTIONS,
    HEADS,
    LEARNING,
    RESOLUTION,
    SPECTRAL,
    TOKENS,
    X_OP,
    of_stack,
)
from dudley.theorems.li2026.rank_models import CLASS, LowRankLayer, LowRankStack
from dudley.theorems.li2026.ranks import COUNTING, bound_by_log, bound_by_log_log
from dudley.theorems.registry import register
from dudley.theorems.trauger2024.peeling import UNIFORM

CONSTANT = Input("c", "C_1 of Assumption 5.7, for every matrix", 1.0)
RATES = {"printed": -1.0, "derived": -1.0, "best": -1.0}


def printed_layer(model: LowRankLayer, resolution: float, c: float) -> float:
    """B_X in the prefactor, B_x in N_rank, and the logarithm of N_rank."""
    P = 2 * model.twice_M(model.printed_A) / model.n
    cover = model.matrices.layer_cover(model.R, model.H, c)
    return bound_by_log_log(cover, P, model.kappa, resolution) + model.class_approximation


def printed_stack(model: LowRankStack, resolution: float, c: float) -> float:
    P = 2 * model.twice_M(model.w_l2) / model.n
    cover = model.matrices.stack_cover(model.X_op, model.L, c)
    return bound_by_log(cover, P, model.kappa, resolution) + model.class_approximation


def derived(model: LowRankLayer | LowRankStack) -> Bound:
    return excess.derived(model.entropy(COUNTING), model.task(model.A))


def best(model: LowRankLayer | LowRankStack) -> Bound:
    by_all_covers = excess.best(model.entropy(UNIFORM), model.task(model.A))
    return excess.smallest([by_all_covers, derived(model)])


DIMENSION = (
    "The C_1 of Assumption 5.7 is at least of order d + k (see there): a matrix of rank r counts "
    "r(d + k) parameters. "
)
NOISE = (
    "As in section 4, label noise forbids the rate without a condition such as Bernstein's: a coin "
    "in width 2, with rank bounds 2 and C_1 = 12, satisfies both assumptions for every n and has "
    "an excess risk of order n^{−1/2}. The approximation error counts three times. "
)
LOG_LOG = (
    "N_rank is a sum of log covering numbers: the logarithm of N_rank is not one. With the "
    "logarithm the claim is false without noise as well, for one-hot inputs in width 2n with the "
    "C_1 = 12n that satisfies Assumption 5.7 there. "
)
RADII = (
    "The weight B_c of w should be 1, on inputs of norm L_σB_cB_vB_x; the norms B_W are missing in "
    "the logarithms, and W_QK needs a factor B_x² more. "
)
REPAIR = (
    "Repaired: 4M log N(δ)/n + 8κδ + 3 inf where the target is optimal at every example, with "
    "log N(δ) a sum over all matrices of r(d + k) log(1 + O(1/δ)); this is O(log n/n) for a fixed "
    "architecture."
)
DERIVED = (
    r"\min_\delta\frac{4M}n\log N(\delta)+8\kappa\delta+3\inf\mathcal E\ \text{(noise-free)},"
    r"\quad\log N(\delta)=\min_{\sum_j\beta_j\varepsilon_j\le\delta}\sum_j"
    r"r_ja_j\log\bigl(1+\tfrac{2B_j(a_j+b_j)}{\varepsilon_ja_j}\bigr)"
    r"+r_jb_j\log\bigl(1+\tfrac{2B_j(a_j+b_j)}{\varepsilon_jb_j}\bigr)"
    r",\quad W_j\in\mathbb R^{a_j\times b_j}\text{; or }a_jb_j\log(1+2B_j/\varepsilon_j)"
    r"\text{ where smaller}"
)
BEST = r"\text{the smallest of all covers of uniform scope and of all rules}"
PREFACTOR = r"\frac{4\kappa(B+%sB_wB_cB_vL_\sigma B_X)}n\bigl(1+\log N_{\mathrm{rank}}\bigr)"
N_RANK = (
    r"+8\kappa\delta+\inf\mathcal E,\quad N_{\mathrm{rank}}=1+\sum_jr_jC_1"
    r"\log(r_jB_x^2/\varepsilon_j^2),\quad\varepsilon_j=\frac{\delta r_j}{\beta_j\sum_ir_i},\quad"
)
EXAMPLE = {
    "n": 1_000_000,
    "kappa": 1.0,
    "target.bound": 1.0,
    "noise.free": 1,
    "d": 64,
    "k": 64,
    "r_QK": 2,
    "r_v": 4,
    "r_c": 4,
    "W_QK.op": 1.0,
    "W_v.op": 1.0,
    "W_c.op": 1.0,
    "w.l2": 1.0,
    "sigma.lipschitz": 1.0,
}


def statement(
    number: str,
    says: str,
    inputs: tuple[Input, ...],
    printed: Form,
    of: Bundling,
    erratum: str,
    example: dict[str, float],
    also: tuple[str, ...] = (),
    repair: Repair = Repair.WEAKER,
) -> Statement:
    """One of the three theorems."""
    return register(
        Statement(
            id=f"li2026/theorem-{number}",
            kind="theorem",
            says=says,
            quantity=excess.QUANTITY,
            inputs=(*LEARNING, *CLASS, *inputs, RESOLUTION, CONSTANT),
            printed=printed,
            derived=Form(DERIVED, of(derived), Sense.EXPECTATION),
            best=Form(BEST, of(best), Sense.EXPECTATION),
            verdict=Verdict.false(repair),
            assumptions=(*ASSUMPTIONS, *of_stack(inputs)),
            rates=RATES,
            erratum=erratum,
            example=example,
            also=also,
        )
    )


one_head, many_heads = bundled(LowRankLayer, H=1), bundled(LowRankLayer)
layers = bundled(LowRankStack)

THEOREM_5_8 = statement(
    "5.8",
    "The excess risk of L layers falls like the sum of ranks times log n/n.",
    (Input("L"),),
    Form(
        r"\frac{4\kappa(B+B_w)}n\Bigl(1+\sum_{i\le3L+1}r_iC_i\log\frac{b_i^2}{\delta^2}\Bigr)"
        r"+8\kappa\delta+\inf\mathcal E,\quad b_i^2=\frac{B_X\beta_i\sum_jr_jC_j}{r_iC_i},\quad"
        r"\beta\in\{1,\ \alpha_lB_w,\ \alpha_lB_wL_\sigma B_v,\ 2\alpha_lL_\sigma B_cB_vB_w\},"
        r"\quad\alpha_l=\textstyle\prod_{j\ge l}L_\sigma B_cB_v(1+4B_{QK})",
        layers(printed_stack),
        Sense.CONSTANT,
    ),
    layers,
    erratum="Taking log N once, the structure is right. "
    + DIMENSION
    + NOISE
    + "Besides, b_i is that of Corollary 5.6; W_v weighs α_lB_wL_σB_c, not B_v; the first layer's "
    "W_QK needs B_x² more; σ acts twice in eq. (5), so L_σ² replaces L_σ; α_l runs over j > l. "
    + REPAIR
    + " Remark 5.9 becomes: the sum of r(d + k).",
    example=EXAMPLE | {"X.op": 1.0, "L": 2},
    also=("remark-5.9",),
    repair=Repair.HYPOTHESIS,
)
THEOREM_B_4 = statement(
    "B.4",
    "The excess risk of one head falls like log of the sum of ranks over n.",
    (),
    Form(
        PREFACTOR % ""
        + N_RANK
        + r"\beta=(B_wL_\sigma,\ 2B_wL_\sigma B_cB_v,\ B_wL_\sigma B_c,\ B_c)"
        r"\text{ for }W_c,W_{QK},W_v,w",
        one_head(printed_layer),
        Sense.CONSTANT,
    ),
    one_head,
    erratum=LOG_LOG + DIMENSION + NOISE + RADII + REPAIR,
    example=EXAMPLE | {"X.op": 1.0},
    also=("equation-19",),
)
THEOREM_B_5 = statement(
    "B.5",
    "The excess risk of H heads falls like log of the sum of ranks over n.",
    (HEADS,),
    Form(
        PREFACTOR % "H"
        + N_RANK
        + r"\beta=H(B_wL_\sigma,\ 2B_wL_\sigma B_cB_v,\ B_wL_\sigma B_c,\ B_c)"
        r"\text{ for }W_c,W_{QK},W_v,w",
        many_heads(printed_layer),
        Sense.CONSTANT,
    ),
    many_heads,
    erratum=LOG_LOG
    + "The H heads have weights of their own, so their covers add up; N_rank counts one head. "
    + DIMENSION
    + NOISE
    + RADII
    + REPAIR,
    example=EXAMPLE | {"X.op": 1.0, "H": 4},
)
ASSUMPTION_5_5 = register(
    Statement(
        id="li2026/assumption-5.5",
        kind="assumption",
        says="Ranks, the target and the inputs are bounded; so are predictions, as the proofs use.",
        quantity="largest prediction of a head",
        inputs=(*SPECTRAL, X_OP, TOKENS),
        printed=Form(
            r"B_wB_cB_vL_\sigma B_X\text{ with norms }B_w,B_c,B_v\text{ that are not assumed}",
            lambda W_v_op, W_c_op, w_l2, sigma_lipschitz, X_op: (
                w_l2 * W_c_op * W_v_op * sigma_lipschitz * X_op
            ),
        ),
        derived=Form(
            r"B_wB_cB_vL_\sigma\min\{B_X,B_x\},\quad\|W_v\|_2\le B_v,\ \|W_c\|_2\le B_c,"
            r"\ \|w\|_2\le B_w,\ \max_t\|x_t\|_2\le B_x",
            lambda W_v_op, W_c_op, w_l2, sigma_lipschitz, X_op, X_row2inf: (
                w_l2 * W_c_op * W_v_op * sigma_lipschitz * min(X_op, X_row2inf)
            ),
        ),
        verdict=Verdict.no_claim(Repair.HYPOTHESIS),
        erratum=(
            "Only ranks are bounded, while the results contain B_v, B_c, B_QK and B_w: without "
            "spectral norms (those of Assumption 4.1, and ‖W_QK‖₂ ≤ B_QK) predictions are "
            "unbounded and no cover is finite. The norm of every token must be bounded, not only "
            "that of [CLS]; with it ‖X‖₂, which may grow like √T, is not needed."
        ),
        assumptions=ASSUMPTIONS[-2:-1],
        example={
            "W_v.op": 1.0,
            "W_c.op": 2.0,
            "w.l2": 3.0,
            "sigma.lipschitz": 1.0,
            "X.op": 8.0,
            "X.row2inf": 1.0,
        },
    )
)
