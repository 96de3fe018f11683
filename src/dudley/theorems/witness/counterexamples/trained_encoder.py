"""A shallow encoder trained from LeCun initialisation: hypotheses that hold, bounds that do not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dudley.theorems.witness.base import WITNESSES, Witness
from dudley.theorems.witness.premises import Premise, at_most, is_lipschitz

WIDTHS = (1_000_000, 2_000_000, 4_000_000)
R_NEAR, R_SCORES = 0.2, 1.0  # R_V = R_O, and R_Q = R_K
SPECTRAL = 2.01  # of the square matrices of order k ≥ 10⁶, with probability ≥ 1 − 3e^{−50}
STEP = 1e-6


def within_radii(
    norms: tuple[float, float, float, float], scores: float, near: float
) -> dict[str, float]:
    """η, ξ and R of every block for the first norms of W_Q, W_K, W_V (Frobenius) and w.

    ``scores`` is R_Q = R_K, ``near`` is R_V = R_O.
    """
    Q, K, V, w = norms
    return {
        "W_Q.fro": Q + scores,
        "W_K.fro": K + scores,
        "W_v.fro": V + near,
        "w.l2": w + near,
        "W_Q.op": SPECTRAL + scores,
        "W_K.op": SPECTRAL + scores,
        "W_v.op": SPECTRAL + near,
        "W_Q.moved": scores,
        "W_K.moved": scores,
        "W_v.moved": near,
        "w.moved": near,
    }


@dataclass(frozen=True)
class Drawn:
    """One draw of the initialisation: what the hypotheses ask for, and one step of training."""

    α: float  # smallest singular value of the features
    Φ: float  # ½‖f − y‖² before training
    norms: tuple[float, float, float, float]  # of W_Q, W_K, W_V (Frobenius) and w
    loss: float  # training loss after one step


@lru_cache(maxsize=32)
def drawn(k: int, seed: int) -> Drawn:
    """LeCun initialisation with d = d_m = k on the inputs e_1 and e_2, and one step on Φ.

    Only two columns of W_V meet the inputs; of all other entries only sums of squares are drawn,
    which are χ² variables.
    """
    rng = np.random.default_rng(seed)
    columns = rng.standard_normal((2, k)) / math.sqrt(k)
    w = rng.standard_normal(k) / math.sqrt(k)
    rest = rng.chisquare([k * k, k * k, k * (k - 2)]) / k
    h = np.maximum(columns, 0.0)
    f = h @ w  # labels are 0, so these are the errors
    α = math.sqrt(float(np.linalg.eigvalsh(h @ h.T)[0]))
    moved = np.maximum(columns - STEP * f[:, None] * (columns > 0) * w, 0.0)
    after = moved @ (w - STEP * (f @ h))
    Q, K, V = math.sqrt(rest[0]), math.sqrt(rest[1]), math.sqrt(rest[2] + float((columns**2).sum()))
    norms = (Q, K, V, float(np.linalg.norm(w)))
    return Drawn(α, float(f @ f) / 2, norms, float(np.abs(after).mean()))


SPECTRAL_PREMISE = Premise(
    "‖W_Q⁰‖₂, ‖W_K⁰‖₂, ‖W_V⁰‖₂ ≤ 2.01: with probability ≥ 1 − 3e^{−50}; matrices of k² entries are "
    "not drawn",
    None,
    frozenset({"W_Q.op", "W_K.op", "W_v.op"}),
)
STEP_PREMISE = Premise("γ ≤ 1/k′ for a constant k′ that the paper does not name: γ = 10⁻⁶", None)


def moduli(v: Mapping[str, float], norm: str) -> tuple[float, float]:
    """M and z for one token, from spectral norms ("op"); M̂ and ẑ from Frobenius norms ("fro")."""
    Q, K, V = (v[f"{W}.{norm}"] for W in ("W_Q", "W_K", "W_v"))
    η, X = v["w.l2"], v["X.fro"]
    scores = 2 / math.sqrt(v["k"]) * X**2 * V * η
    M = max(
        V / v["w.moved"],
        η / v["W_v.moved"],
        scores * K / v["W_Q.moved"],
        scores * Q / v["W_K.moved"],
    )
    return M, η**2 * (1 + 4 / v["k"] * X**4 * V**2 * (Q**2 + K**2))


def printed_training(v: Mapping[str, float]) -> float:
    """Lemma 4 as printed, for one token."""
    α, ρ, root = v["features.smin"], math.sqrt(v["n"]) * v["X.fro"], math.sqrt(v["n"])
    M, z = moduli(v, "fro")
    return min(α**2 / (8 * ρ * M * root), α**3 * v["w.l2"] / (32 * ρ**4 * z * root))


def at_initialisation(
    v: Mapping[str, float], norms: tuple[float, float, float, float]
) -> tuple[Premise, ...]:
    """The hypotheses of Lemma 4 and Theorem 5 on the start of training, from what was drawn.

    ``norms`` are those of W_Q⁰, W_K⁰, W_V⁰ (Frobenius) and w_O⁰.
    """
    α, ρ, fit = v["features.smin"], math.sqrt(v["n"]) * v["X.fro"], math.sqrt(2 * v["loss.initial"])
    η = ("W_Q.fro", "W_K.fro", "W_v.fro", "w.l2")
    radii = [v[f"{name.partition('.')[0]}.moved"] for name in η]

    def stated() -> float:
        chance = math.exp(-((v["n"] - 1) ** -v["correlation.c"]))  # d_s = 1
        return 1 - 8 * math.exp(-v["k"] / 2) - 2 * v["delta"] - chance

    return (
        Premise("α² ≥ 8ρM√(2Φ⁰) (4, 5)", lambda: α**2 >= 8 * ρ * moduli(v, "op")[0] * fit),
        Premise(
            "α³ ≥ 32ρ²z√(2Φ⁰)/η_O (4, 5)",
            lambda: α**3 >= 32 * ρ**2 * moduli(v, "op")[1] * fit / v["w.l2"],
        ),
        Premise(
            "d_m ≥ N³; Ω̃ hides a constant and logarithms, which a larger width meets (4, 5)",
            lambda: v["k"] >= v["n"] ** 3,
        ),
        Premise("R_Q, R_K, R_V, R_O > 0 (section 4.1)", lambda: min(radii) > 0),
        Premise(
            "η_Q = ‖W_Q⁰‖_F + R_Q, …, η_O = ‖w_O⁰‖₂ + R_O (4, 5), to nine digits",
            lambda: np.allclose([v[name] for name in η], np.add(norms, radii), rtol=1e-8),
            frozenset(η),
        ),
        Premise(
            "0 < δ < 1, and the stated probability is positive with 1 for the constant in Ω",
            lambda: 0 < v["delta"] < 1 and stated() > 0,
        ),
    )


@dataclass(frozen=True)
class OrthogonalPair:
    """N = 2 inputs of one token, e_1 and e_2, labels 0, ℓ(f, y) = min(|f − y|, 1), d = d_m = k.

    With one token attention does nothing: f(x) = w·relu(W_V x). Let k → ∞ with everything else
    fixed, R_V = R_O = 1/5, R_Q = R_K = 1. In probability ‖w⁰‖ → 1, spectral norms → 2, Frobenius
    norms/√k → 1, and the Gram matrix of the features tends to (½ on, 1/2π off the diagonal), so
    α² → ½ − 1/2π > 0.34. Given W_V⁰, f is normal with covariance Gram/k: √(2Φ⁰) and the training
    loss are of order k^{−1/2}. So

    * α² ≥ 8ρM√(2Φ⁰) and α³ ≥ 32ρ²z√(2Φ⁰)/η_O hold with probability → 1: the left sides tend to
      positive numbers, ρ = √2, M → 11 and z → η_O² are bounded, √(2Φ⁰) → 0;
    * d_m ≥ CN³ log^q for any C and q from some k on, as N = 2; Assumption 3 holds since
      ⟨e_1e_1ᵀ, e_2e_2ᵀ⟩ = 0; a matrix of one row has full rank;
    * after one step the loss differs as little as one likes from that before, for γ small;
    * ẑ ≥ (4/k)η_O²η_V²η_Q² ≈ 4kη_O², so the bound of Lemma 4 is at most of order 1/k, and the
      loss, of order k^{−1/2}, is above it with probability → 1.

    The probability that Lemma 4 states is 1 − 8e^{−k/2} − δ − e^{−C}, C > 0 the constant in Ω (as
    (N − 1)^{−ĉ}/d_s = 1), and tends to 1 − δ − e^{−C}, which is positive for small δ. No value of
    the hidden constants reconciles the two.

    The spectral norm of a k×k matrix of N(0, 1/k) entries exceeds 2 + s with probability at most
    e^{−ks²/2}; at k ≥ 10⁶, s = 0.01, that is e^{−50}. It enters M and z only, which grow with it.
    """

    k: int
    seed: int

    @property
    def draw(self) -> Drawn:
        return drawn(self.k, self.seed)

    def inputs(self) -> dict[str, float]:
        """For Lemma 4, to nine digits: the inequalities hold with room of factors."""
        exact = {
            "n": 2,
            "T": 1,
            "k": self.k,
            "X.fro": 1.0,
            **within_radii(self.draw.norms, R_SCORES, R_NEAR),
            "features.smin": self.draw.α,
            "loss.initial": self.draw.Φ,
            "correlation.c": 1.0,
            "delta": 0.05,
            "step.size": STEP,
            "steps": 1,
        }
        return {name: float(f"{value:.9g}") for name, value in exact.items()}

    @property
    def printed(self) -> float:
        """Lemma 4 as printed."""
        return printed_training(self.inputs())


@WITNESSES.register("trained-encoder")
@dataclass(frozen=True)
class TrainedEncoder(Witness):
    """mwigo2026, Lemma 4, one seed of :class:`OrthogonalPair`, where the argument for all stands.

    At k = 4·10⁶ both inequalities hold with room (their sides differ by factors of about 5), and
    the training loss after a step of γ = 10⁻⁶, computed, is millions of times the printed bound.
    """

    k: int = WIDTHS[-1]
    seed: int = 0
    refutes = ("mwigo2026/lemma-4",)
    story = (
        "Two orthogonal one-token inputs with labels 0 and LeCun initialisation of width k satisfy "
        "every hypothesis with probability tending to 1; after a small step the training loss is "
        "of order k^{−1/2}, the printed bound of order 1/k."
    )

    @property
    def pair(self) -> OrthogonalPair:
        return OrthogonalPair(self.k, self.seed)

    def inputs(self, statement: str) -> dict[str, float]:
        return self.pair.inputs()

    @staticmethod
    def loss(y: float, f: np.ndarray) -> np.ndarray:
        """min(|f − y|, 1)."""
        return np.minimum(np.abs(f - y), 1.0)

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        inputs, grid = self.inputs(statement), np.linspace(-3, 3, 601)
        return (
            *at_initialisation(inputs, self.pair.draw.norms),
            SPECTRAL_PREMISE,
            STEP_PREMISE,
            Premise(
                "X is of full row rank and ‖X‖_F ≤ √d_s·R_X (3)",
                lambda: all(
                    np.linalg.matrix_rank(x) == 1 and at_most(1.0, inputs["X.fro"])
                    for x in (np.eye(2)[:1], np.eye(2)[1:])
                ),
                frozenset({"X.fro"}),
            ),
            Premise(
                "P(|⟨X_nᵀX_n, X_n′ᵀX_n′⟩| ≥ t) ≤ exp(−t^ĉ): the product is 0 (3)",
                lambda: (
                    float((np.eye(2)[0] @ np.eye(2)[1]) ** 2) == 0.0 and inputs["correlation.c"] > 0
                ),
            ),
            Premise(
                "ℓ is 1-Lipschitz in the prediction (4); besides, ℓ(y, y) = 0",
                lambda: (
                    is_lipschitz(self.loss, 1.0, (0.0,), grid)
                    and self.loss(0.0, np.zeros(1))[0] == 0
                ),
            ),
        )

    def lower_bound(self) -> float:
        return self.pair.draw.loss
