"""One-hot tokens: a minimiser spreads what it may spend over the coordinates it has not seen.

No noise, no attention (T = 1), and still an excess risk of order 1/√n: norms alone give no 1/n.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from dudley.theorems.witness.base import WITNESSES, Family, Witness
from dudley.theorems.witness.counterexamples.label_noise import absolute
from dudley.theorems.witness.premises import Premise, at_most, attended, is_lipschitz, norms, ranks
from dudley.theorems.witness.rank_constants import rank_covering, serving

SMALL = 8  # the n at which weights are built


@dataclass(frozen=True)
class OneHotMinimiser(Witness):
    """The learning problem, abstract in how a network realises x ↦ u·x with ‖u‖₂ ≤ 1.

    T = 1, x uniform on {e_1, …, e_d}, d = 2n; Y = 0 and ℓ(y, ŷ) = |y − ŷ|, so κ = 1, f* = 0 is in
    the class and minimises the loss at every example, B = 0, inf_F exc = 0. Let U be the set of the
    coordinates that the sample does not show; |U| ≥ d − n = n. The predictor with u = 1/√|U| on U
    and 0 elsewhere has training loss 0, so it is a minimiser, also over any larger class, and

        exc = (|U|/d)·|U|^{−1/2} = √|U|/d ≥ √n/(2n) = 1/(2√n).

    Since T = 1 the softmax is 1 whatever W_QK is. (The paper's (6) takes any minimiser, so a bound
    must hold for this one.)
    """

    n: int = 10**7

    @property
    def d(self) -> int:
        return 2 * self.n

    @abstractmethod
    def weights(self) -> dict[str, float]:
        """The bounds on the weights."""

    @abstractmethod
    def matrices(self, u: np.ndarray) -> dict[str, np.ndarray]:
        """Weights that predict u·x."""

    def learning(self) -> dict[str, float]:
        """What every excess-risk statement asks about the task."""
        return {"n": self.n, "kappa": 1.0, "target.bound": 0.0, "noise.free": 1}

    def minimiser(self, sample: np.ndarray) -> np.ndarray:
        """u, for the coordinates that a sample shows."""
        unseen = np.setdiff1d(np.arange(self.d), sample)
        u = np.zeros(self.d)
        u[unseen] = 1 / math.sqrt(len(unseen))
        return u

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        """At n = 8, in 16 coordinates, for a sample without repetitions: the smallest risk."""
        small = replace(self, n=SMALL)
        inputs, X = small.inputs(statement), np.eye(small.d)[:, None]
        W, shown = small.matrices(small.minimiser(np.arange(SMALL))), slice(0, SMALL)

        def minimises() -> bool:
            rows = attended(W, X)
            f = rows @ W["w"]
            passes = at_most(float(np.linalg.norm(rows, axis=1).max()), 1.0)
            risky = at_most(small.lower_bound(), float(np.abs(f).mean()))
            return passes and risky and float(np.abs(f[shown]).max()) == 0.0

        return (
            norms("norms of W_v, W_c, W_QK, w and inputs (4.1, 5.1, 5.5)", inputs, W | {"X": X}),
            Premise("the predictor minimises the training loss, and no Π changes a row", minimises),
            Premise(
                "f* = 0 minimises the loss at every example and |f*(X)| ≤ B (4.2, 5.5)",
                lambda: (
                    float(absolute(0.0, np.zeros(1))[0]) == 0.0
                    and at_most(0.0, inputs["target.bound"])
                ),
            ),
            Premise(
                "|g(X; f₁) − g(X; f₂)| ≤ κ|f₁(X) − f₂(X)| (4.3)",
                lambda: is_lipschitz(absolute, inputs["kappa"], (0.0,), np.linspace(-1, 1, 201)),
            ),
        )

    def lower_bound(self) -> float:
        return 1 / (2 * math.sqrt(self.n))


@WITNESSES.register("one-hot")
@dataclass(frozen=True)
class OneHot(OneHotMinimiser):
    """li2026, Theorem 5.3 with L = 1: W_v = W_c = I, σ the identity, u = w (see the base class).

    ‖I‖_{1,1} = d, so B_v = B_c = d, B_w = 1, B_x = 1 and B_QK = 0. Rows of norm ≤ 1 pass both Π.
    The printed factor 4κ(B + B_w)/n does not contain B_v and B_c, and these enter through a
    logarithm only: printed is of order log n/n. (In Theorems B.1 and B.2 the factor contains
    B_vB_c = d²; see ``unseen_heads`` for those.)
    """

    refutes = ("li2026/theorem-5.3",)
    story = (
        "One-hot tokens, one for each of 2n coordinates, labels 0 without noise: a minimiser "
        "spreads w over the unseen half, so the excess risk is at least 1/(2√n), not log n/n."
    )

    def weights(self) -> dict[str, float]:
        norms = {"W_v.l11": float(self.d), "W_c.l11": float(self.d), "W_QK.l11": 0.0, "w.l2": 1.0}
        return norms | {"sigma.lipschitz": 1.0}

    def matrices(self, u: np.ndarray) -> dict[str, np.ndarray]:
        unit = np.eye(self.d)
        return {"W_QK": 0 * unit, "W_v": unit, "W_c": unit, "w": u}

    def inputs(self, statement: str) -> dict[str, float]:
        sizes = {"d": self.d, "k": self.d, "L": 1, "X.row2inf": 1.0}
        return self.learning() | self.weights() | sizes


@WITNESSES.register("one-hot-low-rank")
@dataclass(frozen=True)
class OneHotLowRank(OneHotMinimiser):
    """li2026, Theorems B.4 and B.5: W_v = u e_1ᵀ, W_c = e_1e_1ᵀ, w = e_1, W_QK = 0, without noise.

    f(x) = x W_v W_c w = u·x, with ‖u‖₂ ≤ 1, σ the identity and one head (H = 1). The class is that
    of all matrices of rank ≤ 2 with spectral norm ≤ 1, and ‖w‖₂ ≤ 1; it contains the minimiser of
    the base class, so the excess risk is at least 1/(2√n).

    The width is 2n, so Assumption 5.7 holds for no constant free of n; with C_1 = 3(d + k) = 12n
    it holds for every ε below B_xB_W (``rank_constants``), and so do all hypotheses. B.4 and B.5
    print the logarithm of N_rank, which is of order n·log n: printed is O(log n/n) still, and the
    ratio grows like √n/log n. What this refutes is the logarithm of a log covering number; Theorem
    5.8, which takes N_rank once, says nothing here. The vector w is read with rank bound 1; with 2,
    N_rank is less than twice as large.
    """

    refutes = ("li2026/theorem-B.4", "li2026/theorem-B.5")
    story = (
        "Matrices of rank one, one-hot tokens in 2n coordinates, labels 0 without noise: the value "
        "matrix is spread over the unseen half, so the excess risk is at least 1/(2√n). With "
        "C_1 = 12n Assumption 5.7 holds, and since the logarithm of N_rank is taken once more, the "
        "printed bound is of order log n/n still."
    )

    @property
    def C_1(self) -> float:
        """A constant that satisfies Assumption 5.7 in this width."""
        return serving(self.d, self.d)

    def weights(self) -> dict[str, float]:
        bounds = {"r_QK": 2, "r_v": 2, "r_c": 2, "W_QK.op": 1.0, "W_v.op": 1.0, "W_c.op": 1.0}
        return bounds | {"w.l2": 1.0, "sigma.lipschitz": 1.0}

    def matrices(self, u: np.ndarray) -> dict[str, np.ndarray]:
        e = np.eye(self.d)[0]
        zero = np.zeros((self.d, self.d))
        return {"W_QK": zero, "W_v": np.outer(u, e), "W_c": np.outer(e, e), "w": e}

    def inputs(self, statement: str) -> dict[str, float]:
        sizes = {"d": self.d, "k": self.d, "X.op": 1.0, "X.row2inf": 1.0, "c": self.C_1}
        heads = {"H": 1.0} if statement.endswith("B.5") else {}
        return self.learning() | self.weights() | sizes | heads

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        small = replace(self, n=SMALL)
        return (
            *super().hypotheses(statement),
            ranks(
                "ranks are at most r_v, r_c, r_QK (5.5)",
                small.inputs(statement),
                small.matrices(small.minimiser(np.arange(SMALL))),
            ),
            rank_covering(self.inputs(statement)),
        )

    def family(self, statement: str = "li2026/theorem-B.4") -> Family:
        """n → ∞ with C_1 = 12n, at δ = 1/n: the ratio grows like √n/log n."""
        sizes = tuple(10**e for e in range(6, 14))
        lower = [type(self)(n).lower_bound() for n in sizes]
        return Family(sizes, lower, [self.printed(n) for n in sizes], "n")

    @staticmethod
    def printed(n: float) -> float:
        """B.4, and B.5 with H = 1: ε_j = δr_j/(7β_j) with r = (1, 2, 2, 2), β = (1, 1, 1, 2)."""
        weights = ((1.0, 1.0), (2.0, 1.0), (2.0, 1.0), (2.0, 2.0))
        N = 1 + sum(12 * n * r * math.log((7 * β * n) ** 2 / r) for r, β in weights)
        return 4 / n * (1 + math.log(N)) + 8 / n
