"""2^m heads on m inputs, with unit tokens: what is not seen may be answered either way.

One row of the score matrix holds m signs; input b shows sign b alone. All norms are 1 except that
of W_QK, and all ranks are 1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dudley.theorems.witness.base import WITNESSES, Witness
from dudley.theorems.witness.counterexamples.label_noise import absolute
from dudley.theorems.witness.premises import Premise, at_most, attended, is_lipschitz, norms

RESOLUTION = 0.7
SMALL = 5  # the m at which heads are built


@dataclass(frozen=True)
class QueryHeads:
    """The heads, in width d = k = m + 2: coordinates e_0 for the query, f_1, …, f_m, and v.

    Tokens of input b: (f_b + v)/√2, its negative, and the query e_0 ([CLS], last): unit vectors,
    with ‖X‖_op = √2 and ‖X‖_F = √3. For signs S ∈ {−1, 1}^m, σ = identity and

        W_QK = √2R Σ_b S_b e_0 f_bᵀ,   W_v = W_c = v vᵀ,   w = v,

    the scores of the [CLS] row on input b are RS_b, −RS_b and 0. So its average of tokens has the
    v-coordinate aS_b, a = τ/√2 with

        τ = (e^R − e^{−R})/(1 + e^R + e^{−R}) > 0.9999 for R = 10,

    and that is the prediction; rows of norm a < 1 pass Π. Two patterns of signs differ at some
    input, by 2a: for ε < a no function is within ε of two of them, so log N(ε) ≥ m log 2 on these
    m inputs, for any cover. ‖W_QK‖_{1,1} = √2Rm and ‖W_QK‖_op = √2R√m; all other matrices and w
    have norm 1 in every norm of the vocabulary, and every matrix has rank 1.
    """

    m: int
    R: float = 10.0

    @property
    def d(self) -> int:
        return self.m + 2

    @property
    def a(self) -> float:
        """The size of a prediction."""
        up, down = math.exp(self.R), math.exp(-self.R)
        return (up - down) / (1 + up + down) / math.sqrt(2)

    @property
    def B_QK(self) -> float:
        """‖W_QK‖_{1,1}."""
        return math.sqrt(2) * self.R * self.m

    @property
    def log_count(self) -> float:
        """log N(ε) is at least this for every ε < a."""
        return self.m * math.log(2)

    def tokens(self) -> np.ndarray:
        """The m inputs, each of three tokens: (m, 3, d). For small m."""
        X = np.zeros((self.m, 3, self.d))
        for b in range(self.m):
            X[b, 0, [1 + b, self.d - 1]] = 1 / math.sqrt(2)
            X[b, 1] = -X[b, 0]
            X[b, 2, 0] = 1.0
        return X

    def weights(self, signs: np.ndarray) -> dict[str, np.ndarray]:
        """W_QK, W_v, W_c and w for one pattern of signs. For small m."""
        v = np.eye(self.d)[-1]
        W_QK = np.zeros((self.d, self.d))
        W_QK[0, 1:-1] = math.sqrt(2) * self.R * np.asarray(signs)
        return {"W_QK": W_QK, "W_v": np.outer(v, v), "W_c": np.outer(v, v), "w": v}

    def patterns(self) -> list[np.ndarray]:
        """All 2^m patterns of signs. For small m."""
        return [np.array(signs) for signs in itertools.product((-1.0, 1.0), repeat=self.m)]

    def realise(self) -> bool:
        """Do the weights give S_b·a on input b, for every pattern, with rows that pass Π?"""
        X = self.tokens()
        for signs in self.patterns():
            W = self.weights(signs)
            rows = attended(W, X)
            if not np.allclose(rows @ W["w"], self.a * signs, atol=1e-12):
                return False
            if not at_most(float(np.linalg.norm(rows, axis=1).max()), 1.0):
                return False
        return True

    def bounds(self, words: str, inputs: Mapping[str, float]) -> Premise:
        """The norms of the weights and tokens that the inputs bound."""
        parts = self.weights(np.ones(self.m)) | {"X": self.tokens()}
        named = {name.partition(".")[0] for name in inputs}
        return norms(words, inputs, {name: W for name, W in parts.items() if name in named})


@WITNESSES.register("query-heads")
@dataclass(frozen=True)
class ManyQueries(Witness):
    """li2026, the covering number in the proof of Theorem B.1 (:class:`QueryHeads`).

    γ_SH does not contain B_QK: γ_SH³/ε² = 64·log(2d² + 1)/ε² is of order log m, the truth at
    ε = 0.7 < a at least m log 2.
    """

    m: int = 100_000
    refutes = ("li2026/equation-14",)
    story = (
        "2^m heads on m inputs of unit tokens, told apart by one row of W_QK: the log covering "
        "number is at least m log 2, the printed one has no B_QK and is of order log m."
    )

    def inputs(self, statement: str) -> dict[str, float]:
        heads = QueryHeads(self.m)
        return {
            "d": heads.d,
            "k": heads.d,
            "W_QK.l11": heads.B_QK,
            "W_v.l11": 1.0,
            "W_c.l11": 1.0,
            "w.l2": 1.0,
            "sigma.lipschitz": 1.0,
            "X.row2inf": 1.0,
            "epsilon": RESOLUTION,
        }

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        small = ManyQueries(SMALL)
        heads, inputs = QueryHeads(SMALL), small.inputs(statement)
        return (
            heads.bounds("‖·‖_{1,1} of W_v, W_c, W_QK, ‖w‖₂ and tokens (5.1)", inputs),
            Premise("all 2^m heads are in the class, 2a apart", heads.realise),
            Premise("ε < a, so no centre serves two heads", lambda: 0 < RESOLUTION < heads.a),
        )

    def lower_bound(self) -> float:
        return QueryHeads(self.m).log_count


@WITNESSES.register("unseen-heads")
@dataclass(frozen=True)
class UnseenHeads(Witness):
    """li2026, Theorems B.1, B.2 with H = 1 and 5.3 with L = 1: :class:`QueryHeads` with m = n.

    X is uniform on the m inputs, Y = a, ℓ(y, ŷ) = |y − ŷ|: κ = 1, f* = a is the head with all signs
    +1, it minimises the loss at every example, B = a and inf_F exc = 0. The head with sign −1
    exactly on the inputs that the sample does not show has training loss 0, so it is a minimiser
    (also over all weights with these norms; (6) takes any minimiser), and its risk is 2a times the
    share of unseen inputs:

        E exc = 2a(1 − 1/m)^n,   about 0.52 for m = n.

    Printed is of order log n/n: no B_QK in B.1 and B.2, where B_X = √2, and in 5.3 through a
    logarithm only. Any value of C_1 enters through a logarithm as well.
    """

    n: int = 10_000
    refutes = ("li2026/theorem-5.3", "li2026/theorem-B.1", "li2026/theorem-B.2")
    story = (
        "One row of W_QK decides n answers one by one, without noise: a minimiser is wrong on "
        "every input it has not seen, so the excess risk stays above ½ while the bound falls like "
        "log n/n."
    )

    @property
    def heads(self) -> QueryHeads:
        return QueryHeads(self.n)

    def learning(self) -> dict[str, float]:
        """What every excess-risk statement asks about the task."""
        return {"n": self.n, "kappa": 1.0, "target.bound": self.heads.a, "noise.free": 1}

    def weights(self) -> dict[str, float]:
        """The ‖·‖_{1,1} bounds."""
        norms = {"W_QK.l11": self.heads.B_QK, "W_v.l11": 1.0, "W_c.l11": 1.0, "w.l2": 1.0}
        return norms | {"sigma.lipschitz": 1.0, "d": self.heads.d, "k": self.heads.d}

    def inputs(self, statement: str) -> dict[str, float]:
        instance = self.learning() | self.weights() | {"X.row2inf": 1.0}
        if statement.endswith("5.3"):
            return instance | {"L": 1}
        return instance | {"X.op": math.sqrt(2)} | ({"H": 1} if statement.endswith("B.2") else {})

    def premises(self, inputs: Mapping[str, float]) -> tuple[Premise, ...]:
        """What excess-risk statements ask; for small n, whose inputs these are."""
        a, grid = self.heads.a, np.linspace(-1, 1, 201)
        return (
            self.heads.bounds("norms of W_v, W_c, W_QK, w and inputs (4.1, 4.2, 5.1, 5.5)", inputs),
            Premise("all heads are in the class; so a minimiser may err", self.heads.realise),
            Premise(
                "|f*(X)| ≤ B: f* = a has loss 0 at every example (4.2, 5.5)",
                lambda: absolute(a, np.array([a]))[0] == 0 and at_most(a, inputs["target.bound"]),
            ),
            Premise(
                "|g(X; f₁) − g(X; f₂)| ≤ κ|f₁(X) − f₂(X)| (4.3, 6.3)",
                lambda: is_lipschitz(absolute, inputs["kappa"], (a,), grid),
            ),
        )

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        small = UnseenHeads(SMALL)
        return small.premises(small.inputs(statement))

    def lower_bound(self) -> float:
        return 2 * self.heads.a * (1 - 1 / self.n) ** self.n
