"""The three architectures of the paper and what all its bounds take.

Single-layer predictors (2), (3) are bounded by A = H·B_wB_cB_vL_σ·B, where B may be the largest
token norm: an attention average of tokens is no longer than the longest one. The L-layer predictor
(5) ends in Π, so A = B_w. Excess losses are at most M = κ(B + A); the paper's M_SH is 2M.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dudley.core.assumption import Assumption, Status
from dudley.core.statement import Input
from dudley.theorems.excess import ASSUMPTIONS as ERM, ExcessTask

LEARNING = (
    Input("n"),
    Input("kappa"),
    Input("target.bound", aliases=("B",)),
    Input("class.approximation", default=0.0),
    Input("noise.free", default=0.0),
    Input("bernstein.V", default=math.inf),
)
RESOLUTION = Input("resolution", "resolution δ of the cover; the best one if not given", math.inf)
SIGMA = Input("sigma.lipschitz", aliases=("L_sigma",))
HEADS = Input("H")
X_OP = Input("X.op", aliases=("B_X",))
TOKENS = Input("X.row2inf", "largest ℓ2 norm of a token; at most X.op", math.inf, ("B_x",))
SPECTRAL = (
    Input("W_v.op", aliases=("B_v",)),
    Input("W_c.op", aliases=("B_c",)),
    Input("w.l2", aliases=("B_w",)),
    SIGMA,
)
ASSUMPTIONS = (
    *ERM,
    Assumption("sigma", "σ acts entrywise and σ(0) = 0", Status.DECLARED),
    Assumption(
        "target",
        "|f*(X)| is at most target.bound, and inf_F exc at most class.approximation",
        Status.DECLARED,
    ),
)
PROJECTION = Assumption("Π", "it projects each row onto the unit ball", Status.DECLARED)


def of_stack(inputs: tuple[Input, ...]) -> tuple[Assumption, ...]:
    """What a statement about layers assumes of Π; nothing if it is about heads."""
    return (PROJECTION,) if any(i.name == "L" for i in inputs) else ()


@dataclass(frozen=True)
class Learning:
    """The inputs that every excess-risk bound of the paper shares."""

    n: float
    kappa: float
    target_bound: float
    class_approximation: float
    noise_free: float
    bernstein_V: float

    def task(self, A: float) -> ExcessTask:
        """The learning problem over predictors with |f| ≤ A."""
        return ExcessTask(
            self.n,
            self.kappa,
            A,
            self.target_bound,
            self.class_approximation,
            self.noise_free == 1,
            self.bernstein_V,
        )

    def twice_M(self, A: float) -> float:
        """The paper's M_SH, M_MH or 2κ(B + B_w)."""
        return 2 * self.kappa * (self.target_bound + A)


@dataclass(frozen=True)
class SpectralLayer(Learning):
    """A single layer of H heads under spectral bounds (assumptions 4.1 to 4.3, 4.6)."""

    H: float
    W_v_op: float
    W_c_op: float
    w_l2: float
    sigma_lipschitz: float
    X_op: float
    X_row2inf: float

    @property
    def slope(self) -> float:
        """The largest prediction on tokens of norm 1."""
        return self.H * self.w_l2 * self.W_c_op * self.W_v_op * self.sigma_lipschitz

    @property
    def R(self) -> float:
        """The largest token norm."""
        return min(self.X_op, self.X_row2inf)

    @property
    def printed_A(self) -> float:
        return self.slope * self.X_op

    @property
    def A(self) -> float:
        """The largest prediction."""
        return self.slope * self.R


@dataclass(frozen=True)
class SpectralStack(Learning):
    """L layers that end in Π (assumptions 4.9, 4.10): only the readout bounds the prediction."""

    w_l2: float

    @property
    def A(self) -> float:
        """The largest prediction."""
        return self.w_l2

    printed_A = A
