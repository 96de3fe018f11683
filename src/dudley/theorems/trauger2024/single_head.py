"""Theorem 4.1 and Corollary 4.1.1: one head, read out at the [CLS] row.

The proof (:mod:`dudley.theorems.trauger2024.peeling`) peels *columns* of W_c and W_v, while the
paper bounds ‖W_cᵀ‖_{1,∞} and ‖W_vᵀ‖_{1,∞}, their *rows*. Where the column norms are not given, the
derived forms use what the row norms imply for them.

>>> from dudley.theorems.registry import evaluate
>>> head = {"n": 10**7, "d": 64, "k": 64, "w.l1": 1.0, "sigma.lipschitz": 1.0}
>>> head |= {"X.row2inf": 1.0, "W_QK.l11": 2.0}
>>> head |= {f"{W}.{norm}": 1.0 for W in ("W_c", "W_v") for norm in ("row1inf", "col1inf")}
>>> forms = ("printed", "derived", "best")
>>> [round(evaluate("trauger2024/corollary-4.1.1", head, form).value, 3) for form in forms]
[0.019, 0.116, 0.037]
>>> [round(evaluate("trauger2024/corollary-4.1.1", {**head, "T": T}).value, 3) for T in (20, 10**6)]
[0.116, 0.116]
>>> from dudley.theorems.registry import load
>>> it = load()["trauger2024/theorem-4.1"]
>>> [float(f"{it.evaluate_on(it.example, form).value:.3g}") for form in it.forms]
[0.0104, 0.101, 0.0346]
"""

from __future__ import annotations

import math

from dudley.core.assumption import Assumption, Status
from dudley.core.bound import Bound, Sense
from dudley.core.constraint import L11, Spectral
from dudley.core.entropy import PowerLaw
from dudley.core.errors import InputError
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Repair, Verdict
from dudley.theorems.registry import register
from dudley.theorems.trauger2024.peeling import Around, around, score_use, tokens

QUANTITY = "Rademacher complexity of one head read out at [CLS], for any sample"
TRANSPOSED = (
    "The proof takes out rows of W_cᵀ and W_vᵀ, so it needs the ℓ1 norms of the columns of W_c and "
    "W_v, ‖W_c‖_{1,∞} and ‖W_v‖_{1,∞}; the hypotheses bound those of the rows. With row norms the "
    "claim is false by a factor √(d/log d), also for W_QK = 0. "
)
AROUND = (
    Input("n", aliases=("m", "N")),
    Input("d"),
    Input("k"),
    Input("T", "tokens per example; any number if not given", math.inf),
    Input("w.l1", aliases=("B_w",)),
    Input("W_c.row1inf", "the paper's ‖W_cᵀ‖_{1,∞}", aliases=("B_Wc",)),
    Input("W_v.row1inf", "the paper's ‖W_vᵀ‖_{1,∞}", aliases=("B_Wv",)),
    Input("W_c.col1inf", "largest ℓ1 norm of a column, the norm the proof needs", math.inf),
    Input("W_v.col1inf", "largest ℓ1 norm of a column, the norm the proof needs", math.inf),
    Input("sigma.lipschitz", aliases=("L_sigma",)),
)
CONSTANT = Input("c", default=1.0)
ASSUMPTIONS = (
    Assumption("sigma", "σ acts entrywise and σ(0) = 0", Status.DECLARED),
    Assumption("query", "only the [CLS] row is read", Status.DECLARED),
)
EXAMPLE = {
    "n": 10_000_000,
    "d": 64,
    "k": 64,
    "w.l1": 1.0,
    "W_c.row1inf": 1.0,
    "W_v.row1inf": 1.0,
    "W_c.col1inf": 1.0,
    "W_v.col1inf": 1.0,
    "sigma.lipschitz": 1.0,
}
DERIVED = (
    r"P\min\Bigl\{B_x,\ 2\inf_a4a+12\int_a^{B_x/2}\sqrt{\tfrac{\log(2d)+"
    r"\log N_{QK}(\varepsilon/B_x^2)}{n}}\,d\varepsilon\Bigr\},"
    r"\quad P=B_wL_\sigma\max_j\|(W_c)_{:,j}\|_1\max_j\|(W_v)_{:,j}\|_1"
)
BEST = r"\text{the smallest of: peeling with every cover, covers of every matrix; best chaining}"


def printed_form(head: Around, B_x: float, a: float, c: float, less: float = 0.0) -> float:
    """cB( (B_x a/√n)(1 + ln((√n − less)/a)) + B_x√(ln(2d)/n) ); the first term vanishes at a = 0.

    In the theorem a = 2B_x√C, in its corollaries a = B_x²α. Where a is large it is negative.
    """
    root = math.sqrt(head.n)
    if root <= less:
        raise InputError("n", f"more than ln(2d) = {less**2:.3g}, as the formula demands", head.n)
    attention = B_x * a / root * (1 + math.log((root - less) / a)) if a > 0 else 0.0
    return c * head.printed_product * (attention + B_x * math.sqrt(math.log(2 * head.d)) / root)


