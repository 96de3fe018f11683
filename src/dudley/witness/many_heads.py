"""2^m attention heads that m inputs tell apart: one for every pattern of signs.

The score matrix reads, from the [CLS] query, a vector q of signs; input i holds a token and its
negative, and the sign q_i decides which of the two is attended. So each of m inputs reveals one
sign, and no bound on a covering number may be below m log 2, however small the norms look: the
scores carry the square of the tokens' length.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dudley.witness.base import WITNESSES, Family, Witness


@dataclass(frozen=True)
class SignHeads:
    """The heads themselves, in width d = m + 2: coordinates 1…m for keys, then value, then query.

    Tokens of input i: B_x(e_i + e_v)/2, its negative, and the query B_x e_u ([CLS], last). Weights:

        W_QK = e_u qᵀ,  q ∈ {−ρ, ρ}^m,  ρ = 2R/B_x²,
        W_v = (2/B_x) e_v e_vᵀ,   W_c = e_v fᵀ/L_σ,   w = f,

    with f = e_v, or f = (1, …, 1)/√d if ``flat``, and σ(u) = L_σ u. With s_i the sign of q_i, the
    scores of the [CLS] row on input i are Rs_i, −Rs_i and 0, so the average has value coordinate
    (B_x/2)·s_i·τ with τ = (e^R − e^{−R})/(1 + e^R + e^{−R}); the hidden row is s_i τ e_v, the last
    row s_i τ f, the result s_i τ. (If σ acts twice, L_σ ≥ 1, it is s_i·min(1, L_σ τ).)

    Two patterns differ at some i, and there the results differ by 2τ: for ε < τ no function is
    within ε of two of them, so log N(ε) ≥ m log 2 on these m inputs, for any cover.
    """

    m: int
    R: float = 10.0
    B_x: float = 1.0
    L_σ: float = 1.0
    flat: bool = False

    @property
    def d(self) -> int:
        return self.m + 2

    @property
    def ρ(self) -> float:
        return 2 * self.R / self.B_x**2

    @property
    def τ(self) -> float:
        """Half the separation of two heads."""
        up, down = math.exp(self.R), math.exp(-self.R)
        return (up - down) / (1 + up + down)

    @property
    def log_count(self) -> float:
        """log N(ε) is at least this for every ε < τ."""
        return self.m * math.log(2)

    @cached_property
    def direction(self) -> np.ndarray:
        """f: where the output goes."""
        return np.full(self.d, 1 / math.sqrt(self.d)) if self.flat else np.eye(self.d)[self.m]

    def tokens(self) -> np.ndarray:
        """The m inputs, each of three tokens: (m, 3, d). For small m."""
        X = np.zeros((self.m, 3, self.d))
        for i in range(self.m):
            X[i, 0, [i, self.m]] = self.B_x / 2
            X[i, 1] = -X[i, 0]
            X[i, 2, self.m + 1] = self.B_x
        return X

    def weights(self, signs) -> dict[str, np.ndarray]:
        """W_QK, W_v, W_c and w for one pattern of signs. For small m."""
        value, query = np.eye(self.d)[self.m], np.eye(self.d)[self.m + 1]
        q = np.concatenate([self.ρ * np.asarray(signs, dtype=float), [0.0, 0.0]])
        return {
            "W_QK": np.outer(query, q),
            "W_v": np.outer(value, value) * (2 / self.B_x),
            "W_c": np.outer(value, self.direction) / self.L_σ,
            "w": self.direction,
        }

    def norms(self) -> dict[str, float]:
        """The norms of the weights, by the names of the vocabulary."""
        m, ρ, root = self.m, self.ρ, math.sqrt(self.m)
        spread = math.sqrt(self.d) if self.flat else 1.0  # ‖f‖₁
        long, short = spread / self.L_σ, 1 / (spread * self.L_σ)
        found = {
            "W_QK": {"l11": m * ρ, "op": ρ * root, "fro": ρ * root, "row21": ρ * root,
                     "col21": m * ρ, "row1inf": m * ρ, "col1inf": ρ, "col2inf": ρ},
            "W_v": dict.fromkeys(
                ("l11", "op", "fro", "row21", "col21", "row1inf", "col1inf", "col2inf"),
                2 / self.B_x,
            ),
            "W_c": {"l11": long, "op": 1 / self.L_σ, "fro": 1 / self.L_σ, "row21": 1 / self.L_σ,
                    "col21": long, "row1inf": long, "col1inf": short, "col2inf": short},
            "w": {"l1": spread, "l2": 1.0, "linf": 1 / spread},
        }  # fmt: skip
        return {f"{W}.{norm}": v for W, norms in found.items() for norm, v in norms.items()}

    def largest(self, matrix_norm: str, w_norm: str) -> float:
        """The largest of one norm over the three matrices, and of another of w."""
        norms = self.norms()
        matrices = (norms[f"{W}.{matrix_norm}"] for W in ("W_QK", "W_v", "W_c"))
        return max(*matrices, norms[f"w.{w_norm}"])


@WITNESSES.register("many-heads")
@dataclass(frozen=True)
class ManyHeads(Witness):
    """trauger2024, Theorem 4.2 and its corollaries with one block (:class:`SignHeads`).

    For 4.2, 4.2.1 and F.0.2: σ = identity and B_x² = 2Rm, so that ‖W_QK‖_{1,1} = 1 and every other
    norm is at most 1. For F.0.1, whose bound carries a factor d: σ(u) = d·u, a flat f and
    B_x = 1000d, so that every row has ℓ1 norm at most 1/√d. Tokens have ℓ1 and ℓ2 norm at most
    B_x. At ε = 0.9 < τ the truth is at least m log 2; the printed bounds grow like log d.
    """

    m: int = 100_000
    refutes = (
        "trauger2024/theorem-4.2",
        "trauger2024/corollary-4.2.1",
        "trauger2024/corollary-F.0.1",
        "trauger2024/corollary-F.0.2",
    )
    story = (
        "With long tokens a score matrix of norm 1 realises all 2^m patterns of attention on m "
        "inputs, so the log covering number is at least m log 2, not a multiple of log m."
    )

    def heads(self, statement: str) -> SignHeads:
        """The instance against one statement."""
        if statement.endswith("F.0.1"):
            d = self.m + 2
            return SignHeads(self.m, B_x=1000.0 * d, L_σ=float(d), flat=True)
        return SignHeads(self.m, B_x=math.sqrt(20.0 * self.m))

    def inputs(self, statement):
        heads = self.heads(statement)
        norms = heads.norms()
        common = {name: norms[name] for name in ("W_QK.op", "W_v.op", "W_c.op", "w.l2")}
        common |= {"L": 1, "sigma.lipschitz": heads.L_σ, "epsilon": 0.9}
        sizes = {"d": heads.d, "k": heads.d}
        if statement.endswith("theorem-4.2"):
            C = heads.largest("l11", "l1") ** 2 * math.log(2 * heads.d**2 + 1)
            both = {"class.C": C, "class.C_input": C * heads.B_x**2}
            return common | both | {"X.row2inf": heads.B_x}
        if statement.endswith("4.2.1"):
            B = {"W.l11": heads.largest("l11", "l1")}
            return common | sizes | B | {"X.row2inf": heads.B_x}
        if statement.endswith("F.0.1"):
            B = {"W.row1inf": heads.largest("row1inf", "linf")}
        else:
            B = {"W.row21": heads.largest("row21", "l1")}
        return common | sizes | B | {"X.row1inf": heads.B_x}

    def lower_bound(self):
        return self.m * math.log(2)

    def family(self) -> Family:
        """Corollary 4.2.1 as m grows: the ratio grows like m/log m."""
        sizes = [10**e for e in range(3, 9)]
        printed = []
        for m in sizes:
            B_v = 2 / math.sqrt(20.0 * m)  # B = B_w = B_c2 = 1 and B_x·B_v2 = 2
            γ = 16 ** (1 / 3) + 1 + B_v ** (2 / 3)
            printed.append(γ**3 * math.log(2 * (m + 2) ** 2 + 1) / 0.9**2)
        return Family(sizes, [ManyHeads(m).lower_bound() for m in sizes], printed)
