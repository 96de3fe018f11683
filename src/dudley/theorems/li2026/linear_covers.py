"""Lemmas 5.2 and B.3, and what (14) makes of them: covers of linear maps and of one head.

Lemma B.3 is Lemma 3.6 of trauger2024. Lemma 5.2 calls its constant C_1 universal; it is
log(2dk + 1), and no constant below ¼·log(2dk) will do, since log N ≥ log(2dk) at every
ε < B_xB_W/2: any two of the 2dk matrices ±B_W E_ij send some B_xe_i to images at distance ≥ B_xB_W.

(14) minimises Σ_j C_1B_j²/ε_j² under the error decomposition (15). Done on what a head really sees,

    log N(ε) ≤ C_1(B_wB_cB_vL_σB_x)²[3 + (2B_QKB_x²)^{2/3}]³/ε²,

softmax constant 2, w in an ℓ1 ball; the printed γ_SH³/ε² has lost most of the B_j², B_QK with them.

>>> from dudley.theorems.registry import evaluate
>>> values = {"d": 64, "k": 64, "W.l11": 1.0, "X.row2inf": 1.0, "epsilon": 0.5}
>>> [round(evaluate("li2026/lemma-5.2", values, f).value, 2) for f in ("printed", "derived")]
[4.0, 25.24]
>>> [round(evaluate("li2026/lemma-B.3", values, f).value, 2) for f in ("printed", "derived")]
[36.04, 25.24]
>>> head = {"d": 64, "k": 64, "W_QK.l11": 9.0, "W_v.l11": 1.0, "W_c.l11": 1.0, "w.l2": 1.0}
>>> head |= {"sigma.lipschitz": 1.0, "X.row2inf": 1.0, "epsilon": 0.5}
>>> [round(evaluate("li2026/equation-14", head, f).value) for f in ("printed", "derived", "best")]
[2307, 4365, 4365]
"""

from __future__ import annotations

import math
from collections.abc import Callable

from dudley.core.bound import Bound, Sense
from dudley.core.constraint import L11
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Repair, Verdict
from dudley.theorems.li2026.gammas import Bounds, γ_SH
from dudley.theorems.li2026.models import SIGMA
from dudley.theorems.li2026.norm_models import head_entropy
from dudley.theorems.registry import register
from dudley.theorems.trauger2024.linear_covers import QUANTITY, log_cover

BALL = (
    Input("d"),
    Input("k"),
    Input("W.l11", aliases=("B_W",)),
    Input("X.row2inf", aliases=("B_x",)),
    Input("epsilon"),
)
EXAMPLE = {"d": 64, "k": 64, "W.l11": 1.0, "X.row2inf": 1.0, "epsilon": 0.5}
DERIVED = Form(
    r"\log D\bigl(dk,\lceil B_x^2B_W^2/\varepsilon^2\rceil-1\bigr)",
    lambda d, k, W_l11, X_row2inf, epsilon: log_cover(
        d, k, L11(W_l11), X_row2inf, epsilon, ("maurey",)
    ),
)
BEST = Form(
    r"\text{the smallest of all covers of uniform scope}",
    lambda d, k, W_l11, X_row2inf, epsilon: log_cover(d, k, L11(W_l11), X_row2inf, epsilon),
)

LEMMA_5_2 = register(
    Statement(
        id="li2026/lemma-5.2",
        kind="lemma",
        says="Linear maps with bounded ‖·‖_{1,1} have log covering numbers C_1B_x²B_W²/ε².",
        quantity=QUANTITY,
        inputs=(*BALL, Input("c", "C_1, called universal", 1.0, ("C_1",))),
        printed=Form(
            r"\frac{C_1B_x^2B_W^2}{\varepsilon^2}",
            lambda W_l11, X_row2inf, epsilon, c: c * (X_row2inf * W_l11 / epsilon) ** 2,
            Sense.CONSTANT,
        ),
        derived=DERIVED,
        best=BEST,
        verdict=Verdict.true(Repair.CONSTANT),
        erratum=(
            "C_1 is not universal: it is log(2dk+1), as Lemma B.3 has it, and grows with the "
            "widths by necessity. The 2dk matrices ±B_W E_ij differ pairwise by at least B_xB_W on "
            "some B_xe_i, so log N ≥ log(2dk) for ε < B_xB_W/2."
        ),
        example=EXAMPLE,
    )
)

