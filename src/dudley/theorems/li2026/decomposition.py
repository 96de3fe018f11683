"""Equations (15) and (18): what a change of the weights does to the output of a head, of L layers.

Errors are measured on the inputs that a map sees, e_v = sup‖zΔW_v‖ and so on; both sets of weights
keep the norm bounds. With softmax constant 1 and tokens of norm ≤ B_x, one head moves by

    e_w + B_we_c + B_wB_cL_σe_v + B_wB_cB_vL_σB_x²e_QK,

and L blocks (5), R_1 = B_x and R_{i+1} = min(1, L_σ·min(1, L_σB_cB_vR_i)), by

    e_w + B_w Σ_i α_i(L_σe_c + L_σ²B_ce_v + L_σ²B_cB_vR_i²e_QK),
    α_i = Π_{j>i} L_σ²B_cB_v(1 + 2B_QKR_j²).

The printed versions lack B_x² (the display before (15) has one B_X), and (18) is that of a block
with one σ: it holds for that block if B_x ≤ 1.

>>> from dudley.theorems.registry import evaluate
>>> values = {"W_v.l11": 1.0, "W_c.l11": 1.0, "w.l2": 1.0, "sigma.lipschitz": 1.0}
>>> values |= {"X.row2inf": 3.0, "error.QK": 0.1, "error.v": 0.1, "error.c": 0.1, "error.w": 0.1}
>>> forms = ("printed", "derived")
>>> [round(evaluate("li2026/equation-15", values, form).value, 3) for form in forms]
[0.5, 1.2]
>>> values |= {"L": 2, "W_QK.l11": 0.5}
>>> [round(evaluate("li2026/equation-18", values, form).value, 3) for form in forms]
[1.7, 2.6]
"""

from __future__ import annotations

from dataclasses import dataclass

from dudley.core.assumption import Assumption, Status
from dudley.core.binding import bundled
from dudley.core.bound import Bound, Sense
from dudley.core.magnitude import ONE, ZERO, Magnitude, smallest
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Repair, Verdict
from dudley.theorems.li2026.models import PROJECTION, SIGMA
from dudley.theorems.registry import register

NORMS = (
    Input("W_v.l11", aliases=("B_v",)),
    Input("W_c.l11", aliases=("B_c",)),
    Input("w.l2", aliases=("B_w",)),
    SIGMA,
    Input("X.row2inf", "largest ℓ2 norm of a token", 1.0, ("B_x",)),
)
ERRORS = (
    Input("error.QK", "ε_QK: largest ‖zΔW_QK‖₂ over the covered rows z, in every layer"),
    Input("error.v", "ε_v: largest ‖zΔW_v‖₂ over the covered rows z, in every layer"),
    Input("error.c", "ε_c: largest ‖hΔW_c‖₂ over the covered inputs h of W_c, in every layer"),
    Input("error.w", "ε_w: largest |y·Δw| over the covered inputs y of w"),
)
BOTH = Assumption("weights", "both sets of weights keep the norm bounds", Status.DECLARED)


@dataclass(frozen=True)
class Change:
    """Norm bounds and errors."""

    W_v_l11: float
    W_c_l11: float
    w_l2: float
    sigma_lipschitz: float
    X_row2inf: float
    error_QK: float
    error_v: float
    error_c: float
    error_w: float

    @property
    def norms(self) -> tuple[Magnitude, Magnitude, Magnitude, Magnitude]:
        """B_v, B_c, B_w and L_σ."""
        of = Magnitude.of
        return of(self.W_v_l11), of(self.W_c_l11), of(self.w_l2), of(self.sigma_lipschitz)

    def sum(self, w: Magnitude, c: Magnitude, v: Magnitude, QK: Magnitude) -> Bound:
        """The errors with these weights; an error of 0 costs nothing."""
        weighted = ((w, self.error_w), (c, self.error_c), (v, self.error_v), (QK, self.error_QK))
        total = ZERO
        for weight, error in weighted:
            total = total + (weight * error if error > 0 else ZERO)
        return Bound(float(total.log), "", Sense.SURELY)


def printed_head(change: Change) -> Bound:
    B_v, B_c, B_w, L_σ = change.norms
    return change.sum(ONE, B_w * L_σ, B_w * L_σ * B_c, 2 * B_w * L_σ * B_c * B_v)


def derived_head(change: Change) -> Bound:
    B_v, B_c, B_w, L_σ = change.norms
    R = Magnitude.of(change.X_row2inf)
    return change.sum(ONE, B_w, B_w * B_c * L_σ, B_w * B_c * B_v * L_σ * R**2)


