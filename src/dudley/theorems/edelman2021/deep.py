"""Theorem A.17: L Transformer blocks and a readout.

>>> from dudley.theorems.registry import evaluate, load
>>> example = load()["edelman2021/theorem-A.17"].example
>>> [f"{evaluate('edelman2021/theorem-A.17', example, form).log_value:.2f}"
...  for form in ("printed", "derived", "best")]
['24.21', '28.37', '9.59']
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dudley.calculus.compose import Chain
from dudley.calculus.repeat import Repeat
from dudley.core.assumption import Assumption, Status
from dudley.core.binding import bundled
from dudley.core.bound import Bound, Sense, smaller
from dudley.core.constraint import L2
from dudley.core.magnitude import ONE, Magnitude
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Repair, Verdict
from dudley.networks.activations import declared
from dudley.networks.blocks import trauger_block
from dudley.networks.embeddings import Tokens
from dudley.networks.outputs import Readout
from dudley.theorems.edelman2021.common import (
    HIDDEN,
    OWN,
    PAPERS,
    READOUT,
    RESOLUTION,
    SAMPLES,
    SLOPE,
    TOKENS,
    log_cover,
    within,
)
from dudley.theorems.registry import register

QUANTITY = "log covering number of the L-layer network with scalar output"
ASSUMPTIONS = (Assumption("activation", "σ(0) = 0", Status.DECLARED),)


@dataclass(frozen=True)
class LayerBounds:
    """The norm bounds of one layer, in our orientation."""

    W_QK_op: float
    W_QK_row2inf: float
    W_v_op: float
    W_v_col2inf: float
    W_c_op: float
    W_c_col2inf: float

    def amplifies(self, L_σ: float) -> Magnitude:
        """The layer constant L_σ B_C B_V (1 + 4B_QK)."""
        return Magnitude.of(L_σ) * self.W_c_op * self.W_v_op * (1 + 4 * self.W_QK_op)

    def terms(self, d: float, k: float, L_σ: float) -> Magnitude:
        """What the layer adds to the sum in Theorem A.17, before α_i."""
        through = Magnitude.of(L_σ) * self.W_c_op
        sizes = (
            Magnitude.of(d) * self.W_c_col2inf,
            through * self.W_v_op * self.W_QK_row2inf * (2 * d),
            through * self.W_v_col2inf * k,
        )
        return sizes[0] ** (2 / 3) + sizes[1] ** (2 / 3) + sizes[2] ** (2 / 3)


def printed(
    layers: Sequence[LayerBounds],
    d: float,
    k: float,
    n: float,
    T: float,
    L_σ: float,
    w_l2: float,
    ε: float,
    c: float,
) -> Bound:
    """Theorem A.17 as printed: α_i multiplies the layers *before* i, and B_w stands alone."""
    total, α = Magnitude.of(w_l2) ** (2 / 3), ONE
    for layer in layers:
        total = total + α ** (2 / 3) * layer.terms(d, k, L_σ)
        α = α * layer.amplifies(L_σ)
    value = total**3 * (c * math.log(n * T)) / Magnitude.of(ε) ** 2
    return Bound(float(value.log), quantity=QUANTITY, sense=Sense.CONSTANT)


@dataclass(frozen=True)
class Deep:
    """L blocks of equal norms and a readout, on n examples of T tokens."""

    d: int
    k: int
    L: int
    n: float
    T: int
    X_row2inf: float
    sigma_lipschitz: float
    W_QK_op: float
    W_QK_row2inf: float
    W_v_op: float
    W_v_col2inf: float
    W_c_op: float
    W_c_col2inf: float
    w_l2: float
    epsilon: float
    c: float

    def printed(self) -> Bound:
        layer = LayerBounds(
            self.W_QK_op,
            self.W_QK_row2inf,
            self.W_v_op,
            self.W_v_col2inf,
            self.W_c_op,
            self.W_c_col2inf,
        )
        sizes = (self.d, self.k, self.n, self.T)
        rest = (self.sigma_lipschitz, self.w_l2, self.epsilon, self.c)
        return printed([layer] * int(self.L), *sizes, *rest)

    def network(self, attention: str) -> Chain:
        """The network of the calculus.

        Scores of all pairs of rows are one family for W_QK and its transpose, so a bound on the
        rows of W_QK serves as one on the columns of what is covered, z ↦ zW_QKᵀ at the keys.
        """
        block = trauger_block(
            int(self.d),
            within(col2inf=self.W_QK_row2inf, op=self.W_QK_op),
            within(col2inf=self.W_v_col2inf, op=self.W_v_op),
            within(col2inf=self.W_c_col2inf, op=self.W_c_op),
            k=int(self.k),
            sigma=declared(self.sigma_lipschitz),  # pyright: ignore[reportArgumentType]
            attention=attention,
        )
        return Repeat(block, int(self.L)) >> Readout(L2(self.w_l2))

    def covered(self, attention: str, covers: tuple[str, ...] | None) -> Bound:
        inputs = Tokens(self.X_row2inf, int(self.T))
        return log_cover(self.network(attention), inputs, self.epsilon, self.n, covers)

    def derived(self) -> Bound:
        """The paper's way: its cover at all nT rows, its softmax constant."""
        return self.covered(PAPERS, OWN)

    def best(self) -> Bound:
        return smaller(self.derived(), self.covered("softmax", None))


