"""2^(p²) attention heads that p² inputs tell apart: one for every p×p pattern of signs.

The score matrix holds the signs; input (a, b) holds a token, its negative and a query a, and the
sign S_ab decides which of the two is attended. So each input reveals one sign, and no bound on a
covering number may be below p² log 2, however small the norms look: the scores carry the square of
the tokens' length.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dudley.theorems.witness.base import WITNESSES, Family, Witness
from dudley.theorems.witness.premises import Premise, at_most, attended, norms

RESOLUTION = 0.9
SMALL = 3  # the p at which heads are built
SIZES = tuple(10**e for e in range(3, 9))


@dataclass(frozen=True)
class SignHeads:
    """The heads, in width d = k = 2p + 1: p coordinates e_a for queries, p (f_b) for keys, then v.

    Tokens of input (a, b): s(f_b + v)/2, its negative, and the query s·e_a ([CLS], last), with
    s² = 2Rp². For signs S ∈ {−1, 1}^{p×p}, σ = identity and

        W_QK = (2R/s²) Σ_ab S_ab e_a f_bᵀ,   W_v = (2/s) v vᵀ,   W_c = v vᵀ,   w = v,

    the scores of the [CLS] row on input (a, b) are RS_ab, −RS_ab and 0. So its average of tokens
    has v-coordinate (s/2)S_ab τ with

        τ = (e^R − e^{−R})/(1 + e^R + e^{−R}) = 1 − (1 + 2e^{−R})/(1 + e^R + e^{−R}) > 0.9999

    for R = 10, W_v drops its other coordinates, the rows S_ab τ·v are no longer than 1, so both Π
    leave them alone, and the result is S_ab τ. Two patterns differ at some (a, b), and there the
    results differ by 2τ: for ε < τ no function is within ε of two of them, so log N(ε) ≥ p² log 2
    on these p² inputs, for any cover.

    Every entry of W_QK is ±1/p²: ‖·‖_{1,1} = 1, rows and columns have ℓ1 norm 1/p and ℓ2 norm
    p^{−3/2}, the Frobenius norm is 1/p. W_v has the one entry 2/s < ½; W_c and w have one entry 1.
    So no norm of the vocabulary is above 1 for any of them (the nuclear norm is below ‖·‖_{1,1}),
    also after transposition, and a model with W_QKᵀ for W_QK has the same heads. Tokens have ℓ1 and
    ℓ2 norm at most s.
    """

    p: int
    R: float = 10.0

    @property
    def d(self) -> int:
        return 2 * self.p + 1

    @property
    def s(self) -> float:
        """The largest norm of a token."""
        return self.p * math.sqrt(2 * self.R)

    @property
    def τ(self) -> float:
        """Half the separation of two heads."""
        up, down = math.exp(self.R), math.exp(-self.R)
        return (up - down) / (1 + up + down)

    @property
    def log_count(self) -> float:
        """log N(ε) is at least this for every ε < τ."""
        return self.p**2 * math.log(2)

    def tokens(self) -> np.ndarray:
        """The p² inputs, each of three tokens: (p², 3, d). For small p."""
        p = self.p
        X = np.zeros((p, p, 3, self.d))
        for a in range(p):
            for b in range(p):
                X[a, b, 0, [p + b, 2 * p]] = self.s / 2
                X[a, b, 1] = -X[a, b, 0]
                X[a, b, 2, a] = self.s
        return X.reshape(p * p, 3, self.d)

    def weights(self, signs: np.ndarray) -> dict[str, np.ndarray]:
        """W_QK, W_v, W_c and w for one pattern of signs. For small p."""
        p, v = self.p, np.eye(self.d)[2 * self.p]
        W_QK = np.zeros((self.d, self.d))
        W_QK[:p, p : 2 * p] = np.reshape(signs, (p, p)) * (2 * self.R / self.s**2)
        return {"W_QK": W_QK, "W_v": np.outer(v, v) * (2 / self.s), "W_c": np.outer(v, v), "w": v}

    def patterns(self) -> Iterator[np.ndarray]:
        """Patterns of signs: every one for p ≤ 2, each seventh for p = 3."""
        every = itertools.product((-1.0, 1.0), repeat=self.p**2)
        return map(np.array, itertools.islice(every, 0, None, 1 if self.p < 3 else 7))

    def realise(self) -> bool:
        """Do the weights give S_ab·τ on input (a, b), with rows that pass Π?"""
        X = self.tokens()
        for signs in self.patterns():
            W = self.weights(signs)
            rows = attended(W, X)
            if not np.allclose(rows @ W["w"], self.τ * signs, atol=1e-12):
                return False
            if not at_most(float(np.linalg.norm(rows, axis=1).max()), 1.0):
                return False
        return True


def constant(statement: str, d: int) -> float:
    """C_1 of a statement for B = 1 and k = d, as printed."""
    if statement.endswith("F.0.1"):
        return d * math.log(2 * d + 1)
    return math.log(d**2) if statement.endswith("F.0.2") else math.log(2 * d**2 + 1)


@WITNESSES.register("many-heads")
@dataclass(frozen=True)
class ManyHeads(Witness):
    """trauger2024, Theorem 4.2 and its corollaries with one block (:class:`SignHeads`).

    The class is that of all matrices and w with the statement's norm at most B = 1, whichever way
    that norm is oriented; for 4.2 it is ‖·‖_{1,1} ≤ 1, where C_1 = log(2d² + 1) and
    C_{B_x} = B_x²C_1 are valid. B_x = s, and n = p² ≥ d from p = 3 on. At ε = 0.9 < τ the truth is
    at least p² log 2, and the printed value is C_1(16^{1/3} + 1 + (2/s)^{2/3})³/ε², of order log p,
    or p·log p for F.0.1. Logarithms of B, B_x and 1/ε, which Lemma 3.4 hides, are of order log p.
    """

    p: int = 10_000
    refutes = (
        "trauger2024/theorem-4.2",
        "trauger2024/corollary-4.2.1",
        "trauger2024/corollary-F.0.1",
        "trauger2024/corollary-F.0.2",
    )
    story = (
        "With long tokens score matrices of norm 1 realise all 2^m patterns of attention on m = p² "
        "inputs in width 2p + 1, so the log covering number is at least m log 2, not of order "
        "log m or √m·log m."
    )

    @property
    def heads(self) -> SignHeads:
        return SignHeads(self.p)

    def inputs(self, statement: str) -> dict[str, float]:
        heads = self.heads
        common = {
            "L": 1,
            "W_QK.op": 1 / self.p,
            "W_v.op": 2 / heads.s,
            "W_c.op": 1.0,
            "w.l2": 1.0,
            "sigma.lipschitz": 1.0,
            "epsilon": RESOLUTION,
        }
        C_1 = constant(statement, heads.d)
        norms = {
            "4.2": {"X.row2inf": heads.s, "class.C": C_1, "class.C_input": C_1 * heads.s**2},
            "4.2.1": {"X.row2inf": heads.s, "W.l11": 1.0},
            "F.0.1": {"X.row1inf": heads.s, "W.row1inf": 1.0},
            "F.0.2": {"X.row1inf": heads.s, "W.row21": 1.0, "W.col21": 1.0},
        }
        name = statement.rpartition("-")[2]
        return common | norms[name] | ({} if name == "4.2" else {"d": heads.d, "k": heads.d})

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        """At p = 3: 2^9 heads in width 7 on nine inputs."""
        small = ManyHeads(SMALL)
        heads, inputs = small.heads, small.inputs(statement)
        W, X = heads.weights(np.ones(SMALL**2)), heads.tokens()
        matrix = {k: v for k, v in inputs.items() if k.startswith("W.")} or {"W.l11": 1.0}
        turned = {k.replace("W.", "V."): v for k, v in matrix.items()}
        matrices = {name: part for name, part in W.items() if name != "w"}

        def covered() -> bool:
            C, B_x = inputs.get("class.C", 0.0), inputs["X.row2inf"]
            log_N = math.log(2 * heads.d**2 + 1)
            return log_N <= C and inputs["class.C_input"] >= B_x**2 * log_N

        every = (
            norms("spectral norms, ‖w‖₂ and tokens (4.2)", inputs, W | {"X": X}),
            *(
                norms(
                    f"the statement's norm of {name} is at most B = 1, whichever way it is "
                    "oriented (4.2.1, F.0.1, F.0.2)",
                    matrix | turned,
                    {"W": part, "V": part.T},
                )
                for name, part in matrices.items()
            ),
            Premise("n = p² inputs are more than d (3.3, 3.4)", lambda: len(X) > heads.d),
            Premise("all 2^(p²) heads are in the class, and no Π changes a row", heads.realise),
            Premise("ε < τ, so no centre serves two heads", lambda: 0 < RESOLUTION < heads.τ),
        )
        cover = Premise("log N ≤ C_1/ε² and C_{B_x}/ε² for ‖·‖_{1,1} ≤ 1, by Lemma 3.6", covered)
        return (*every, cover) if "class.C" in inputs else every

    def lower_bound(self) -> float:
        return self.heads.log_count

    def family(self, statement: str = "trauger2024/corollary-F.0.1") -> Family:
        """p → ∞, by default against F.0.1: the ratio grows like p/log p, else like p²/log p."""
        printed = []
        for heads in map(SignHeads, SIZES):
            γ = 16 ** (1 / 3) + 1 + (2 / heads.s) ** (2 / 3)
            printed.append(γ**3 * constant(statement, heads.d) / RESOLUTION**2)
        return Family(SIZES, [SignHeads(p).log_count for p in SIZES], printed, "p")
