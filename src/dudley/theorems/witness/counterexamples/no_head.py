"""Positions and bags on which no head at all does what edelman2021's lemmas promise.

Write κ = W_K W_Qᵀ x_cls for the key, u = W_V W_C e_1 for the value, so that a head averages u·x_t
with weights e^{κ·x_t}. Flipping bit t of an input moves N and D of f = N/D by ΔN and ΔD, and

    f(after) − f(before) = (ΔN − f(before)·ΔD) / D(after).

Suppose that a head is within e of the promised function on every input; for small e the flips
contradict each other. ``lower_bound`` is the least e that they allow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dudley.theorems.witness.base import WITNESSES, Witness
from dudley.theorems.witness.counterexamples.constructions import coherent
from dudley.theorems.witness.premises import Premise, in_range


def least_possible(contradicts: Callable[[float], bool], top: float) -> float:
    """The least error that is not contradicted, from below; contradictions stop at some e ≤ top."""
    low, high = 0.0, top
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if contradicts(middle) else (low, middle)
    return low


@WITNESSES.register("tetrahedron")
@dataclass(frozen=True)
class Tetrahedron(Witness):
    """edelman2021, Lemma B.2: s = 2, T = 4, P = t_1, t_2, −t_3, −t_4 of a regular tetrahedron.

    They have |P_i·P_j| = Δ = 1/3 < 1/s and P_1 + P_2 = P_3 + P_4; I = {1, 2}. A 1-bounded and
    1-strictly monotone g is −1, 0, 1. Let a_t = e^{κ·P_t}, α and β the exponentials of the two
    bits' scores, M = max(α, β), δ = β − α, D* = MΣa_t + a_cls, and ΔN = a_t q_t, ΔD = a_t δ when
    b_t goes from 0 to 1. Then a_1 a_2 = a_3 a_4 and q_1 + q_2 = q_3 + q_4; ‖u‖ ≤ 2, so values are
    at most 2√2 and |q_t| ≤ 2M·2√2.

    1. Bits 1 and 2 move f by 1 − 2e or more (others in state M): a_1 M, a_2 M ≥ cD* with
       c = (1−2e)/(2(2√2+1+e)).
    2. Bits 3 and 4 move f by 2e or less, at r = 0 and at r = 2: a_3|δ|, a_4|δ| ≤ 2e/(1−e)·D*,
       hence |δ|/M ≤ η = 2e/((1−e)c).
    3. So a_3|q_3|, a_4|q_4| ≤ ε_1 D*, ε_1 = 2e + 2e(1+e)/(1−e), while a_1 q_1, a_2 q_2 ≥ κ'D*,
       κ' = (1−2e)(1−η) − η(1+e).
    4. κ'(1/a_1 + 1/a_2) ≤ ε_1(1/a_3 + 1/a_4), that is κ'(a_1 + a_2) ≤ ε_1(a_3 + a_4), and
       2cκ' ≤ ε_1(1 − 2c).

    The last line fails for e < 0.0213. Only ‖W_V‖_F ≤ 2 and ‖W_C‖_F ≤ 1 were used.
    """

    γ: float = 0.08
    refutes = ("edelman2021/lemma-B.2",)
    story = (
        "Four positions of a tetrahedron, two of them relevant: the means of the relevant and of "
        "the other two positions agree, so no head of any size of W_Q, W_K is within 0.0213."
    )

    def inputs(self, statement: str) -> dict[str, float]:
        return {"T": 4, "s": 2, "gamma": self.γ, "coherence": 1 / 3}

    @staticmethod
    def positions() -> np.ndarray:
        """P_1, …, P_4: (4, 3)."""
        corners = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / math.sqrt(3)
        return corners * np.array([1, 1, -1, -1])[:, None]

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        inputs, P = self.inputs(statement), self.positions()
        return (
            coherent(P, inputs["coherence"]),
            in_range("0 < Δ < 1/s (B.2)", inputs, coherence=(0.0, 1 / inputs["s"])),
            in_range("0 < γ, the accuracy (B.2)", inputs, gamma=(0.0, 1.0)),
            Premise("P_1 + P_2 = P_3 + P_4", lambda: np.allclose(P[:2].sum(0), P[2:].sum(0))),
            Premise(
                "an error of γ/4 contradicts itself (steps 1 to 4)",
                lambda: self.contradicts(self.γ / 4),
            ),
        )

    def lower_bound(self) -> float:
        return least_possible(self.contradicts, 0.25)

    @staticmethod
    def contradicts(e: float) -> bool:
        """Does an error of at most e contradict itself?"""
        c = (1 - 2 * e) / (2 * (2 * math.sqrt(2) + 1 + e))
        η = 2 * e / ((1 - e) * c)
        ε_1 = 2 * e + 2 * e * (1 + e) / (1 - e)
        rise = (1 - 2 * e) * (1 - η) - η * (1 + e)
        return 2 * c * rise > ε_1 * (1 - 2 * c)


@WITNESSES.register("overshadowed-bag")
@dataclass(frozen=True)
class OvershadowedBag(Witness):
    """edelman2021, Lemma B.4: two relevant vectors whose mean lies in the shadow of two others.

    s = 2, v_1·v_2 = −Δ, v_3 and v_4 = Δ/(1−Δ)·(v_1 + v_2) ± x with x ⊥ v_1, v_2 and unit length:
    v_3·v_1 = Δ and so on, v_3·v_4 = 4Δ²/(1−Δ) − 1, at most Δ here; all others are orthogonal.
    Absent tokens are zero vectors of weight 1. Values and f are at most ‖u‖ ≤ 2s·s = 8, and with
    error e every flip of b_1 or b_2 raises f by θ = 1/2 − 2e. Let E = e^{min(κ·v_1, κ·v_2)} and
    switch that bit on: |ΔN − fΔD| ≤ 8E + 8|E − 1| ≤ 16E + 8.

    1. All else absent: D ≥ E + T − 1, so θ(E + T − 1) ≤ 16E + 8, and E is large.
    2. With v_3, v_4 present D ≥ e^{κ·v_3} + e^{κ·v_4} ≥ 2E^λ, λ = 2Δ/(1−Δ), so
       2θE^λ ≤ 16E + 8. As λ > 1 this fails for large E.

    At Δ = 0.44, T = 10^8 an error below 0.2437 is impossible; γ/4 = 0.225 is promised.
    """

    T: int = 10**8
    Δ: float = 0.44
    γ: float = 0.9
    refutes = ("edelman2021/lemma-B.4",)
    story = (
        "Two relevant vectors and two others that score higher whenever both relevant ones score "
        "well: among 10^8 tokens no head is within 0.2437, where 0.225 is promised."
    )

    def inputs(self, statement: str) -> dict[str, float]:
        return {"T": self.T, "s": 2, "gamma": self.γ, "coherence": self.Δ}

    def vectors(self) -> np.ndarray:
        """v_1, …, v_4: (4, 4). All other vectors are orthogonal to them and to each other."""
        Δ = self.Δ
        x, y, z = np.eye(4)[:3]
        v_1 = math.sqrt((1 - Δ) / 2) * x + math.sqrt((1 + Δ) / 2) * y  # v_1·v_2 = −Δ
        v_2 = math.sqrt((1 - Δ) / 2) * x - math.sqrt((1 + Δ) / 2) * y
        middle = Δ / (1 - Δ) * (v_1 + v_2)
        rest = math.sqrt(1 - middle @ middle)
        return np.array([v_1, v_2, middle + rest * z, middle - rest * z])

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        inputs = self.inputs(statement)
        s, Δ, V = inputs["s"], inputs["coherence"], self.vectors()
        return (
            coherent(V, Δ),
            in_range("sΔ < γ < 1 (B.4)", inputs, gamma=(s * Δ, 1.0)),
            Premise(
                "both others have inner product Δ with each relevant vector",
                lambda: np.allclose(V[:2] @ V[2:].T, Δ),
            ),
            Premise("T is at least the four vectors", lambda: len(V) <= self.T),
        )

    def lower_bound(self) -> float:
        return least_possible(self.contradicts, 0.25)

    def contradicts(self, e: float) -> bool:
        """Does an error of at most e contradict itself?"""
        θ, λ = 0.5 - 2 * e, 2 * self.Δ / (1 - self.Δ)
        E = (θ * (self.T - 1) - 8) / (16 - θ)
        steeper = 2 * θ * λ * max(E, 0.0) ** (λ - 1) >= 16  # from E on the left side grows faster
        return E >= 1 and steeper and 2 * θ * E**λ > 16 * E + 8
