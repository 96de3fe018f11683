"""Definition 2.6 and Lemmas E.2, E.3: the block, and what a change of its weights does.

In Definition 2.6 the map f already contains σ, and g = Π(σ(Π(f))W_c) applies it again; the
constants of Lemma E.2 belong to a block with one σ. On rows of norm ≤ R the block as defined has

    ‖Δg‖ ≤ ‖h ΔW_c‖ + L_σ²B_c ( ‖zΔW_v‖ + B_v R²‖zΔW_QK‖ + B_v(1 + 2B_QK R²)‖Δz‖ ),

with the sharp softmax constant 1; the first layer has R = B_x, not 1.

>>> from dudley.theorems.registry import evaluate
>>> values = {"W_QK.op": 0.5, "W_v.op": 1.0, "W_c.op": 1.0, "sigma.lipschitz": 2.0}
>>> forms = ("printed", "derived")
>>> [round(evaluate("trauger2024/definition-2.6", values, form).value, 9) for form in forms]
[6.0, 8.0]
>>> from dudley.theorems.registry import load
>>> it = load()["trauger2024/lemma-E.2"]
>>> [float(f"{it.evaluate_on(it.example, form).value:.3g}") for form in it.forms]
[0.34, 0.23]
>>> it = load()["trauger2024/lemma-E.3"]
>>> [float(f"{it.evaluate_on(it.example, form).value:.3g}") for form in it.forms]
[0.25, 0.25]
"""

from __future__ import annotations

from dudley.calculus.compose import Chain
from dudley.calculus.facts import Facts
from dudley.core.constraint import L2, Constraint, Spectral
from dudley.core.errors import InputError
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Repair, Verdict
from dudley.networks.activations import Activation, declared as declared_sigma
from dudley.networks.head import Head
from dudley.networks.outputs import Readout
from dudley.networks.pointwise import Activate, Dense, ProjectRows
from dudley.theorems.registry import register
from dudley.theorems.trauger2024.peeling import tokens

WIDTH = 2  # facts about spectral norms do not depend on the width
SPECTRAL = (
    Input("W_QK.op", aliases=("B_QK2",)),
    Input("W_v.op", aliases=("B_v2",)),
    Input("W_c.op", aliases=("B_c2",)),
    Input("sigma.lipschitz", aliases=("L_sigma",)),
)
RADIUS = Input("X.row2inf", "largest ℓ2 norm of a row that enters the block", 1.0, ("B_x",))


def block_with_two_activations(
    d: int,
    W_QK: Constraint,
    W_v: Constraint,
    W_c: Constraint,
    k: int | None = None,
    sigma: str | Activation = "relu",
) -> Chain:
    """Z ↦ Π(σ(Π(σ(softmax(Z W_QK Zᵀ) Z W_v))) W_c): Definition 2.6 to the letter."""
    head = Head(d, W_v, W_QK, k=k, sigma=sigma)
    output = Dense(k or d, W_c, d, names=("W_c", "b_c"))
    return Chain((head, ProjectRows(), Activate(sigma), output, ProjectRows()))


def facts(
    W_QK_op: float, W_v_op: float, W_c_op: float, sigma_lipschitz: float, X_row2inf: float
) -> Facts:
    """The calculus on the block as defined."""
    σ = declared_sigma(sigma_lipschitz)
    norms = (Spectral(W_QK_op), Spectral(W_v_op), Spectral(W_c_op))
    block = block_with_two_activations(WIDTH, *norms, sigma=σ)
    return block.facts(tokens(X_row2inf).signal(WIDTH))


def printed_slope(W_QK_op: float, W_v_op: float, W_c_op: float, sigma_lipschitz: float) -> float:
    return sigma_lipschitz * W_c_op * W_v_op * (1 + 4 * W_QK_op)


def slope(
    W_QK_op: float, W_v_op: float, W_c_op: float, sigma_lipschitz: float, X_row2inf: float
) -> float:
    return float(facts(W_QK_op, W_v_op, W_c_op, sigma_lipschitz, X_row2inf).lipschitz)


def printed_change(
    W_QK_op: float,
    W_v_op: float,
    W_c_op: float,
    sigma_lipschitz: float,
    error_rows: float,
    error_QK: float,
    error_v: float,
    error_c: float,
) -> float:
    through = sigma_lipschitz * W_c_op
    return (
        error_c
        + printed_slope(W_QK_op, W_v_op, W_c_op, sigma_lipschitz) * error_rows
        + 2 * through * W_v_op * error_QK
        + through * error_v
    )


