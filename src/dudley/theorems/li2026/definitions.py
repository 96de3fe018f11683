"""Definition 3.1, the block (4), (5) and Assumption 5.1: what the bounds are about.

Offset complexity. For all linear functions on a design of rank r the supremum is attained, and
E‖Pτ‖²/(4βn) = r/(4βn) with P the projection onto the design: there the definition has a value.

The block. (5) applies σ to Π(Φ), and Φ of (4) contains σ and W_c already. On rows of norm ≤ R its
Lipschitz constant is at most L_σ²B_cB_v(1 + 2B_QKR²), softmax constant 1, where the α_i of Theorem
5.3 have L_σB_cB_v(1 + 4B_QK).

Assumption 5.1 bounds [CLS] only, but attention averages all tokens: predictions are bounded by
B_wB_cB_vL_σ times the largest of them.

>>> from dudley.theorems.registry import evaluate
>>> values = {"n": 100, "d": 5, "beta": 0.25}
>>> [evaluate("li2026/definition-3.1", values, form).value for form in ("printed", "derived")]
[0.05, 0.05]
>>> norms = {"W_QK.op": 0.5, "W_v.op": 1.0, "W_c.op": 1.0, "sigma.lipschitz": 2.0}
>>> forms = ("printed", "derived")
>>> [round(evaluate("li2026/equation-5", norms, form).value, 9) for form in forms]
[6.0, 8.0]
>>> values = {"W_v.l11": 1.0, "W_c.l11": 1.0, "w.l2": 1.0, "sigma.lipschitz": 1.0}
>>> values |= {"query.norm2": 1.0, "X.row2inf": 4.0}
>>> [round(evaluate("li2026/assumption-5.1", values, form).value, 9) for form in forms]
[1.0, 4.0]
"""

from __future__ import annotations

from dudley.calculus.offset import linear_unconstrained
from dudley.core.constraint import Spectral
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Repair, Verdict
from dudley.networks.activations import declared as declared_sigma
from dudley.networks.blocks import li_block
from dudley.theorems.li2026.gammas import Bounds
from dudley.theorems.li2026.models import PROJECTION, SIGMA
from dudley.theorems.li2026.norm_models import Class, heads
from dudley.theorems.registry import register
from dudley.theorems.trauger2024.peeling import tokens

WIDTH = 2  # facts about these norms do not depend on the width


def defined_offset(n: float, d: float, beta: float) -> float:
    """The maximum over h = Xv of τ·h/n − β‖h‖²/n is ‖Pτ‖²/(4βn), at h = Pτ/(2β)."""
    return min(d, n) / (4 * beta * n)


DEFINITION_3_1 = register(
    Statement(
        id="li2026/definition-3.1",
        kind="definition",
        says="Offset Rademacher complexity: a supremum of correlations with signs, less β times "
        "the empirical second moment.",
        quantity="offset complexity of all linear functions of d coordinates, points in general "
        "position",
        inputs=(Input("n"), Input("d", "coordinates of the points"), Input("beta")),
        printed=Form(
            r"\mathbb E_\tau\sup_h\Bigl(\frac1n\sum_i\tau_ih(Z_i)-\frac\beta n\sum_ih(Z_i)^2\Bigr)"
            r"=\frac{\min(d,n)}{4\beta n}\ \text{here}",
            defined_offset,
        ),
        derived=Form(
            r"\frac r{4\beta n},\quad r=\text{rank of the design}",
            lambda n, d, beta: linear_unconstrained(int(min(d, n)), n, beta),
        ),
        verdict=Verdict.no_claim(),
        erratum="The definition is right. The one-line version in the introduction lacks the "
        "brackets that put both sums under the supremum. Two different f* are in use: the best of "
        "the class (section 4.1), and the best of all functions, which the proofs need for g ≥ 0.",
        example={"n": 100, "d": 5, "beta": 0.25},
    )
)


def printed_slope(W_QK_op: float, W_v_op: float, W_c_op: float, sigma_lipschitz: float) -> float:
    return sigma_lipschitz * W_c_op * W_v_op * (1 + 4 * W_QK_op)


