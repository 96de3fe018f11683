"""Lemmas A.15 and A.16: how one block, and the readout, pass errors on.

>>> from dudley.theorems.registry import evaluate
>>> values = {"w.l2": 2.0, "error.rows": 0.1, "error.w": 0.05}
>>> round(evaluate("edelman2021/lemma-A.16", values).value, 3)
0.25
>>> from dudley.theorems.registry import load
>>> it = load()["edelman2021/lemma-A.15"]
>>> [float(f"{it.evaluate_on(it.example, form).value:.3g}") for form in it.forms]
[0.9, 0.9, 0.6]
"""

from __future__ import annotations

from dataclasses import dataclass

from dudley.calculus.compose import Chain
from dudley.calculus.facts import Signal
from dudley.core.assumption import Assumption, Status
from dudley.core.binding import bundled
from dudley.core.constraint import L2, Spectral
from dudley.core.magnitude import ONE, Magnitude
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Verdict
from dudley.networks.activations import declared
from dudley.networks.blocks import trauger_block
from dudley.networks.outputs import Readout
from dudley.theorems.edelman2021.common import PAPERS, READOUT, SLOPE
from dudley.theorems.edelman2021.perturbation import ROWS, VALUES
from dudley.theorems.registry import register


@dataclass(frozen=True)
class BlockErrors:
    """A block by its norms, and how far its weights (on its inputs) and its inputs are off."""

    sigma_lipschitz: float
    W_c_op: float
    W_v_op: float
    W_QK_op: float
    X_row2inf: float
    error_c: float
    error_rows: float
    error_QK: float
    error_v: float

    def printed(self) -> float:
        L_σB_C = self.sigma_lipschitz * self.W_c_op
        from_rows = L_σB_C * self.W_v_op * (1 + 4 * self.W_QK_op) * self.error_rows
        from_scores = 2 * L_σB_C * self.W_v_op * self.error_QK
        return self.error_c + from_rows + from_scores + L_σB_C * self.error_v

    def derived(self, attention: str = PAPERS) -> float:
        """The block's facts times the errors, each per unit of the inputs its map has."""
        R = self.X_row2inf
        if R == 0:
            return self.error_c  # rows of norm 0 stay where they are
        block = trauger_block(
            1,
            Spectral(self.W_QK_op),
            Spectral(self.W_v_op),
            Spectral(self.W_c_op),
            sigma=declared(self.sigma_lipschitz),  # pyright: ignore[reportArgumentType]
            attention=attention,
        )
        signal = Signal(Magnitude.of(R), 2.0, 1)
        facts = block.facts(signal)
        weight = {use.name.rpartition(".")[2]: float(use.weight) for use in facts.uses}
        hidden = float(Chain(block.nodes[:3]).facts(signal).out.radius)  # of the inputs of W_c
        from_c = weight["W_c"] * (self.error_c / hidden) if hidden > 0 else self.error_c
        from_weights = weight["W_QK"] * (self.error_QK / R) + weight["W_v"] * (self.error_v / R)
        return float(facts.lipschitz) * self.error_rows + from_weights + from_c

    def best(self) -> float:
        return self.derived("softmax")


register(
    Statement(
        id="edelman2021/lemma-A.15",
        kind="lemma",
        says="Errors of a block's weights add to the amplified error of its inputs.",
        quantity="largest ℓ2 change of a row of the block's output",
        inputs=(
            SLOPE,
            Input("W_c.op", aliases=("B_C",)),
            VALUES,
            Input("W_QK.op", aliases=("B_QK",)),
            ROWS,
            Input("error.c"),
            Input("error.rows", "change of the layer's input rows"),
            Input("error.QK"),
            Input("error.v"),
        ),
        printed=Form(
            r"\epsilon_C+L_\sigma B_CB_V(1+4B_{QK})\epsilon_Z"
            r"+2L_\sigma B_CB_V\epsilon_{QK}+L_\sigma B_C\epsilon_V",
            bundled(BlockErrors)(BlockErrors.printed),
        ),
        derived=Form(
            r"\epsilon_C+L_\sigma B_CB_V(1+4R^2B_{QK})\epsilon_Z"
            r"+2R^2L_\sigma B_CB_V\epsilon_{QK}+L_\sigma B_C\epsilon_V",
            bundled(BlockErrors)(BlockErrors.derived),
        ),
        best=Form(
            r"\epsilon_C+L_\sigma B_CB_V(1+2R^2B_{QK})\epsilon_Z"
            r"+R^2L_\sigma B_CB_V\epsilon_{QK}+L_\sigma B_C\epsilon_V",
            bundled(BlockErrors)(BlockErrors.best),
        ),
        verdict=Verdict.true(),
        erratum=(
            "True for input rows of norm at most 1 (every layer but the first; there R²). Only the "
            "norms of the true weights enter, so the covering weights need not obey them. A g is "
            "lost in the first term, whose map is applied to the covered network."
        ),
        example={
            "sigma.lipschitz": 1.0,
            "W_c.op": 1.0,
            "W_v.op": 1.0,
            "W_QK.op": 1.0,
            "X.row2inf": 1.0,
            "error.c": 0.1,
            "error.rows": 0.1,
            "error.QK": 0.1,
            "error.v": 0.1,
        },
        assumptions=(Assumption("activation", "σ(0) = 0", Status.DECLARED),),
    )
)


def readout_moved(w_l2: float, error_rows: float, error_w: float) -> float:
    """The readout's facts on unit rows, times the errors."""
    facts = Readout(L2(w_l2)).facts(Signal(ONE, 1.0, 1))
    return float(facts.lipschitz) * error_rows + float(facts.uses[0].weight) * error_w


register(
    Statement(
        id="edelman2021/lemma-A.16",
        kind="lemma",
        says="The readout adds its own error to ‖w‖ times that of the row it reads.",
        quantity="change of the scalar output",
        inputs=(READOUT, Input("error.rows", "change of the [CLS] row"), Input("error.w")),
        printed=Form(
            r"\|w\|\,\|\Delta g_{\mathrm{[CLS]}}\|+|(w-\hat w)^\top\hat g_{\mathrm{[CLS]}}|",
            lambda w_l2, error_rows, error_w: w_l2 * error_rows + error_w,
        ),
        derived=Form(
            r"\|w\|\,\|\Delta g_{\mathrm{[CLS]}}\|+|(w-\hat w)^\top\hat g_{\mathrm{[CLS]}}|",
            readout_moved,
        ),
        verdict=Verdict.true(),
        erratum="True; the scalar network reads g^{(L+1)}, printed as g^{(L)} in its definition.",
        example={"w.l2": 1.0, "error.rows": 0.1, "error.w": 0.1},
    )
)
