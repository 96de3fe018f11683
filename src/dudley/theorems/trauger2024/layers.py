"""Theorem 4.2: the covering number of L blocks with a readout, from covers of the linear maps.

With blocks g ↦ Π(σ(Π(softmax(·)gW_v))W_c), softmax constant 1, R_1 = B_x and R_i = 1 for i ≥ 2, the
calculus gives for each matrix the change of the output per unit error of its map:

    w: 1        W_c⁽ⁱ⁾: B_wα_i    W_v⁽ⁱ⁾: B_wα_iL_σB_c    W_QK⁽ⁱ⁾: B_wα_iL_σB_cB_vR_i²,

α_i = Π_{j>i} L_σB_cB_v(1 + 2B_QK), on inputs of norm 1, L_σ, R_i and R_i. Lemma E.1 does the rest.
Against this the printed γ lacks the term of W_c⁽¹⁾, has B_v for B_c and no α_1 in that of W_v⁽¹⁾,
and no B_x² in that of W_QK⁽¹⁾; τ_i has B_v for B_c.

>>> from dudley.theorems.registry import evaluate
>>> norms = {"W_QK.op": 1.0, "W_v.op": 1.0, "W_c.op": 1.0, "w.l2": 1.0, "sigma.lipschitz": 1.0}
>>> values = norms | {"L": 2, "X.row2inf": 4.0, "class.C": 9.0, "class.C_input": 144.0}
>>> values["epsilon"] = 0.5
>>> [round(evaluate("trauger2024/theorem-4.2", values, f).value) for f in ("printed", "derived")]
[185864, 3194420]

The proof covers each matrix by itself, so each may have a C of its own; a fixed one has C = 0:

>>> values |= {"class.C_QK": 0.0, "class.C_w": 1.0}
>>> round(evaluate("trauger2024/theorem-4.2", values).value)
33907
"""

from __future__ import annotations

import math

import numpy as np

from dudley.calculus.allocate import log_sum, power_law
from dudley.calculus.compose import Chain
from dudley.calculus.repeat import Repeat
from dudley.core.assumption import Assumption, Status
from dudley.core.bound import Bound, Sense
from dudley.core.constraint import L2, Constraint, Spectral
from dudley.core.magnitude import ONE, Magnitude
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Repair, Verdict
from dudley.core.vocabulary import VOCABULARY
from dudley.networks.activations import declared as declared_sigma
from dudley.networks.blocks import trauger_block
from dudley.networks.outputs import Readout
from dudley.theorems.registry import register
from dudley.theorems.trauger2024.peeling import tokens

QUANTITY = "log covering number of L blocks with a readout, for any number of points"
WIDTH = 2  # weights made of spectral norms do not depend on the width
SPECTRAL = (
    Input("L"),
    Input("T", "tokens per example; any number if not given", math.inf),
    Input("W_QK.op", aliases=("B_QK2",)),
    Input("W_v.op", aliases=("B_v2",)),
    Input("W_c.op", aliases=("B_c2",)),
    Input("w.l2", aliases=("B_w",)),
    Input("sigma.lipschitz", aliases=("L_sigma",)),
)
OWN_C = ("class.C_QK", "class.C_v", "class.C_c", "class.C_w")
SIGMA = Assumption("sigma", "σ acts entrywise and σ(0) = 0, once per block", Status.DECLARED)
MISSING = (
    "Compared with the paper's own proof, γ lacks the term of the first W_c, the term of the first "
    "W_v has B_v2 for B_c2 and no α_1, and τ_i has B_v2 for B_c2 as well. Beyond the proof: the "
    "first layer sees tokens of norm B_x, so its W_v needs C_{B_x} and its W_QK a further factor "
    "B_x² (B_x⁶ in the log-cover); inputs of W_c have norm up to L_σ."
)


def network(
    sizes: tuple[int, int],
    L: float,
    W_QK: Constraint,
    W_v: Constraint,
    W_c: Constraint,
    w: Constraint,
    L_σ: float,
) -> Chain:
    """L blocks of the paper (σ once) and a readout of the [CLS] row."""
    d, k = sizes
    block = trauger_block(d, W_QK, W_v, W_c, k=k, sigma=declared_sigma(L_σ))  # pyright: ignore[reportArgumentType]
    return Repeat(block, int(L)) >> Readout(w)


def of_log(log_value: float) -> Bound:
    """A bound by its logarithm: deep networks leave the floats."""
    return Bound(float(log_value), "", Sense.SURELY)


def printed_form(
    L: float, norms: tuple, C_1: float | Magnitude, C_in: float | Magnitude, epsilon: float
) -> Bound:
    """(γ + η)³/ε² as printed; the norms are B_QK2, B_v2, B_c2, B_w and L_σ."""
    B_QK, *others = norms
    B_v, B_c, B_w, L_σ = (Magnitude.of(b) for b in others)
    step = L_σ * B_c * B_v * (1 + 4 * B_QK)
    α_1 = step ** (L - 1) if L > 1 else ONE
    C_1, C_in = Magnitude.of(C_1) ** (1 / 3), Magnitude.of(C_in) ** (1 / 3)
    γ = C_in * (2 * L_σ * B_c * B_v * α_1 * B_w) ** (2 / 3) + C_1 * (
        1 + (B_w * L_σ * B_v) ** (2 / 3)
    )
    η = Magnitude(-math.inf)
    if L > 1:
        α = Magnitude(float(step.log) * np.arange(L - 1) if step.log > -math.inf else last(L))
        τ = α ** (2 / 3) + (2 * α * L_σ * B_c * B_v) ** (2 / 3) + (α * L_σ * B_v) ** (2 / 3)
        η = C_1 * B_w ** (2 / 3) * Magnitude(float(log_sum(np.asarray(τ.log))))
    return of_log(float(((γ + η) ** 3 / epsilon**2).log))


