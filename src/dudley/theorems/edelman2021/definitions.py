"""Definitions 2.1, 3.1, 3.2 and A.1, each with the bound that it carries with it.

>>> from dudley.theorems.registry import evaluate
>>> values = {"n": 100, "X.row2inf": 1.0, "w.l2": 2.0}
>>> evaluate("edelman2021/definition-A.1", values).value
0.2...
>>> from dudley.theorems.registry import load
>>> it = load()["edelman2021/definition-2.1"]
>>> [float(f"{it.evaluate_on(it.example, form).value:.3g}") for form in it.forms]
[6.83, 173000.0, 195.0]
>>> it = load()["edelman2021/definition-3.1"]
>>> [float(f"{it.evaluate_on(it.example, form).value:.3g}") for form in it.forms]
[2.0, 2.0]
>>> it = load()["edelman2021/definition-3.2"]
>>> [float(f"{it.evaluate_on(it.example, form).value:.3g}") for form in it.forms]
[6.0, 6.0]
"""

from __future__ import annotations

import math

from dudley.calculus.facts import Signal
from dudley.classes.linear import LinearMap
from dudley.core.assumption import Assumption, Status
from dudley.core.bound import Sense
from dudley.core.constraint import L2, Spectral
from dudley.core.entropy import PowerLaw
from dudley.core.magnitude import Magnitude
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Repair, Verdict
from dudley.networks.activations import declared
from dudley.networks.general import GeneralHead
from dudley.networks.head import Head
from dudley.theorems.edelman2021.common import (
    HIDDEN,
    OWN,
    RADIUS,
    READOUT,
    RESOLUTION,
    SAMPLES,
    SLOPE,
)
from dudley.theorems.registry import register


def proper_cover(
    d: float,
    n: float,
    w_l2: float,
    X_row2inf: float,
    epsilon: float,
    covers: tuple[str, ...] | None = None,
) -> float:
    """log N(ε) of {x ↦ x·w, ‖w‖₂ ≤ B} by centres that are members."""
    if X_row2inf == 0:
        return 0.0
    entropy = LinearMap((int(d), 1), L2(w_l2)).entropy().only(covers).proper()
    return float(entropy.scaled(X_row2inf)(epsilon, n))


def recalled(n: float, w_l2: float, X_row2inf: float, epsilon: float, c: float) -> float:
    """log of the number that section 2 recalls as a bound on N_∞ itself."""
    x = w_l2 * X_row2inf / epsilon
    count = c * x**2 * math.log(x * n) if x > 0 else 0.0
    return math.log(count) if count > 0 else -math.inf


register(
    Statement(
        id="edelman2021/definition-2.1",
        kind="definition",
        says="Covering numbers are proper, in the largest error over the points; linear maps.",
        quantity="log proper covering number of x ↦ x·w on n points",
        inputs=(Input("d"), SAMPLES, READOUT, RADIUS, RESOLUTION, HIDDEN),
        printed=Form(
            r"\mathcal N_\infty\le c\,\frac{B_X^2B_W^2}{\varepsilon^2}"
            r"\log\frac{B_XB_Wm}{\varepsilon}",
            recalled,
            Sense.CONSTANT,
        ),
        derived=Form(
            r"\log\mathcal N_\infty\le 36\frac{B_X^2B_W^2}{(\varepsilon/2)^2}"
            r"\log(2\lceil 4B_XB_W/(\varepsilon/2)+2\rceil m+1)",
            lambda d, n, w_l2, X_row2inf, epsilon: proper_cover(
                d, n, w_l2, X_row2inf, epsilon, OWN
            ),
        ),
        best=Form(
            r"\text{the smallest of all proper covers}",
            lambda d, n, w_l2, X_row2inf, epsilon: proper_cover(d, n, w_l2, X_row2inf, epsilon),
        ),
        verdict=Verdict.no_claim(Repair.SYMBOL),
        erratum=(
            "The definition is sound. The bound recalled with it belongs to log N_∞ (the logarithm "
            "is lost in print) and to the ℓ2 norm of w (printed as ‖w‖_s); as a bound on N_∞ "
            "itself it fails for m orthonormal points, where N_∞ ≥ 2^m at ε < B_W/√m."
        ),
        example={"d": 64, "n": 1000, "w.l2": 1.0, "X.row2inf": 1.0, "epsilon": 0.1},
    )
)