LEMMA_B_3 = register(
    Statement(
        id="li2026/lemma-B.3",
        kind="lemma",
        says="The same with its constant, log(2dk+1), on any number of points.",
        quantity=QUANTITY,
        inputs=BALL,
        printed=Form(
            r"\frac{B_x^2B_w^2}{\varepsilon^2}\log(2dk+1)",
            lambda d, k, W_l11, X_row2inf, epsilon: (
                (X_row2inf * W_l11 / epsilon) ** 2 * math.log(2 * d * k + 1)
            ),
        ),
        derived=DERIVED,
        best=BEST,
        verdict=Verdict.true(),
        erratum="Lemma 3.6 of Trauger and Tewari, true as printed; N > d is not needed.",
        example=EXAMPLE,
    )
)


def printed_head(
    d: float,
    k: float,
    W_v_l11: float,
    W_c_l11: float,
    w_l2: float,
    sigma_lipschitz: float,
    X_row2inf: float,
    epsilon: float,
) -> Bound:
    """γ_SH³/ε², whose logarithm the proof of Theorem B.1 then takes once more."""
    b = Bounds(0.0, W_v_l11, W_c_l11, w_l2, sigma_lipschitz)  # B_QK does not occur
    γ = γ_SH(b, math.log(2 * d * k + 1), X_row2inf)
    return Bound(float((γ**3 / epsilon**2).log), "", Sense.SURELY)


def head_covered_by(*kinds: str) -> Callable[..., Bound]:
    """The smallest log N(ε) of one head by these kinds of covers, for any number of points."""

    def value(
        d: float,
        k: float,
        W_QK_l11: float,
        W_v_l11: float,
        W_c_l11: float,
        w_l2: float,
        w_l1: float,
        sigma_lipschitz: float,
        X_row2inf: float,
        epsilon: float,
    ) -> Bound:
        b = Bounds(W_QK_l11, W_v_l11, W_c_l11, w_l2, sigma_lipschitz, w_l1)
        covers = (head_entropy(d, k, b, X_row2inf, kind) for kind in kinds)
        logs = [float(cover.log_log(math.log(epsilon))) for cover in covers]
        return Bound(min(logs), "", Sense.SURELY)

    return value


EQUATION_14 = register(
    Statement(
        id="li2026/equation-14",
        kind="equation",
        says="Splitting ε between the four blocks of a head gives γ_SH³/ε² as log covering number.",
        quantity="log covering number of one head with a readout, for any number of points",
        inputs=(
            *BALL[:2],
            Input("W_QK.l11", aliases=("B_QK",)),
            Input("W_v.l11", aliases=("B_v",)),
            Input("W_c.l11", aliases=("B_c",)),
            Input("w.l2", aliases=("B_w",)),
            Input("w.l1", "ℓ1 norm of w, where one is known", math.inf),
            SIGMA,
            *BALL[3:],
        ),
        printed=Form(
            r"\frac{\gamma_{SH}^3}{\varepsilon^2},\quad\gamma_{SH}=C_1^{1/3}B_x^{2/3}\bigl["
            r"(B_wL_\sigma)^{2/3}+2(B_wL_\sigma B_cB_v)^{2/3}+1\bigr],\ C_1=\log(2dk+1)",
            printed_head,
        ),
        derived=Form(
            r"\min\Bigl[\sum_{i\ne w}\log D\bigl(p_i,\lceil B_i^2/\varepsilon_i^2\rceil-1\bigr)"
            r"+\log N_w(\varepsilon_w)\Bigr]\ \text{over}\ \textstyle\sum_i\beta_i\varepsilon_i\le"
            r"\varepsilon",
            head_covered_by("own"),
        ),
        best=Form(
            r"\text{the same with the smallest of all covers of uniform scope}",
            head_covered_by("own", "uniform"),
        ),
        verdict=Verdict.false(Repair.HYPOTHESIS),
        erratum=(
            "The optimum of (14) under (15) is C_1(Σ_j B_j^{2/3}β_j^{2/3})³/ε²; in γ_SH the term "
            "of W_c lacks B_c, that of w lacks B_w, that of W_QK lacks 2B_QK: B_QK does not "
            "occur at all. (15) itself lacks radii. 2^m heads on m inputs with unit tokens refute "
            "it. The proof then says that the log covering number is log(γ_SH³/ε²), one logarithm "
            "more."
        ),
        example={
            "d": 64,
            "k": 64,
            "W_QK.l11": 9.0,
            "W_v.l11": 1.0,
            "W_c.l11": 1.0,
            "w.l2": 1.0,
            "sigma.lipschitz": 1.0,
            "X.row2inf": 1.0,
            "epsilon": 0.5,
        },
    )
)
