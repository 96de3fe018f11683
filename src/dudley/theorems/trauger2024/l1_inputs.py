"""Corollaries D.0.1 and D.0.2: one head on tokens of bounded ℓ1 norm.

W_QK enters through scores x_cls W_QK x_tᵀ, so a cover that serves all inputs may act on either
side. Corollary D.0.1 stands with the columns of W_QK as printed: cover the keys, x_t ↦ x_t W_QKᵀ,
whose rows are the columns of W_QK. Corollary D.0.2 also: cover the query, x ↦ x W_QK, for which the
columns of W_QK belong to output coordinates, as the repaired Lemma 3.4 asks.

>>> from dudley.theorems.registry import evaluate
>>> head = {"n": 10**9, "d": 64, "k": 64, "w.l1": 1.0, "sigma.lipschitz": 1.0, "X.row1inf": 1.0}
>>> head |= {f"{W}.{norm}": 1.0 for W in ("W_c", "W_v") for norm in ("row1inf", "col1inf")}
>>> round(evaluate("trauger2024/corollary-D.0.1", {**head, "W_QK.col1inf": 2.0}).value, 3)
0.035
>>> round(evaluate("trauger2024/corollary-D.0.2", {**head, "W_QK.col21": 2.0}).value, 3)
0.03
"""

from __future__ import annotations

import math

from dudley.core.bound import Bound, Sense
from dudley.core.constraint import Col21, Row1Inf
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Repair, Verdict
from dudley.theorems.registry import register
from dudley.theorems.trauger2024.basis_points import OnBasis
from dudley.theorems.trauger2024.peeling import Around, around, score_use, tokens
from dudley.theorems.trauger2024.single_head import (
    AROUND,
    ASSUMPTIONS,
    BEST,
    CONSTANT,
    DERIVED,
    EXAMPLE,
    QUANTITY,
    TRANSPOSED,
    printed_form,
)

PRINTED = (
    r"cB\Bigl(\tfrac{B_x^3\alpha}{\sqrt n}\Bigl(1+\ln\tfrac{\sqrt n-\sqrt{\ln(2d)}}{B_x^2\alpha}"
    r"\Bigr)+B_x\sqrt{\tfrac{\ln(2d)}{n}}\Bigr),\quad\alpha="
)
B_X = Input("X.row1inf", aliases=("B_x",))


def printed_l1(head: Around, B_x: float, α: float, c: float) -> float:
    return printed_form(head, B_x, B_x**2 * α, c, math.sqrt(math.log(2 * head.d)))


def by_keys(head: Around, X_row1inf: float, W_QK_col1inf: float) -> Bound:
    """Lemma 3.3 on the key side: rows of W_QKᵀ."""
    inputs = tokens(X_row1inf, head.T, X_row1inf)
    use = score_use(head.width, inputs, Row1Inf(W_QK_col1inf))
    return head.peeled(inputs, use, use.entropy.only(("maurey-rows",)))  # pyright: ignore


def by_query(head: Around, X_row1inf: float, W_QK_col21: float) -> Bound:
    """The repaired Lemma 3.4 on the query side: columns of W_QK, on the d basis points."""
    inputs = tokens(X_row1inf, head.T, X_row1inf)
    use = score_use(head.width, inputs, Col21(W_QK_col21))
    linear = use.parameter.map.entropy(l1=1.0).only(("perceptron-col21",))  # pyright: ignore
    return head.peeled(inputs, use, OnBasis(linear, head.width))


COROLLARY_D_0_1 = register(
    Statement(
        id="trauger2024/corollary-D.0.1",
        kind="corollary",
        says="A head on ℓ1 tokens with bounded ‖W_QK‖_{1,∞}: no sequence length.",
        quantity=QUANTITY,
        inputs=(*AROUND, B_X, Input("W_QK.col1inf", "the paper's ‖W_QK‖_{1,∞}"), CONSTANT),
        printed=Form(
            PRINTED + r"2B_{W_{QK}}\sqrt{d\log(2d+1)}",
            around(
                lambda head, X_row1inf, W_QK_col1inf, c: printed_l1(
                    head,
                    X_row1inf,
                    2 * W_QK_col1inf * math.sqrt(head.d * math.log(2 * head.d + 1)),
                    c,
                )
            ),
            Sense.CONSTANT,
        ),
        derived=Form(
            DERIVED + r",\quad\log N_{QK}(\varepsilon)="
            r"d\log D(d,\lceil B_x^2B_{QK}^2/\varepsilon^2\rceil-1)",
            around(by_keys),
        ),
        best=Form(
            BEST,
            around(
                lambda head, X_row1inf, W_QK_col1inf: head.best(
                    tokens(X_row1inf, head.T, X_row1inf),
                    Row1Inf(W_QK_col1inf),
                    by_keys(head, X_row1inf, W_QK_col1inf),
                )
            ),
        ),
        verdict=Verdict.false(Repair.HYPOTHESIS),
        erratum=TRANSPOSED
        + (
            "With column norms it holds. The norm of W_QK may stay as printed although the model "
            "multiplies by W_QKᵀ: scores are bilinear, and the keys can be covered instead of the "
            "query. The logarithm must be cut at 0."
        ),
        assumptions=ASSUMPTIONS,
        example=EXAMPLE | {"X.row1inf": 1.0, "W_QK.col1inf": 2.0},
    )
)

COROLLARY_D_0_2 = register(
    Statement(
        id="trauger2024/corollary-D.0.2",
        kind="corollary",
        says="A head on ℓ1 tokens with bounded ‖W_QK‖_{2,1}: no sequence length.",
        quantity=QUANTITY,
        inputs=(*AROUND, B_X, Input("W_QK.col21", "the paper's ‖W_QK‖_{2,1}"), CONSTANT),
        printed=Form(
            PRINTED + r"2B_{W_{QK}}\sqrt{2\log d}",
            around(
                lambda head, X_row1inf, W_QK_col21, c: printed_l1(
                    head, X_row1inf, 2 * W_QK_col21 * math.sqrt(2 * math.log(head.d)), c
                )
            ),
            Sense.CONSTANT,
        ),
        derived=Form(
            DERIVED + r",\quad\log N_{QK}(\varepsilon)=\min_q(1+d/q)^2"
            r"\tfrac{B_x^2B_{QK}^2}{\varepsilon^2}\log(2d+1)+\log\tbinom{d+q}{d}",
            around(by_query),
        ),
        best=Form(
            BEST,
            around(
                lambda head, X_row1inf, W_QK_col21: head.best(
                    tokens(X_row1inf, head.T, X_row1inf),
                    Col21(W_QK_col21),
                    by_query(head, X_row1inf, W_QK_col21),
                )
            ),
        ),
        verdict=Verdict.false(Repair.HYPOTHESIS),
        erratum=TRANSPOSED
        + (
            "It also rests on Lemma 3.4, which is false for x ↦ Wx; here, where x_cls ↦ W_QKᵀx_cls "
            "is covered, the columns of W_QK are the right side, and the repaired lemma gives the "
            "claim up to a constant."
        ),
        assumptions=ASSUMPTIONS,
        example=EXAMPLE | {"X.row1inf": 1.0, "W_QK.col21": 2.0},
    )
)