def theorem(head: Around, X_row2inf: float, class_C: float) -> Bound:
    """log N(ε) ≤ C/ε² on inputs of norm B_x is log N(ε) ≤ (C/B_x²)/ε² on unit inputs."""
    inputs = tokens(X_row2inf, head.T)
    use = score_use(head.width, inputs, Spectral(1.0))  # its weight does not depend on the norm
    on_unit_inputs = PowerLaw(class_C / X_row2inf**2 if X_row2inf else 0.0)
    return head.peeled(inputs, use, on_unit_inputs)


def theorem_best(head: Around, X_row2inf: float, class_C: float) -> Bound:
    inputs = tokens(X_row2inf, head.T)
    use = score_use(head.width, inputs, Spectral(1.0))
    on_unit_inputs = PowerLaw(class_C / X_row2inf**2 if X_row2inf else 0.0)
    return head.peeled(inputs, use, on_unit_inputs, "best")


def corollary_printed(head: Around, X_row2inf: float, W_QK_l11: float, c: float) -> float:
    α = W_QK_l11 * math.sqrt(2 * math.log(2 * head.d**2 + 1))
    return printed_form(head, X_row2inf, X_row2inf**2 * α, c)


def corollary(head: Around, X_row2inf: float, W_QK_l11: float) -> Bound:
    inputs = tokens(X_row2inf, head.T)
    use = score_use(head.width, inputs, L11(W_QK_l11))
    return head.peeled(inputs, use, use.entropy.only(("maurey",)))  # pyright: ignore


THEOREM_4_1 = register(
    Statement(
        id="trauger2024/theorem-4.1",
        kind="theorem",
        says="A head's Rademacher complexity, given a cover of W_QK only: no sequence length.",
        quantity=QUANTITY,
        inputs=(
            *AROUND,
            Input("X.row2inf", aliases=("B_x",)),
            Input("class.C", "C in log N(ε) ≤ C/ε² for {x ↦ xW_QK}, ‖x‖₂ ≤ B_x, by members"),
            CONSTANT,
        ),
        printed=Form(
            r"cB_wB_{W_c}L_\sigma B_{W_v}\Bigl[\tfrac{2B_x^2\sqrt C}{\sqrt n}\Bigl(1"
            r"+\ln\tfrac{\sqrt n}{2B_x\sqrt C}\Bigr)+B_x\sqrt{\tfrac{\ln(2d)}{n}}\Bigr]",
            around(
                lambda head, X_row2inf, class_C, c: printed_form(
                    head, X_row2inf, 2 * X_row2inf * math.sqrt(class_C), c
                )
            ),
            Sense.CONSTANT,
        ),
        derived=Form(DERIVED + r",\quad\log N_{QK}(\varepsilon)=C/\varepsilon^2", around(theorem)),
        best=Form(r"\text{the same with the best chaining}", around(theorem_best)),
        verdict=Verdict.false(Repair.HYPOTHESIS),
        erratum=TRANSPOSED
        + (
            "The logarithm must be cut at 0 (for √n < 2B_x√C/e the formula is negative), the "
            "displayed complexity lacks 1/n, and m > d, m > ln(2d) are not needed."
        ),
        assumptions=ASSUMPTIONS,
        example=EXAMPLE | {"X.row2inf": 1.0, "class.C": 4.0},
    )
)

COROLLARY_4_1_1 = register(
    Statement(
        id="trauger2024/corollary-4.1.1",
        kind="corollary",
        says="A head's Rademacher complexity for bounded ‖W_QK‖_{1,1}: no sequence length.",
        quantity=QUANTITY,
        inputs=(*AROUND, Input("X.row2inf", aliases=("B_x",)), Input("W_QK.l11"), CONSTANT),
        printed=Form(
            r"cB\Bigl(\tfrac{B_x^3\alpha}{\sqrt n}\Bigl(1+\ln\tfrac{\sqrt n}{B_x^2\alpha}\Bigr)"
            r"+B_x\sqrt{\tfrac{\ln(2d)}{n}}\Bigr),\quad\alpha=B_{W_{QK}}\sqrt{2\log(2d^2+1)}",
            around(corollary_printed),
            Sense.CONSTANT,
        ),
        derived=Form(
            DERIVED + r",\quad\log N_{QK}(\varepsilon)="
            r"\log D(d^2,\lceil B_x^2B_{QK}^2/\varepsilon^2\rceil-1)",
            around(corollary),
        ),
        best=Form(
            BEST,
            around(
                lambda head, X_row2inf, W_QK_l11: head.best(
                    tokens(X_row2inf, head.T),
                    L11(W_QK_l11),
                    corollary(head, X_row2inf, W_QK_l11),
                )
            ),
        ),
        verdict=Verdict.false(Repair.HYPOTHESIS),
        erratum=TRANSPOSED
        + (
            "Apart from that, Theorem 4.1 with C = B_x²B_QK² log(2d²+1) gives "
            "α = 2B_QK√log(2d²+1), larger than printed by √2 (half of it with the sharp softmax "
            "constant)."
        ),
        assumptions=ASSUMPTIONS,
        example=EXAMPLE | {"X.row2inf": 1.0, "W_QK.l11": 2.0},
    )
)