register(
    Statement(
        id="edelman2021/theorem-A.17",
        kind="theorem",
        says="A cover of L Transformer blocks with readout, layer by layer.",
        quantity=QUANTITY,
        inputs=(
            Input("d"), Input("k"), Input("L"), SAMPLES, TOKENS,
            Input("X.row2inf", "largest norm of a token; the proof takes 1", 1.0, ("B_X",)),
            SLOPE,
            Input("W_QK.op", aliases=("B_QK",)),
            Input("W_QK.row2inf", "the paper's ‖W_KW_Qᵀ‖_{2,∞}", aliases=("B_QK_inf",)),
            Input("W_v.op", aliases=("B_V",)),
            Input("W_v.col2inf", aliases=("B_V_inf",)),
            Input("W_c.op", aliases=("B_C",)),
            Input("W_c.col2inf", aliases=("B_C_inf",)),
            READOUT, RESOLUTION, HIDDEN,
        ),
        printed=Form(
            r"c\tfrac{\log(mT)}{\varepsilon^2}\Bigl(B_w^{2/3}+\sum_i\alpha_i^{2/3}\bigl("
            r"(dB_C^\infty)^{2/3}+(2dL_\sigma B_CB_VB_{QK}^\infty)^{2/3}"
            r"+(kL_\sigma B_CB_V^\infty)^{2/3}\bigr)\Bigr)^3,\ "
            r"\alpha_i=\prod_{j<i}L_\sigma B_CB_V(1+4B_{QK})",
            bundled(Deep)(Deep.printed),
            Sense.CONSTANT,
        ),
        derived=Form(
            r"36\tfrac\Lambda{\varepsilon^2}\Bigl(B_w^{2/3}+\sum_i(B_w\alpha_i)^{2/3}\bigl("
            r"(L_\sigma dB_C^\infty)^{2/3}+(2L_\sigma B_CB_VR_i^3dB_{QK}^\infty)^{2/3}"
            r"+(L_\sigma B_CkB_V^\infty R_i)^{2/3}\bigr)\Bigr)^3,\ "
            r"\alpha_i=\prod_{j>i}L_\sigma B_CB_V(1+4B_{QK}),\ R_1=B_X,\ R_i=1",
            bundled(Deep)(Deep.derived),
        ),
        best=Form(r"\text{every cover, softmax constant }1", bundled(Deep)(Deep.best)),
        verdict=Verdict.false(Repair.HYPOTHESIS),
        erratum=(
            "The sum lacks the factor B_w^{2/3}, which the proof's last display has (ε = "
            "B_w Σα_i(…) + ε_w): with B_w → ∞ and ε = ε₀B_w the printed value tends to log(mT)/ε₀² "
            "while the class can have every sign pattern on m inputs. Further: the recursion "
            "gives α_i = ∏_{j>i}; the inputs of W_C have norm up to L_σ, so its term takes L_σ; "
            "‖X‖ ≤ 1 is used and not stated (else R₁ = B_X enters as shown). Layers of equal "
            "norms are evaluated here."
        ),
        example={
            "d": 16, "k": 16, "L": 3, "n": 10_000, "T": 128, "X.row2inf": 1.0,
            "sigma.lipschitz": 1.0, "W_QK.op": 1.0, "W_QK.row2inf": 1.0, "W_v.op": 1.0,
            "W_v.col2inf": 1.0, "W_c.op": 1.0, "W_c.col2inf": 1.0, "w.l2": 1.0, "epsilon": 0.1,
        },
        assumptions=ASSUMPTIONS,
    )
)  # fmt: skip
