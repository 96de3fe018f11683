"""Cross-entropy is log 2 at label 0 and prediction 0: a loss that no training takes away."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dudley.theorems.witness.base import WITNESSES, Family, Witness
from dudley.theorems.witness.counterexamples.trained_encoder import (
    SPECTRAL_PREMISE,
    at_initialisation,
    printed_training,
    within_radii,
)
from dudley.theorems.witness.premises import Premise, at_most, is_lipschitz

R_NEAR, R_SCORES = 0.2, math.sqrt(0.46)  # R_V = R_O, and R_Q = R_K: together R = 1
CORRELATION = 0.01  # ĉ of Assumption 3, a constant
CHUNK = 500_000  # columns drawn at a time
SIZES = (16, 64, 256, 1024, 4096)


@dataclass(frozen=True)
class UnitStart:
    """One draw of the initialisation, for inputs of norm 1."""

    α: float  # smallest singular value of the features
    Φ: float  # ½‖f − y‖² with labels 0
    norms: tuple[float, float, float, float]  # of W_Q, W_K, W_V (Frobenius) and w


@lru_cache(maxsize=8)
def unit_start(n: int, k: int, seed: int) -> UnitStart:
    """LeCun initialisation with d = d_m = k on the inputs e_1, …, e_n, drawn in pieces.

    Only n columns of W_V meet the inputs; of all other entries only sums of squares are drawn.
    """
    rng = np.random.default_rng(seed)
    gram, f, squares, readout = np.zeros((n, n)), np.zeros(n), 0.0, 0.0
    for first in range(0, k, CHUNK):
        size = min(CHUNK, k - first)
        columns, w = rng.standard_normal((n, size)), rng.standard_normal(size)
        h = np.maximum(columns, 0.0)
        gram, f = gram + h @ h.T / k, f + h @ w / k
        squares, readout = squares + float((columns**2).sum()) / k, readout + float(w @ w) / k
    Q, K, V = rng.chisquare([k * k, k * k, k * (k - n)]) / k
    norms = (math.sqrt(Q), math.sqrt(K), math.sqrt(V + squares), math.sqrt(readout))
    return UnitStart(math.sqrt(float(np.linalg.eigvalsh(gram)[0])), float(f @ f) / 2, norms)


def expected_start(n: int, k: float) -> UnitStart:
    """What ``unit_start`` tends to for k → ∞: the limits of the docstring below."""
    root = math.sqrt(k)
    return UnitStart(math.sqrt(0.5 - 1 / (2 * math.pi)), n / (4 * k), (root, root, root, 1.0))


def cross_entropy(y: float, f: np.ndarray) -> np.ndarray:
    """log(1 + e^f) − yf, for labels y ∈ {0, 1}."""
    return np.logaddexp(0.0, f) - y * f


@WITNESSES.register("loss-at-the-label")
@dataclass(frozen=True)
class LossAtTheLabel(Witness):
    """mwigo2026, Theorem 5 with the loss of the paper's experiments, and every label 0.

    Inputs of one token, r·e_j with j uniform on 1, …, k, d = d_m = k, r = k^{−5/2}; labels 0;
    ℓ(f, y) = log(1 + e^f) − yf, which is 1-Lipschitz in f, as the theorem asks of any loss. Radii
    R_V = R_O = 1/5 and R_Q = R_K = √0.46, so R = 1. Every hypothesis holds with probability → 1 as
    k → ∞:

    * with one token attention does nothing, f(x) = w·relu(W_V x); N distinct inputs have features
      with Gram matrix r²(½ on, 1/2π off the diagonal) in the limit, so α² → r²(½ − 1/2π), while
      √(2Φ⁰) is of order r√(N/2k). In α² ≥ 8ρM√(2Φ⁰) and α³ ≥ 32ρ²z√(2Φ⁰)/η_O, r cancels, M → 11
      and z → η_O² → 1.44 are bounded, and the right sides are of order N/√k and N^{3/2}/√k;
    * two inputs are equal with probability 1/k ≤ e^{−1} ≤ exp(−t^ĉ) for t ≤ 1, and the product is
      at most r⁴ < 1, so Assumption 3 holds with every ĉ > 0; a matrix of one row has full rank;
    * with ĉ = 0.01, C ≤ 1 the constant in Ω, x = (N − 1)^{−ĉ} and δ = Cx/8 the stated probability
      is at least 1 − e^{−Cx} − 2δ − 8e^{−k/2} ≥ Cx/4 − 8e^{−k/2}, which is positive.

    All weights within the radii have |f(x)| ≤ η_Oη_Vr < 2k^{−2}, so the true loss is at least
    log 2 − k^{−2}, trained or not. Printed: the first term is below α²/(8ρM̂√N) < r, √(P/N) is of
    order k²r = k^{−1/2}, times a logarithm where that is not cut at 0, and √(log(R/δ)/N) is what
    is left: c√(log(R/δ)/N) = O(√(log N/N)) with k = 10⁶N⁴ → ∞, below log 2 for large N whatever c
    and C are. What "≲" hides, logarithms of other quantities, are powers of log N.

    What fails is the first line of Lemma 4's proof, which subtracts ℓ(y, y) as if it were at most
    0. Here ℓ(0, 0) = log 2, and the repaired form adds it. For a bounded loss with ℓ(y, y) = 0, and
    with the logarithm cut at 0, no counterexample is known: √(P/N) is then above A.
    """

    n: int = 4
    k: int = 8_000_000
    seed: int = 0
    delta: float = 0.2
    refutes = ("mwigo2026/theorem-5",)
    story = (
        "Cross-entropy, the loss of the paper's experiments, on short one-token inputs with label "
        "0: predictions stay near 0, so the true loss stays near log 2, while training term and "
        "complexity vanish with the inputs' length and the deviation with N. The proof of Lemma 4 "
        "takes ℓ(y, y) to be 0."
    )

    @property
    def r(self) -> float:
        """The length of the inputs."""
        return float(self.k) ** -2.5

    def values(self, start: UnitStart) -> dict[str, float]:
        """The inputs of the statement for a draw of the initialisation, scaled to length r."""
        exact = {
            "n": self.n,
            "T": 1,
            "d": self.k,
            "k": self.k,
            "X.fro": self.r,
            **within_radii(start.norms, R_SCORES, R_NEAR),
            "features.smin": start.α * self.r,
            "loss.initial": start.Φ * self.r**2,
            "correlation.c": CORRELATION,
            "delta": self.delta,
            "loss.at_label": 0.693147181,  # log 2, from above
            "step.size": 1e-6,
            "steps": 1,
        }
        return {name: float(f"{value:.9g}") for name, value in exact.items()}

    def inputs(self, statement: str) -> dict[str, float]:
        return self.values(unit_start(self.n, self.k, self.seed))

    @staticmethod
    def largest(values: dict[str, float]) -> float:
        """A bound on every |f(x)| within the radii."""
        return values["w.l2"] * values["W_v.fro"] * values["X.fro"]

    def lower_bound(self) -> float:
        return math.log(2) - self.largest(self.inputs("")) / 2

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        inputs, r = self.inputs(statement), self.r
        grid = np.linspace(-5, 5, 1001)

        def tail() -> bool:
            t = r**4 * np.logspace(-12, 0, 100)
            return bool((1 / self.k <= np.exp(-(t ** inputs["correlation.c"]))).all())

        return (
            *at_initialisation(inputs, unit_start(self.n, self.k, self.seed).norms),
            SPECTRAL_PREMISE,
            Premise(
                "X is of full row rank and ‖X‖_F ≤ √d_s·R_X (3)",
                lambda: (
                    np.linalg.matrix_rank(r * np.eye(3)[:1], tol=r / 2) == 1
                    and at_most(float(f"{r:.9g}"), inputs["X.fro"])
                ),
                frozenset({"X.fro"}),
            ),
            Premise("P(|⟨X_nᵀX_n, X_n′ᵀX_n′⟩| ≥ t) ≤ exp(−t^ĉ), ĉ > 0 (3)", tail),
            Premise("d = d_m (section 4)", lambda: inputs["d"] == inputs["k"]),
            Premise(
                "ℓ is 1-Lipschitz in the prediction (5), and at least 0",
                lambda: (
                    is_lipschitz(cross_entropy, 1.0, (0.0, 1.0), grid)
                    and cross_entropy(0.0, grid).min() >= 0
                ),
            ),
            Premise(
                "ℓ(y, y) is what the inputs say (for the repaired form)",
                lambda: at_most(float(cross_entropy(0.0, np.zeros(1))[0]), inputs["loss.at_label"]),
            ),
            Premise(
                "ℓ is in [0, 1] on all predictions within the radii (3.2)",
                lambda: cross_entropy(0.0, np.array([self.largest(inputs)]))[0] <= 1,
            ),
        )

    def family(self) -> Family:
        """N → ∞ with k = 10⁶N⁴, logarithm cut at 0, c = C = 1: it grows like √(N/log N)."""
        lower, printed = [], []
        for n in SIZES:
            it = LossAtTheLabel(n, 10**6 * n**4, delta=(n - 1) ** -CORRELATION / 8)
            values = it.values(expected_start(n, it.k))
            lower.append(math.log(2) - it.largest(values) / 2)
            printed.append(cut(values))
        return Family(SIZES, lower, printed, "N")


def cut(values: dict[str, float]) -> float:
    """Theorem 5 as printed, with c = 1, but for a logarithm that is cut at 0: never smaller."""
    A, root = LossAtTheLabel.largest(values), math.sqrt(values["k"])
    scores = root * values["W_K.fro"] * values["W_Q.fro"] * values["W_v.fro"]
    sizes = ((root * values["W_v.fro"]) ** (2 / 3) + scores ** (2 / 3)) ** 3
    P = values["X.fro"] ** 2 * sizes * math.log(values["n"])
    complexity = math.sqrt(P / values["n"])
    complexity *= 1 + max(math.log(A / complexity), 0.0)
    deviation = math.sqrt(math.log(1 / values["delta"]) / values["n"])
    return printed_training(values) + complexity + deviation