def slope(
    W_QK_op: float, W_v_op: float, W_c_op: float, sigma_lipschitz: float, X_row2inf: float
) -> float:
    norms = (Spectral(W_QK_op), Spectral(W_v_op), Spectral(W_c_op))
    block = li_block(WIDTH, *norms, sigma=declared_sigma(sigma_lipschitz))
    return float(block.facts(tokens(X_row2inf).signal(WIDTH)).lipschitz)


EQUATION_5 = register(
    Statement(
        id="li2026/equation-5",
        kind="equation",
        says="A block is Π(σ(Π(Φ(X)))), with Φ(X) = σ(softmax(XW_QKXᵀ)XW_v)W_c.",
        quantity="Lipschitz constant of one block, largest ℓ2 norm of a row",
        inputs=(
            Input("W_QK.op", aliases=("B_QK",)),
            Input("W_v.op", aliases=("B_v",)),
            Input("W_c.op", aliases=("B_c",)),
            SIGMA,
            Input("X.row2inf", "largest ℓ2 norm of a row that enters the block", 1.0, ("B_x",)),
        ),
        printed=Form(r"L_\sigma B_cB_v(1+4B_{QK})", printed_slope),
        derived=Form(r"L_\sigma^2B_cB_v(1+2B_{QK}R^2)", slope),
        verdict=Verdict.no_claim(Repair.SYMBOL),
        erratum=(
            "Φ contains σ and W_c, and (5) applies σ again, behind W_c; the block of the works "
            "cited has one σ, before W_c. The constants in α_i belong to that one: for (5) as "
            "defined they need L_σ². On first-layer tokens of norm B_x the score term needs B_x². "
            "Section A.2 refers to (5) as (4)."
        ),
        also=("equation-4",),
        assumptions=(PROJECTION,),
        example={"W_QK.op": 0.5, "W_v.op": 1.0, "W_c.op": 1.0, "sigma.lipschitz": 2.0},
    )
)


def printed_prediction(
    W_v_l11: float, W_c_l11: float, w_l2: float, sigma_lipschitz: float, query_norm2: float
) -> float:
    return w_l2 * W_c_l11 * W_v_l11 * sigma_lipschitz * query_norm2


def prediction(
    W_v_l11: float, W_c_l11: float, w_l2: float, sigma_lipschitz: float, X_row2inf: float
) -> float:
    b = Bounds(0.0, W_v_l11, W_c_l11, w_l2, sigma_lipschitz)
    return Class(heads(WIDTH, WIDTH, b), WIDTH, X_row2inf).A


ASSUMPTION_5_1 = register(
    Statement(
        id="li2026/assumption-5.1",
        kind="assumption",
        says="The matrices have bounded ‖·‖_{1,1}, w has bounded ℓ2 norm, [CLS] has bounded norm.",
        quantity="largest prediction of one head",
        inputs=(
            Input("W_v.l11", aliases=("B_v",)),
            Input("W_c.l11", aliases=("B_c",)),
            Input("w.l2", aliases=("B_w",)),
            SIGMA,
            Input("query.norm2", "‖x_[CLS]‖₂, the one token that is bounded", aliases=("B_x",)),
            Input("X.row2inf", "largest ℓ2 norm of any token"),
        ),
        printed=Form(r"B_wB_cB_vL_\sigma\|x_{\mathrm{[CLS]}}\|_2", printed_prediction),
        derived=Form(r"B_wB_cB_vL_\sigma\max_t\|x_t\|_2", prediction),
        verdict=Verdict.no_claim(Repair.HYPOTHESIS),
        erratum=(
            "Every token must be bounded, not [CLS] alone: values are averages over all tokens, so "
            "with the printed assumption predictions and covering numbers are unbounded. And w "
            "lies in an ℓ2 ball, while Lemma 5.2 covers ℓ1 balls: assume ‖w‖₁ ≤ B_w, or cover w "
            "otherwise."
        ),
        example={
            "W_v.l11": 1.0,
            "W_c.l11": 1.0,
            "w.l2": 1.0,
            "sigma.lipschitz": 1.0,
            "query.norm2": 1.0,
            "X.row2inf": 4.0,
        },
    )
)
