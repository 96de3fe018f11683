"""One-hot tokens: a minimiser spreads what it may spend over the coordinates it has not seen.

No noise, no attention (T = 1), and still an excess risk of order 1/√n: norms alone give no 1/n.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass

from dudley.theorems.witness.base import WITNESSES, Witness


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

    def learning(self) -> dict[str, float]:
        """What every excess-risk statement asks about the task."""
        return {"n": self.n, "kappa": 1.0, "target.bound": 0.0, "noise.free": 1}

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

    def inputs(self, statement: str) -> dict[str, float]:
        sizes = {"d": self.d, "k": self.d, "L": 1, "X.row2inf": 1.0}
        return self.learning() | self.weights() | sizes


@dataclass(frozen=True)
class OneHotRankOne(OneHotMinimiser):
    """The same predictors from matrices of rank 1: W_v = u e_1ᵀ, W_c = e_1e_1ᵀ, w = e_1, W_QK = 0.

    A base for witnesses against rank-based bounds, which say what they refute.

    f(x) = x W_v W_c w = u·x, with spectral norms ‖u‖₂ ≤ 1, 1 and 0, ‖w‖₂ = 1, σ the identity; one
    head (H = 1) and one block (L = 1: |u·x| ≤ 1 passes both Π). The class of all matrices of these
    ranks and norms contains the minimiser of the base class, so the excess risk is at least
    1/(2√n), while each rank is 1. (‖W_v‖_{1,1} may be √d.)
    """

    def weights(self) -> dict[str, float]:
        norms = {"r_QK": 1, "r_v": 1, "r_c": 1, "W_QK.op": 0.0, "W_v.op": 1.0, "W_c.op": 1.0}
        return norms | {"w.l2": 1.0, "sigma.lipschitz": 1.0}

    def inputs(self, statement: str) -> dict[str, float]:
        sizes = {"d": self.d, "k": self.d, "X.op": 1.0, "X.row2inf": 1.0}
        return self.learning() | self.weights() | sizes