def printed_layers(change: Change, L: float, W_QK_l11: float) -> Bound:
    B_v, B_c, B_w, L_σ = change.norms
    step, α, total = L_σ * B_c * B_v * (1 + 4 * W_QK_l11), ONE, ZERO
    for _ in range(int(L)):
        total, α = total + α, α * step
    c = B_w * total
    return change.sum(ONE, c, c * L_σ * B_c, c * 2 * L_σ * B_c * B_v)


def radii(change: Change, L: float) -> list[Magnitude]:
    """R_1, …, R_L: the norms of the rows that enter the blocks (5)."""
    B_v, B_c, _, L_σ = change.norms
    R = [Magnitude.of(change.X_row2inf)]
    while len(R) < L:
        R.append(smallest(1.0, L_σ * smallest(1.0, L_σ * B_c * B_v * R[-1])))
    return R


def derived_layers(change: Change, L: float, W_QK_l11: float) -> Bound:
    B_v, B_c, B_w, L_σ = change.norms
    α, plain, scores = B_w, ZERO, ZERO  # Σ B_wα_i and Σ B_wα_iR_i², from the last layer on
    for R in reversed(radii(change, L)):
        plain, scores = plain + α, scores + α * R**2
        α = α * L_σ**2 * B_c * B_v * (1 + 2 * W_QK_l11 * R**2)
    v = L_σ**2 * B_c
    return change.sum(ONE, plain * L_σ, plain * v, scores * v * B_v)


EXAMPLE = {
    "W_v.l11": 1.0,
    "W_c.l11": 1.0,
    "w.l2": 1.0,
    "sigma.lipschitz": 1.0,
    "X.row2inf": 3.0,
    "error.QK": 0.1,
    "error.v": 0.1,
    "error.c": 0.1,
    "error.w": 0.1,
}
of = bundled(Change)

EQUATION_15 = register(
    Statement(
        id="li2026/equation-15",
        kind="equation",
        says="A head's prediction moves by a weighted sum of the errors of its weights.",
        quantity="change of the prediction of one head",
        inputs=(*NORMS, *ERRORS),
        printed=Form(
            r"\varepsilon_w+B_wL_\sigma\varepsilon_c+B_wL_\sigma B_c\varepsilon_v"
            r"+2B_wL_\sigma B_cB_v\varepsilon_{QK}",
            of(printed_head),
        ),
        derived=Form(
            r"\varepsilon_w+B_w\varepsilon_c+B_wB_cL_\sigma\varepsilon_v"
            r"+B_wB_cB_vL_\sigma B_x^2\varepsilon_{QK}",
            of(derived_head),
        ),
        verdict=Verdict.false(Repair.HYPOTHESIS),
        erratum=(
            "A change of W_QK moves scores by B_xε_QK and the attention average by a further B_x: "
            "the last term needs B_x² (with the sharp softmax constant 1 for the printed 2), so "
            "(15) fails for B_x > √2; the display before it has one factor B_X on two terms. The "
            "term of W_c needs no L_σ if ε_c is measured on the inputs of W_c, and L_σB_vB_x if on "
            "unit vectors."
        ),
        assumptions=(BOTH,),
        example=EXAMPLE,
    )
)

EQUATION_18 = register(
    Statement(
        id="li2026/equation-18",
        kind="equation",
        says="The prediction of L layers moves by a weighted sum of the errors of all weights.",
        quantity="change of the prediction of L layers",
        inputs=(*NORMS, Input("W_QK.l11", aliases=("B_QK",)), Input("L"), *ERRORS),
        printed=Form(
            r"\varepsilon_w+B_w\sum_{i\le L}\alpha_i\bigl(\varepsilon_c+L_\sigma B_c\varepsilon_v"
            r"+2L_\sigma B_cB_v\varepsilon_{QK}\bigr),\quad"
            r"\alpha_i=\textstyle\prod_{j>i}L_\sigma B_cB_v(1+4B_{QK})",
            of(printed_layers),
        ),
        derived=Form(
            r"\varepsilon_w+B_w\sum_{i\le L}\alpha_i\bigl(L_\sigma\varepsilon_c+L_\sigma^2B_c"
            r"\varepsilon_v+L_\sigma^2B_cB_vR_i^2\varepsilon_{QK}\bigr),\quad"
            r"\alpha_i=\textstyle\prod_{j>i}L_\sigma^2B_cB_v(1+2B_{QK}R_j^2)",
            of(derived_layers),
        ),
        verdict=Verdict.false(Repair.HYPOTHESIS),
        erratum=(
            "Right for tokens in the unit ball and a block with one σ, as in the work it follows. "
            "For the block (5), in which σ acts twice, the terms of W_v and W_QK and every α_i "
            "need L_σ², that of W_c needs L_σ; and the first layer sees tokens of norm B_x, which "
            "costs B_x² in the term of its W_QK."
        ),
        assumptions=(BOTH, PROJECTION),
        example=EXAMPLE | {"L": 2, "W_QK.l11": 0.5},
    )
)
