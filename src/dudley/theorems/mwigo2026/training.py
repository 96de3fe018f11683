"""Gradient descent near its initialisation: the quantities of Lemma 4 and its hypotheses, checked.

    ρ = N^{1/2} d_s^{3/2} R_X,
    M = max(ξ_V/R_O, η_O/R_V, (2/√d_m)R_X²d_s ξ_Kξ_Vη_O/R_Q, (2/√d_m)R_X²d_s ξ_Qξ_Vη_O/R_K),
    z = η_O²(1 + (4/d_m)R_X⁴d_s² ξ_V²(ξ_Q² + ξ_K²)),

and M̂, ẑ the same with η for ξ. As ξ ≤ η, M ≤ M̂ and z ≤ ẑ: in a denominator the hats go down.
The paper asks for α² ≥ 8ρM√(2Φ⁰), α³ ≥ 32ρ²z√(2Φ⁰)/η_O and d_m ≥ N³ up to logarithms.

>>> start = TrainingStart(n=2, T=1, k=8, X_fro=1.0, W_Q_fro=3.0, W_K_fro=3.0, W_v_fro=3.0, w_l2=2.0,
...     W_Q_op=2.0, W_K_op=2.0, W_v_op=2.0, W_Q_moved=1.0, W_K_moved=1.0, W_v_moved=1.0,
...     w_moved=1.0, features_smin=1.0, loss_initial=0.5, correlation_c=1.0, delta=0.05)
>>> round(start.ρ, 3), round(start.M, 3), round(start.M_hat, 3), start.z, start.z_hat
(1.414, 5.657, 12.728, 68.0, 328.0)
>>> [(h.name, h.holds) for h in start.hypotheses]
[('features', False), ('features, cubed', False), ('width', True)]
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dudley.core.assumption import Assumption, Status
from dudley.core.errors import InputError
from dudley.core.statement import Input
from dudley.theorems.mwigo2026.encoder import NORMS, SIZES, moved, spectral

START = (
    Input("features.smin", aliases=("alpha",)),
    Input("loss.initial", aliases=("Phi_0",)),
    Input("correlation.c"),
    Input("delta"),
    Input("loss.at_label", "ℓ(y, y) is at most this; the paper's proof takes it to be 0", 0.0),
)
TRAINING = (
    Input("step.size"),
    Input("steps", aliases=("t",)),
)
TRAINED = (*(i for i in SIZES if i.name != "d"), *NORMS, *spectral(), *moved(), *START, *TRAINING)
QUOTED = (
    Assumption(
        "convergence",
        "Φ(θᵗ) ≤ (1 − γα²/2)ᵗ Φ(θ⁰), as quoted from Wu et al. (2024), gradient descent on Φ",
        Status.DECLARED,
    ),
    Assumption("step size", "γ ≤ 1/k, a constant that the paper does not name", Status.DECLARED),
    Assumption("inputs", "full row rank, and the tail of Assumption 3", Status.UNCHECKABLE),
    Assumption(
        "loss",
        "ℓ ≥ 0 is 1-Lipschitz in the prediction, ℓ(y, y) ≤ loss.at_label",
        Status.DECLARED,
    ),
)


@dataclass(frozen=True)
class TrainingHypothesis:
    """left ≥ right, with both sides as text."""

    name: str
    left: float
    right: float
    sides: tuple[str, str]

    @property
    def holds(self) -> bool:
        return self.left >= self.right

    @property
    def text(self) -> str:
        relation = "≥" if self.holds else "<"
        (left, right), outcome = self.sides, "holds" if self.holds else "DOES NOT HOLD"
        return f"{left} = {self.left:.4g} {relation} {right} = {self.right:.4g}: {outcome}"


@dataclass(frozen=True)
class TrainingStart:
    """What is known of the weights, the features and the fit at initialisation."""

    n: float
    T: float
    k: float
    X_fro: float
    W_Q_fro: float
    W_K_fro: float
    W_v_fro: float
    w_l2: float
    W_Q_op: float
    W_K_op: float
    W_v_op: float
    W_Q_moved: float
    W_K_moved: float
    W_v_moved: float
    w_moved: float
    features_smin: float
    loss_initial: float
    correlation_c: float
    delta: float
    loss_at_label: float = 0.0

    def __post_init__(self) -> None:
        for W in ("W_Q", "W_K", "W_v"):
            R, ξ, η = (getattr(self, f"{W}_{what}") for what in ("moved", "op", "fro"))
            if not 0 < R <= ξ <= η:
                raise InputError(f"{W}.moved, {W}.op, {W}.fro", "0 < R ≤ ξ ≤ η", (R, ξ, η))
        if not 0 < self.w_moved <= self.w_l2:
            raise InputError("w.moved, w.l2", "0 < R_O ≤ η_O", (self.w_moved, self.w_l2))

    @property
    def ρ(self) -> float:
        return math.sqrt(self.n) * self.T * self.X_fro

    @property
    def M(self) -> float:
        return self._M(self.W_Q_op, self.W_K_op, self.W_v_op)

    @property
    def M_hat(self) -> float:
        return self._M(self.W_Q_fro, self.W_K_fro, self.W_v_fro)

    @property
    def z(self) -> float:
        return self._z(self.W_Q_op, self.W_K_op, self.W_v_op)

    @property
    def z_hat(self) -> float:
        return self._z(self.W_Q_fro, self.W_K_fro, self.W_v_fro)

    def _M(self, Q: float, K: float, V: float) -> float:
        scores = 2 / math.sqrt(self.k) * self.X_fro**2 * V * self.w_l2
        return max(
            V / self.w_moved,
            self.w_l2 / self.W_v_moved,
            scores * K / self.W_Q_moved,
            scores * Q / self.W_K_moved,
        )

    def _z(self, Q: float, K: float, V: float) -> float:
        return self.w_l2**2 * (1 + 4 / self.k * self.X_fro**4 * V**2 * (Q**2 + K**2))

    @property
    def residual(self) -> float:
        """√(2Φ⁰), the ℓ2 norm of the errors at initialisation."""
        return math.sqrt(2 * self.loss_initial)

    @property
    def printed(self) -> float:
        """The bound of Lemma 4 on the training loss, as printed."""
        α, root = self.features_smin, math.sqrt(self.n)
        first = α**2 / (8 * self.ρ * self.M_hat * root)
        return min(first, α**3 * self.w_l2 / (32 * self.ρ**4 * self.z_hat * root))

    def training_loss(self, γ: float, t: float) -> float:
        """ℓ(y, y) + (1 − γα²/2)^{t/2} √(2Φ⁰/N)."""
        shrink = 1 - γ * self.features_smin**2 / 2
        if shrink < 0:
            raise InputError("step.size", f"at most 2/α² = {2 / self.features_smin**2:.4g}", γ)
        distance = shrink ** (t / 2) * math.sqrt(2 * self.loss_initial / self.n)
        return self.loss_at_label + distance

    @property
    def hypotheses(self) -> tuple[TrainingHypothesis, ...]:
        α, fit = self.features_smin, self.residual
        cubed = 32 * self.ρ**2 * self.z * fit / self.w_l2
        return (
            TrainingHypothesis("features", α**2, 8 * self.ρ * self.M * fit, ("α²", "8ρM√(2Φ⁰)")),
            TrainingHypothesis("features, cubed", α**3, cubed, ("α³", "32ρ²z√(2Φ⁰)/η_O")),
            TrainingHypothesis(
                "width", self.k, self.n**3, ("d_m", "N³, without Ω̃'s constant and logs,")
            ),
        )

    def failure(self, δ: float) -> float:
        """8e^{−d_m/2} + δ + exp(−(N−1)^{−c}/d_s), with 1 for the constant of Ω."""
        others = self.n - 1
        power = others**-self.correlation_c if others > 0 else math.inf
        return 8 * math.exp(-self.k / 2) + δ + math.exp(-power / self.T)

    def assumptions(self, δ: float) -> tuple[Assumption, ...]:
        """The hypotheses with what was found, and the probability that the paper states."""
        checked = [Assumption(h.name, h.text, Status.CHECKED) for h in self.hypotheses]
        p = 1 - self.failure(δ)
        said = "says nothing" if p <= 0 else "over the initialisation"
        stated = f"the paper's 1 − … is {p:.4g} with 1 for the constant of Ω: {said}"
        return (*checked, Assumption("probability", stated, Status.CHECKED))

    def details(self, δ: float) -> dict:
        """The hypotheses as plain data."""
        each = [{"name": h.name, "holds": h.holds, "statement": h.text} for h in self.hypotheses]
        every = all(h.holds for h in self.hypotheses)
        return {"hypotheses": each, "hypotheses_hold": every, "probability": 1 - self.failure(δ)}

    @property
    def note(self) -> str:
        """What a reader must see beside the number."""
        failing = [h.name for h in self.hypotheses if not h.holds]
        return f"hypotheses that do not hold: {'; '.join(failing)}" if failing else ""