def last(L: float) -> np.ndarray:
    """log α_i of the last layers when a step is 0: only the last layer matters."""
    return np.where(np.arange(L - 1) == 0, 0.0, -math.inf)


def printed(
    L: float,
    W_QK_op: float,
    W_v_op: float,
    W_c_op: float,
    w_l2: float,
    sigma_lipschitz: float,
    class_C: float,
    class_C_input: float,
    epsilon: float,
) -> Bound:
    norms = (W_QK_op, W_v_op, W_c_op, w_l2, sigma_lipschitz)
    return printed_form(L, norms, class_C, class_C_input, epsilon)


def derived(
    L: float,
    T: float,
    W_QK_op: float,
    W_v_op: float,
    W_c_op: float,
    w_l2: float,
    sigma_lipschitz: float,
    X_row2inf: float,
    class_C: float,
    class_C_input: float,
    epsilon: float,
    class_C_QK: float = math.inf,
    class_C_v: float = math.inf,
    class_C_c: float = math.inf,
    class_C_w: float = math.inf,
) -> Bound:
    balls = (Spectral(W_QK_op), Spectral(W_v_op), Spectral(W_c_op), L2(w_l2))
    net = network((WIDTH, WIDTH), L, *balls, sigma_lipschitz)
    facts = net.facts(tokens(X_row2inf, T).signal(WIDTH))
    if facts.out.radius.log == -math.inf:  # one member, whatever the covers
        return of_log(-math.inf)
    of_each = {"W_QK": class_C_QK, "W_v": class_C_v, "W_c": class_C_c, "w": class_C_w}
    weights, constants = [], []
    for use in facts.uses:
        logs = np.ravel(np.asarray(use.weight.log, dtype=float))
        name = use.name.rpartition(".")[2]
        C = np.full(logs.shape, min(class_C, of_each[name]))
        if X_row2inf > 0 and name in ("W_QK", "W_v"):
            C[0] = min(C[0], class_C_input / X_row2inf**2)  # both are covers on unit inputs
        weights.append(logs)
        constants.append(C)
    log_β = np.concatenate(weights)
    peak = log_β.max()
    if peak == -math.inf:
        return of_log(-math.inf)
    β = np.exp(np.maximum(log_β - peak, -200.0))  # raising the smallest weights is safe
    value, _ = power_law(np.concatenate(constants), β, 1.0)
    return of_log((math.log(value) if value > 0 else -math.inf) + 2 * (peak - math.log(epsilon)))


THEOREM_4_2 = register(
    Statement(
        id="trauger2024/theorem-4.2",
        kind="theorem",
        says="The log covering number of L blocks from those of the linear maps inside.",
        quantity=QUANTITY,
        inputs=(
            *SPECTRAL,
            Input("X.row2inf", aliases=("B_x",)),
            Input("class.C", "C_1: C in log N(ε) ≤ C/ε² for every linear map on unit inputs"),
            Input("class.C_input", "C_{B_x}: the same on inputs of norm ≤ B_x"),
            *(Input(name, f"{VOCABULARY[name]}; C_1 if not given", math.inf) for name in OWN_C),
            Input("epsilon"),
        ),
        printed=Form(
            r"\frac{(\gamma+\eta)^3}{\varepsilon^2},\quad\gamma=C_{B_x}^{1/3}"
            r"(2L_\sigma B_{c2}B_{v2}\alpha_1B_w)^{2/3}"
            r"+C_1^{1/3}\bigl(1+(B_wL_\sigma B_{v2})^{2/3}\bigr),\quad"
            r"\eta=C_1^{1/3}B_w^{2/3}\sum_{i\ge2}\bigl(\alpha_i^{2/3}"
            r"+(2\alpha_iL_\sigma B_{c2}B_{v2})^{2/3}"
            r"+(\alpha_iL_\sigma B_{v2})^{2/3}\bigr),\quad"
            r"\alpha_i=\textstyle\prod_{j>i}L_\sigma B_{c2}B_{v2}(1+4B_{QK2})",
            printed,
        ),
        derived=Form(
            r"\frac{1}{\varepsilon^2}\Bigl(C_w^{1/3}+\sum_{i\le L}(B_w\alpha_i)^{2/3}\bigl["
            r"C_c^{1/3}L_\sigma^{2/3}+C_{v,i}^{1/3}(L_\sigma B_{c2}R_i)^{2/3}"
            r"+C_{QK,i}^{1/3}(L_\sigma B_{c2}B_{v2}R_i^3)^{2/3}\bigr]\Bigr)^3,"
            r"\quad C_m\text{ of each matrix on unit inputs},\ \alpha_i=\textstyle\prod_{j>i}"
            r"L_\sigma B_{c2}B_{v2}(1+2B_{QK2})",
            derived,
        ),
        verdict=Verdict.false(Repair.HYPOTHESIS),
        erratum=(
            f"{MISSING} Two instances refute it: a class with two members, and 2^m heads that m "
            "inputs tell apart."
        ),
        assumptions=(SIGMA,),
        example={
            "L": 2,
            "W_QK.op": 1.0,
            "W_v.op": 1.0,
            "W_c.op": 1.0,
            "w.l2": 1.0,
            "sigma.lipschitz": 1.0,
            "X.row2inf": 4.0,
            "class.C": 9.0,
            "class.C_input": 144.0,
            "epsilon": 0.5,
        },
    )
)
