"""The printed sparse-variable constructions, run on concrete inputs: they miss by a constant.

Written with the weights in full, independently of ``dudley.theorems.constructions``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dudley.core.constraint import Frobenius
from dudley.networks.head import Head
from dudley.theorems.witness.base import WITNESSES, Witness
from dudley.theorems.witness.premises import Premise, at_most, in_range


def star(T: int, s: int, Δ: float) -> np.ndarray:
    """T unit vectors; among the first s, v_1·v_j = Δ and v_i·v_j = −Δ; all others orthogonal."""
    gram = np.eye(T)
    gram[:s, :s] = -Δ
    gram[0, :s] = gram[:s, 0] = Δ
    np.fill_diagonal(gram, 1.0)
    return np.linalg.cholesky(gram)


def coherent(vectors: np.ndarray, Δ: float) -> Premise:
    """Unit vectors with |v_i·v_j| ≤ Δ."""

    def holds() -> bool:
        gram = vectors @ vectors.T
        others = np.abs(gram - np.diag(np.diag(gram))).max()
        return bool(np.allclose(np.diag(gram), 1.0)) and at_most(float(others), Δ)

    return Premise("the vectors have norm 1, and |v_i·v_j| ≤ Δ for i ≠ j (B.1)", holds)


def strings(T: int) -> np.ndarray:
    """All of {0,1}^T."""
    return (np.arange(2**T)[:, None] >> np.arange(T)) & 1


def cls_head(weights: dict[str, np.ndarray], X: np.ndarray) -> np.ndarray:
    """softmax(x_cls W_Q W_Kᵀ Xᵀ) X W_v W_c, the first output coordinate."""
    d, k = weights["W_v"].shape
    ball = Frobenius(1.0)  # apply looks at the weights only
    node = Head(d, ball, None, ball, ball, ball, k=k, sigma="identity", query="cls")
    return node.apply(weights, X)[:, 0, 0]


@WITNESSES.register("uneven-positions")
@dataclass(frozen=True)
class UnevenPositions(Witness):
    """edelman2021, Lemma B.2, one head: three relevant positions in a star of coherence Δ.

    The keys Σv_i give the scores R(1 + 2Δ), R, R on I, so the first weighs e^{2RΔ} times the
    others; all 2^T inputs are run and the largest distance from (1/s)Σχ_i is returned.
    """

    T: int = 10
    s: int = 3
    Δ: float = 0.05
    γ: float = 0.1
    own_weights = True
    refutes = ("edelman2021/lemma-B.2",)
    story = (
        "Three relevant positions with inner products ±0.05: the printed head is off by 0.38 on "
        "some of the 1024 inputs, where 0.025 is claimed."
    )

    def inputs(self, statement: str) -> dict[str, float]:
        return {"T": self.T, "s": self.s, "gamma": self.γ, "coherence": self.Δ}

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        inputs, s, V = self.inputs(statement), self.s, star(self.T, self.s, self.Δ)
        g = 1 - 2 * np.arange(s + 1) / s
        return (
            coherent(V, self.Δ),
            in_range("0 < Δ < 1/s (B.2)", inputs, coherence=(0.0, 1 / s)),
            in_range("0 < γ, the accuracy (B.2)", inputs, gamma=(0.0, 1.0)),
            Premise(
                "the target is 1-bounded and γ-strictly monotone, up to its sign (B.2)",
                lambda: (
                    at_most(float(np.abs(g).max()), 1.0) and bool((-np.diff(g) >= self.γ).all())
                ),
            ),
        )

    def lower_bound(self) -> float:
        T, s = self.T, self.s
        axes = np.eye(T + 3)
        P, E, cls = np.hstack([star(T, s, self.Δ), np.zeros((T, 3))]), axes[T : T + 2], axes[T + 2]
        R = math.log(8 * T / self.γ) / (1 - s * self.Δ)
        unit = np.ones((1, 1))
        weights = {
            "W_Q": R * cls[:, None],
            "W_K": P[:s].sum(0)[:, None],
            "W_v": (E[0] - E[1])[:, None],
            "W_c": unit @ axes[:1],
        }
        b = strings(T)
        X = np.concatenate([P + E[b], np.broadcast_to(cls, (len(b), 1, T + 3))], axis=1)
        wanted = (1 - 2 * b[:, :s]).mean(1)
        return float(np.abs(cls_head(weights, X) - wanted).max())


@WITNESSES.register("uneven-bag")
@dataclass(frozen=True)
class UnevenBag(Witness):
    """edelman2021, Lemma B.4, scalar output: the same star as a bag of vectors, all inputs run."""

    T: int = 8
    s: int = 3
    Δ: float = 0.05
    γ: float = 1 / 3
    own_weights = True
    refutes = ("edelman2021/lemma-B.4",)
    story = (
        "Three relevant vectors with inner products ±0.05: the printed head is off by 0.85 on some "
        "of the 256 bags, where 1/12 is claimed."
    )

    def inputs(self, statement: str) -> dict[str, float]:
        return {"T": self.T, "s": self.s, "gamma": self.γ, "coherence": self.Δ}

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        inputs, s, V = self.inputs(statement), self.s, star(self.T, self.s, self.Δ)
        r = np.arange(s + 1)
        g = (r - s) / (r + 1)
        return (
            coherent(V, self.Δ),
            in_range("sΔ < γ < 1 (B.4)", inputs, gamma=(s * self.Δ, 1.0)),
            Premise(
                "the target is s-bounded and (1/s)-strictly monotone (B.4)",
                lambda: (
                    at_most(float(np.abs(g).max()), s)
                    and bool((np.diff(g) >= (1 / s) * (1 - 1e-12)).all())
                ),
            ),
        )

    def lower_bound(self) -> float:
        T, s, Δ, γ = self.T, self.s, self.Δ, self.γ
        axes = np.eye(T + 1)
        V, cls = np.hstack([star(T, s, Δ), np.zeros((T, 1))]), axes[T]
        R = math.log(8 * T * s * (1 + Δ) / (γ - s * Δ)) / (1 - s * Δ)
        first = np.zeros((s, T + 1))
        first[:, 0] = 1.0
        weights = {
            "W_Q": R * np.outer(cls, np.eye(s)[0]),
            "W_K": np.outer(V[:s].sum(0) + cls, np.eye(s)[0]),
            "W_v": V[:s].T - cls[:, None],
            "W_c": first,
        }
        b = strings(T)
        rows = b[:, :, None] * V
        X = np.concatenate([rows, np.broadcast_to(cls, (len(b), 1, T + 1))], axis=1)
        r = b[:, :s].sum(1)
        return float(np.abs(cls_head(weights, X) - (r - s) / (r + 1)).max())


def separated(
    points: np.ndarray, f: np.ndarray, inputs: Mapping[str, float]
) -> tuple[Premise, ...]:
    """What Lemma B.8 asks of points of a line and of the values there."""
    gaps = np.abs(points[:, None] - points[None])[~np.eye(len(points), dtype=bool)]
    return (
        Premise(
            "‖x_i − x_j‖_∞ ≥ 4δ (B.8)",
            lambda: at_most(4 * inputs["tolerance"], float(gaps.min())),
        ),
        Premise(
            "‖x_i‖_∞ ≤ B (B.8)",
            lambda: at_most(float(np.abs(points).max()), inputs["points.linf"]),
        ),
        Premise(
            "|f| is at most the stated bound at n points of R^d (B.8)",
            lambda: (
                at_most(float(np.abs(f).max()), inputs["target.bound"])
                and len(points) == inputs["n"]
                and inputs["d"] == 1
            ),
        ),
    )


@WITNESSES.register("steps-for-bumps")
@dataclass(frozen=True)
class StepsForBumps(Witness):
    """edelman2021, Lemma B.8 on a line: the printed bump is a step from −1 to 1, 0 at its centre.

    At the rightmost of n points every other step is 1 and its own is 0, so the network adds up all
    the other values: with f = −1 there and 1 elsewhere the error is n. The printed two-layer
    formula is evaluated at the points themselves.
    """

    n: int = 3
    δ: float = 0.25
    own_weights = True
    refutes = ("edelman2021/lemma-B.8",)
    story = (
        "The printed bump is 0 at its centre and ±1 far away; on three points of a line the "
        "network is off by 3 where it should be exact."
    )

    def inputs(self, statement: str) -> dict[str, float]:
        return {
            "n": self.n,
            "d": 1,
            "tolerance": self.δ,
            "points.linf": 4 * self.δ * (self.n - 1),
            "target.bound": 1.0,
        }

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        points = 4 * self.δ * np.arange(self.n)
        return separated(points, np.where(points < points.max(), 1.0, -1.0), self.inputs(statement))

    def lower_bound(self) -> float:
        points = 4 * self.δ * np.arange(self.n)
        f = np.where(np.arange(self.n) == self.n - 1, -1.0, 1.0)
        y = (points[:, None] - points[None, :]) / self.δ  # input by centre
        ψ = relu(y + 2) - relu(y + 1) - relu(-y + 2) + relu(-y + 1)
        units = relu(ψ / self.δ + 1 - 1 / self.δ) - relu(ψ / self.δ - 1 / self.δ)
        return float(np.abs(units @ f - f).max())


@WITNESSES.register("bias-too-small")
@dataclass(frozen=True)
class BiasTooSmall(Witness):
    """edelman2021, Lemma B.8 itself: no network with the printed sizes and norms is exact.

    Two points ±2δ of the line, B = 2δ, and f = 1 at both. Printed: d_2 = 8, d_3 = 4,
    ‖W_1‖_∞ ≤ B/δ = 2, ‖W_2‖_∞ ≤ 1/δ, ‖w‖_∞ ≤ 1, biases included. Layer 1 has at most 8 hinges, on
    each of 9 pieces each unit of layer 2 changes sign at most once: F has at most 45 affine pieces,
    and one that meets [δ, 3δ] in [p, q] with q/p ≥ ρ = 3^{1/45}. There F(x) = αx + β, where β is
    made of biases only,

        |β| ≤ d_3‖w‖_∞(d_2‖W_2‖_∞‖W_1‖_∞ + ‖W_2‖_∞) ≤ 4(8·2 + 1)/δ = 68/δ.

    If |F − 1| ≤ e at p and q, then ρ(1 − e − β) ≤ ραp ≤ αq ≤ 1 + e − β (q can be taken ρp), hence
    e ≥ (1 − 68/δ)(ρ − 1)/(ρ + 1).
    """

    δ: float = 680.0
    refutes = ("edelman2021/lemma-B.8",)
    story = (
        "Two points 4δ apart, δ = 680: where a network is flat its value comes from its biases "
        "alone, and with the printed norms these add up to 68/δ, which does not reach 1."
    )

    def inputs(self, statement: str) -> dict[str, float]:
        return {
            "n": 2,
            "d": 1,
            "tolerance": self.δ,
            "points.linf": 2 * self.δ,
            "target.bound": 1.0,
        }

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        points = 2 * self.δ * np.array([-1.0, 1.0])
        return separated(points, np.ones(2), self.inputs(statement))

    def lower_bound(self) -> float:
        ρ = 3 ** (1 / 45)
        return (1 - 68 / self.δ) * (ρ - 1) / (ρ + 1)


def relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0.0)
