"""Identical inputs of one token: the complexity of the shallow encoder is known exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dudley.theorems.witness.base import WITNESSES, Family, Witness
from dudley.theorems.witness.premises import Premise, at_most, norms

READOUTS = tuple(10.0**e for e in range(1, 9))
SAMPLES = tuple(4**e for e in range(3, 12))


def mean_sign(n: int) -> float:
    """E|ε₁ + … + ε_n|/n for independent signs, exactly: ⌈n/2⌉·C(n, ⌈n/2⌉)/(2^{n−1} n).

    >>> mean_sign(1), mean_sign(2), mean_sign(3)
    (1.0, 0.5, 0.5)
    """
    half = (n + 1) // 2
    log_choose = math.lgamma(n + 1) - math.lgamma(half + 1) - math.lgamma(n - half + 1)
    if n < 50:
        return half * math.comb(n, half) / 2 ** (n - 1) / n
    return half / n * math.exp(log_choose - (n - 1) * math.log(2))


def printed_bracket(n: int, k: int, η_O: float) -> float:
    """√(P/N)(1 + log(A√(N/P))) of mwigo2026 for η_Q = η_K = η_V = 1 and one token of norm 1."""
    P = 8 * k * math.log(n)
    root = math.sqrt(P / n)
    return root * (1 + math.log(η_O / root))


@dataclass(frozen=True)
class OneInput:
    """n copies of one input: a single token x of norm 1, so that attention does nothing.

    f(x) = w·relu(W_V x) with ‖w‖ ≤ η_O, ‖W_V‖_F ≤ η_V. Always |f(x)| ≤ η_Oη_V. For a unit vector
    u ≥ 0, W_V = η_V u xᵀ and w = ±η_O u give f(x) = ±η_Oη_V. So for signs ε the supremum of
    Σ_i ε_i f(x) is η_Oη_V|Σε_i|, and the complexity is η_Oη_V·E|Σε_i|/n: exactly, for any d, d_m,
    W_Q and W_K. By Khintchine E|Σε_i| ≥ √(n/2). A matrix of one row has full rank.

    For balls of radii R_V and R_O around an initialisation with ‖W_V⁰‖_F ≤ R_V/3, ‖w⁰‖ ≤ R_O/3
    (so that η = ‖W⁰‖ + R ≤ 4R/3): every W_V with ‖W_V‖_F ≤ 2R_V/3 is within R_V of W_V⁰, and
    2R_V/3 ≥ η_V/2. The complexity of that class is then at least a quarter of the above.
    """

    n: int
    η_O: float = 1.0
    k: int = 4

    @property
    def complexity(self) -> float:
        """Of the class with bounded norms, for η_V = 1."""
        return self.η_O * mean_sign(self.n)

    def inputs(self) -> dict[str, float]:
        norms = {"W_Q.fro": 1.0, "W_K.fro": 1.0, "W_v.fro": 1.0, "w.l2": self.η_O, "X.fro": 1.0}
        return {"n": self.n, "T": 1, "d": self.k, "k": self.k} | norms

    def token(self) -> np.ndarray:
        """The only input: (1, 1, k)."""
        return np.eye(self.k)[None, :1]

    def member(self, sign: float = 1.0, share: float = 1.0) -> dict[str, np.ndarray]:
        """A member with f(x) = ±share²·η_O, in which W_V acts as x ↦ xW_V."""
        u, x = np.full(self.k, 1 / math.sqrt(self.k)), np.eye(self.k)[0]
        return {"W_v": share * np.outer(x, u), "w": sign * share * self.η_O * u}

    def premises(self) -> tuple[Premise, ...]:
        """Norms and rank of the input, and that the members reach what they claim."""
        inputs, X = self.inputs(), self.token()
        W = self.member() | {"W_Q": np.eye(self.k) / math.sqrt(self.k), "X": X}
        W["W_K"] = W["W_Q"]

        def reached() -> bool:
            values = [
                float(np.maximum(X[0, 0] @ V["W_v"], 0.0) @ V["w"])
                for V in map(self.member, (1.0, -1.0))
            ]
            return np.allclose(values, [self.η_O, -self.η_O])

        return (
            norms("‖W_Q‖_F ≤ η_Q, …, ‖w_O‖₂ ≤ η_O, ‖X_n‖_F ≤ √d_s·R_X (1, 2)", inputs, W),
            Premise("X_n is of full rank (1)", lambda: np.linalg.matrix_rank(X[0]) == len(X[0])),
            Premise("N inputs, N·d_s > 1 so that P > 0", lambda: inputs["n"] * inputs["T"] > 1),
            Premise("two members predict ±η_Oη_V", reached),
        )


@WITNESSES.register("wide-readout")
@dataclass(frozen=True)
class WideReadout(Witness):
    """mwigo2026, Lemma 2, on two identical inputs (:class:`OneInput`) with a large η_O.

    The complexity is η_O/2. Printed: c√(P/2)(1 + log(η_O√(2/P))) with P free of η_O, so it grows
    like log η_O. The "≲" hides logarithms of quantities besides N and d_s, among them powers of
    log η_O; the ratio η_O/log η_O outgrows those. N, d_s, d_m and all other norms are fixed.
    """

    η_O: float = 1e4
    refutes = ("mwigo2026/lemma-2",)
    story = (
        "On two identical inputs of one token the complexity is exactly η_Oη_V/2 times the token's "
        "length; the printed bound grows only with the logarithm of η_O."
    )

    def inputs(self, statement: str) -> dict[str, float]:
        return OneInput(2, self.η_O).inputs()

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        return OneInput(2, self.η_O).premises()

    def lower_bound(self) -> float:
        return OneInput(2, self.η_O).complexity

    def family(self) -> Family:
        """η_O → ∞: the ratio grows like η_O/log η_O."""
        truths = [OneInput(2, η_O).complexity for η_O in READOUTS]
        return Family(READOUTS, truths, [printed_bracket(2, 4, η_O) for η_O in READOUTS], "η_O")


@WITNESSES.register("repeated-sample")
@dataclass(frozen=True)
class RepeatedSample(Witness):
    """mwigo2026, Lemma 1, on n identical inputs (:class:`OneInput`).

    Initial norms are at most a quarter of η, and the radii are the rest: the complexity is at least
    a quarter of E|Σε|/n ≥ 1/√(2n). Printed: (c/n)√(P/n)(1 + log(√(n/P))) with P = 8d_m log n, of
    order n^{−3/2}(log n)^{3/2}. Only n grows; of logarithms in n nothing is hidden, and no power of
    log n would matter.
    """

    n: int = 10_000
    refutes = ("mwigo2026/lemma-1",)
    story = (
        "On n identical inputs of one token the complexity is of order n^{−1/2}, as for any class "
        "with two functions of opposite sign; printed is n^{−3/2}."
    )

    def inputs(self, statement: str) -> dict[str, float]:
        return OneInput(self.n).inputs()

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        case = OneInput(self.n)

        def near() -> bool:
            # η = ‖W⁰‖ + R with ‖W⁰‖ = η/4 in any direction, R = 3η/4, and a member of norm η/2
            start = np.random.default_rng(0).normal(size=(50, case.k, case.k))
            start *= 0.25 / np.linalg.norm(start, axis=(1, 2), keepdims=True)
            moved = np.linalg.norm(case.member(share=0.5)["W_v"] - start, axis=(1, 2))
            return at_most(float(moved.max()), 0.75)

        return (
            *case.premises(),
            Premise("members of half the norms are within R of every θ⁰ of a quarter (1)", near),
        )

    def lower_bound(self) -> float:
        return OneInput(self.n).complexity / 4

    def family(self) -> Family:
        """n → ∞: the ratio grows like n/(log n)^{3/2}."""
        truths = [OneInput(n).complexity / 4 for n in SAMPLES]
        printed = [printed_bracket(n, 4, 1.0) / n for n in SAMPLES]
        return Family(SAMPLES, truths, printed, "n")