def general_radius(head_L_out: float, head_B_in: float, X_row2inf: float) -> float:
    """How large the output of the general head can be, by its node."""
    head = GeneralHead(PowerLaw(0.0), PowerLaw(0.0), L_out=head_L_out, B_in=head_B_in)
    return float(head.facts(Signal(Magnitude.of(X_row2inf), 1.0, 1)).out.radius)


register(
    Statement(
        id="edelman2021/definition-3.1",
        kind="definition",
        says="An attention head averages inner values with normalised scores, then maps out.",
        quantity="largest ℓ2 norm of the head's output",
        inputs=(
            Input("head.L_out", aliases=("L_out",)),
            Input("head.B_in", aliases=("B_in",)),
            RADIUS,
        ),
        printed=Form(
            r"\|y\|\le L_{\mathrm{out}}B_{\mathrm{in}}B_X",
            lambda head_L_out, head_B_in, X_row2inf: head_L_out * head_B_in * X_row2inf,
        ),
        derived=Form(r"\|y\|\le L_{\mathrm{out}}B_{\mathrm{in}}B_X", general_radius),
        verdict=Verdict.no_claim(Repair.SYMBOL),
        erratum=(
            "The head takes the tokens and a context: its domain is 𝒳^T × 𝒵, not 𝒳. Since Norm "
            "maps into the simplex, the output stays within the radius shown."
        ),
        example={"head.L_out": 1.0, "head.B_in": 2.0, "X.row2inf": 1.0},
        assumptions=(Assumption("outer map", "φ_out(0) = 0", Status.DECLARED),),
    )
)


def layer_radius(X_row2inf: float, W_v_op: float, W_c_op: float, sigma_lipschitz: float) -> float:
    """How large an output row of the Transformer layer can be, by its node."""
    head = Head(
        1, Spectral(W_v_op), Spectral(0.0), W_c=Spectral(W_c_op), sigma=declared(sigma_lipschitz)
    )
    return float(head.facts(Signal(Magnitude.of(X_row2inf), 1.0, 1)).out.radius)


register(
    Statement(
        id="edelman2021/definition-3.2",
        kind="definition",
        says="A Transformer layer: Y = σ(RowSoftmax(XW_Q(XW_K)ᵀ)XW_V)W_C.",
        quantity="largest ℓ2 norm of an output row of the layer",
        inputs=(
            RADIUS,
            Input("W_v.op", aliases=("B_V",)),
            Input("W_c.op", aliases=("B_C",)),
            SLOPE,
        ),
        printed=Form(
            r"\|y_\tau\|\le L_\sigma B_CB_VB_X",
            lambda X_row2inf, W_v_op, W_c_op, sigma_lipschitz: (
                sigma_lipschitz * W_c_op * W_v_op * X_row2inf
            ),
        ),
        derived=Form(r"\|y_\tau\|\le L_\sigma B_CB_VB_X", layer_radius),
        verdict=Verdict.no_claim(Repair.SYMBOL),
        erratum=(
            "The score is labelled as that of y_t where the context is x_τ; nothing depends on it. "
            "A row of the layer's output stays within the radius shown, whatever the scores."
        ),
        example={"X.row2inf": 1.0, "W_v.op": 2.0, "W_c.op": 3.0, "sigma.lipschitz": 1.0},
        assumptions=(Assumption("activation", "σ(0) = 0", Status.DECLARED),),
    )
)

register(
    Statement(
        id="edelman2021/definition-A.1",
        kind="definition",
        says="Empirical Rademacher complexity: correlation of a class with random signs.",
        quantity="empirical Rademacher complexity of x ↦ x·w, ‖w‖₂ ≤ B, on the worst sample",
        inputs=(SAMPLES, READOUT, RADIUS),
        printed=Form(
            r"\tfrac1m\mathbb E\sup_{\|w\|\le B_w}\sum_i\varepsilon_i\,w\cdot x_i"
            r"=\tfrac{B_w}m\mathbb E\bigl\|\sum_i\varepsilon_ix_i\bigr\|\le B_wB_X/\sqrt m",
            lambda n, w_l2, X_row2inf: w_l2 * X_row2inf / math.sqrt(n),
        ),
        derived=Form(
            r"B_wB_X/\sqrt m,\ \text{attained on orthogonal points}",
            lambda n, w_l2, X_row2inf: w_l2 * X_row2inf / math.sqrt(n),
        ),
        verdict=Verdict.no_claim(),
        erratum="Sound. The class of linear functionals, where the supremum is known, is shown.",
        example={"n": 100, "w.l2": 2.0, "X.row2inf": 1.0},
    )
)