def change(
    W_QK_op: float,
    W_v_op: float,
    W_c_op: float,
    sigma_lipschitz: float,
    X_row2inf: float,
    error_rows: float,
    error_QK: float,
    error_v: float,
    error_c: float,
) -> float:
    if X_row2inf == 0:
        raise InputError("X.row2inf", "a number > 0", X_row2inf)
    block = facts(W_QK_op, W_v_op, W_c_op, sigma_lipschitz, X_row2inf)
    errors = {"0.W_QK": error_QK, "0.W_v": error_v}
    # A use's weight is for errors on unit inputs; the errors here are on rows of norm ≤ R.
    weights = {use.name: float(use.weight / X_row2inf) for use in block.uses}
    moved = sum(weights[name] * error for name, error in errors.items())
    return error_c + float(block.lipschitz) * error_rows + moved


DEFINITION_2_6 = register(
    Statement(
        id="trauger2024/definition-2.6",
        kind="definition",
        says="Heads, sums of heads, and blocks g = Π(σ(Π(f))W_c) with f = σ(softmax(·)XW_v).",
        quantity="Lipschitz constant of one block, largest ℓ2 norm of a row",
        inputs=(*SPECTRAL, RADIUS),
        printed=Form(r"L_\sigma B_{c2}B_{v2}(1+4B_{QK2})", printed_slope),
        derived=Form(r"L_\sigma^2B_{c2}B_{v2}(1+2B_{QK2}R^2)", slope),
        verdict=Verdict.no_claim(Repair.SYMBOL),
        erratum=(
            "Three points of notation. W_Q and W_K are d×k, not d×T (else the parameters would "
            "depend on the sequence length). f contains σ and g applies σ again: the constants "
            "that appendix E uses hold for the block with one σ; as defined they need L_σ². The "
            "[CLS] row attends with softmax(X W_QKᵀ x_cls), later written with W_QK, which matters "
            "for norms that have an orientation."
        ),
        example={"W_QK.op": 0.5, "W_v.op": 1.0, "W_c.op": 1.0, "sigma.lipschitz": 2.0},
    )
)

LEMMA_E_2 = register(
    Statement(
        id="trauger2024/lemma-E.2",
        kind="lemma",
        says="A block's output moves by a weighted sum of the errors of its weights and its input.",
        quantity="largest ℓ2 change of an output row of one block",
        inputs=(
            *SPECTRAL,
            RADIUS,
            Input("error.rows"),
            Input("error.QK", "largest ‖zΔW_QK‖₂ over the covered rows z"),
            Input("error.v", "largest ‖zΔW_v‖₂ over the covered rows z"),
            Input("error.c", "largest ‖hΔW_c‖₂ over the covered inputs h of W_c"),
        ),
        printed=Form(
            r"e_c+L_\sigma B_{c2}B_{v2}(1+4B_{QK2})\,\|\Delta g\|_{2,\infty}"
            r"+2L_\sigma B_{c2}B_{v2}\,e_{QK}+L_\sigma B_{c2}\,e_v",
            printed_change,
        ),
        derived=Form(
            r"e_c+L_\sigma^2B_{c2}B_{v2}(1+2B_{QK2}R^2)\,\|\Delta g\|_{2,\infty}"
            r"+L_\sigma^2B_{c2}B_{v2}R^2\,e_{QK}+L_\sigma^2B_{c2}\,e_v",
            change,
        ),
        verdict=Verdict.false(Repair.HYPOTHESIS),
        erratum=(
            "True for rows in the unit ball and a block with one σ. With f as the paper defines it "
            "σ acts twice, so every term but the first needs L_σ². And the first layer sees tokens "
            "of norm up to B_x: its score terms need B_x², also for σ = identity."
        ),
        example={
            "W_QK.op": 0.5,
            "W_v.op": 1.0,
            "W_c.op": 1.0,
            "sigma.lipschitz": 1.0,
            "error.rows": 0.1,
            "error.QK": 0.01,
            "error.v": 0.01,
            "error.c": 0.01,
        },
    )
)

LEMMA_E_3 = register(
    Statement(
        id="trauger2024/lemma-E.3",
        kind="lemma",
        says="The readout moves by ‖w‖ times the change of the row plus the error of w on it.",
        quantity="change of the scalar output",
        inputs=(Input("w.l2", aliases=("B_w",)), Input("error.output"), Input("error.w")),
        printed=Form(
            r"\|w\|\,\|\Delta g_{\mathrm{[CLS]}}\|+|(w-\hat w)^\top\hat g_{\mathrm{[CLS]}}|",
            lambda w_l2, error_output, error_w: w_l2 * error_output + error_w,
        ),
        derived=Form(
            r"\|w\|_2\|\Delta g_{\mathrm{[CLS]}}\|_2+|(w-\hat w)\cdot\hat g_{\mathrm{[CLS]}}|",
            lambda w_l2, error_output, error_w: (
                float(Readout(L2(w_l2)).facts(tokens(1.0).signal(WIDTH)).lipschitz) * error_output
                + error_w
            ),
        ),
        verdict=Verdict.true(),
        erratum="",
        example={"w.l2": 2.0, "error.output": 0.1, "error.w": 0.05},
    )
)
