"""The heads that no input reveals, on inputs that count as unbounded."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from dudley.networks.robust import LogTruncation
from dudley.theorems.witness.base import WITNESSES, Family, Witness
from dudley.theorems.witness.counterexamples.unseen_heads import UnseenHeads

SIZES = tuple(10**e for e in range(3, 9))
TOKENS, NORM2 = 3, 3.0  # T and ‖X‖_F² of the inputs of QueryHeads
BETA = 20.0


def norm_based(
    statement: str, n: float, A: float, B: float, d: float, M: float, B_QK: float
) -> float:
    """Theorems 6.4 to 6.6 as printed but for T_err, L = H = 1, other norms 1, at δ = (B + A)/n."""
    log_γ3 = math.log(math.log(2 * d**2 + 1)) + 2 * math.log(M)
    if statement.endswith("6.6"):
        α = 1 + 4 * B_QK
        log_γ3 += 3 * math.log((2 * α * M) ** (2 / 3) + 1 + 2 * α ** (2 / 3))
    else:
        log_γ3 += math.log(64)
    δ = (B + A) / n
    return 4 * δ * (1 + log_γ3 - 2 * math.log(δ)) + 8 * δ


def rank_based(statement: str, n: float, A: float, B: float, M: float, B_QK: float) -> float:
    """Theorems 6.9 to 6.11 as printed but for the bias, c = L = H = 1, ranks and norms 1, δ = 1/n.

    Four matrices of rank 1. In 6.11 b_i² = 4Mβ_i with β = (1, α, α, 2α), α = 1 + 4B_QK; in 6.9
    and 6.10 M²/ε_j² = (4Mβ_j/δ)² with β = (1, 1, 1, 2).
    """
    if statement.endswith("6.11"):
        α = 1 + 4 * B_QK
        N = sum(math.log(4 * M * β * n**2) for β in (1.0, α, α, 2 * α))
    else:
        N = math.log(1 + sum(2 * math.log(4 * M * β * n) for β in (1.0, 1.0, 1.0, 2.0)))
    return 4 * (B + A) / n * (1 + N) + 8 / n


@WITNESSES.register("unseen-sub-gaussian")
@dataclass(frozen=True)
class UnseenSubGaussian(Witness):
    """li2026, Theorems 6.4, 6.5 with H = 1 and 6.6 with L = 1: ``UnseenHeads`` behind a truncation.

    The inputs of ``QueryHeads`` have T = 3 tokens, width d = n + 2 and ‖X‖_F = √3. XXᵀ has the
    eigenvalues 2, 1, 0 and E XᵀX none above 2, so the paper's ν(X) is 2, and (9) holds with it:
    (T + d)e^{−3/8} ≥ 1 up to t = √3, and beyond the probability is 0. Truncation at M ≥ √3 changes
    nothing, so the excess risk is that of ``UnseenHeads``, 2a(1 − 1/n)^n, above ½, exactly.

    M² = 16·log(T + d), so T_err = cκν/(T + d). The hidden constant cannot repair it, even as a
    power (T + d)^q: with M² = 8(q + 2)·log(T + d) it is again at most 2/(T + d), and all else
    changes by powers of log n; nor does it help to read M for the B_X = √2 of the factor. Printed
    is of order log n/n (√log n more with M for B_X).
    """

    n: int = 10_000
    refutes = ("li2026/theorem-6.4", "li2026/theorem-6.5", "li2026/theorem-6.6")
    story = (
        "Inputs of norm √3, which truncation does not touch, each of which reveals one of n "
        "answers: a minimiser is wrong on all it has not seen, so the excess risk stays above ½."
    )

    @property
    def heads(self) -> UnseenHeads:
        return UnseenHeads(self.n)

    def inputs(self, statement: str) -> dict[str, float]:
        total = TOKENS + self.heads.heads.d
        instance = self.heads.learning() | self.heads.weights()
        instance |= {"T": TOKENS, "tail.nu": 2.0, "truncation": 4 * math.sqrt(math.log(total))}
        if statement.endswith("6.6"):
            return instance | {"L": 1}
        return instance | {"X.op": math.sqrt(2)} | ({"H": 1} if statement.endswith("6.5") else {})

    def lower_bound(self) -> float:
        return self.heads.lower_bound()

    def family(self, statement: str = "li2026/theorem-6.4") -> Family:
        """n → ∞: the ratio grows like n/log n. At the best δ, which is (B + A)/n."""
        printed = []
        for n in SIZES:
            v = replace(self, n=n).inputs(statement)
            A, B = v.get("X.op", 1.0), v["target.bound"]
            value = norm_based(statement, n, A, B, v["d"], v["truncation"], v["W_QK.l11"])
            printed.append(value + 2 / (TOKENS + v["d"]))
        return Family(SIZES, [replace(self, n=n).lower_bound() for n in SIZES], printed, "n")


@WITNESSES.register("unseen-heavy-tailed")
@dataclass(frozen=True)
class UnseenHeavyTailed(Witness):
    """li2026, Theorems 6.9, 6.10 with H = 1 and 6.11 with L = 1, for Catoni's ψ and α = 1.

    The inputs of ``UnseenHeads`` satisfy (12) with β = 20 and C = 3^{β/2}, since ‖X‖_F = √3; and
    Assumption 5.5, which the theorems keep, wants inputs bounded by B_X. All ranks are 1,
    ‖W_QK‖_op = √2R√n, the other norms 1. The losses are 0 and 2a, the robust losses 0 and
    ψ(2a) = log(1 + 2a + 2a²) ≤ 2a, and ψ increases: the minimiser of ``UnseenHeads`` minimises the
    robust training loss as well, and its excess risk is ψ(2a)(1 − 1/n)^n, about 0.45, in the robust
    loss, and more in the loss itself.

    M = n^{3/4}: the bias C_βM^{2−β} is C_βn^{−27/2}, of order 1/n² even if C_β carries the
    C(Td)^{1+β/2} = C(3n + 6)^{11} of appendix C.2 and a Lipschitz constant of order B_QK. B_QK and
    M enter N_rank through logarithms, so printed is of order log n/n for every C_1 that does not
    depend on the dimensions (C_1 comes from Lemma B.6, which has ½; with a C_1 proportional to d,
    6.9 and 6.10, which take another logarithm, are refuted still, and 6.11 is by ``noisy-heavy``).
    With M for B_X, 6.9 and 6.10 are of order n^{−1/4}·log n, and refuted as well.
    """

    n: int = 10_000
    refutes = ("li2026/theorem-6.9", "li2026/theorem-6.10", "li2026/theorem-6.11")
    story = (
        "Matrices of rank one and inputs of norm √3, each of which reveals one of n answers: with "
        "Catoni's loss too a minimiser is wrong on all it has not seen, so the excess risk stays "
        "above 0.4."
    )

    @property
    def heads(self) -> UnseenHeads:
        return UnseenHeads(self.n)

    @property
    def B_QK(self) -> float:
        """‖W_QK‖_op."""
        return math.sqrt(2 * self.n) * self.heads.heads.R

    def inputs(self, statement: str) -> dict[str, float]:
        d = self.heads.heads.d
        instance = self.heads.learning() | {"d": d, "k": d, "r_QK": 1, "r_v": 1, "r_c": 1}
        instance |= {"W_QK.op": self.B_QK, "W_v.op": 1.0, "W_c.op": 1.0, "w.l2": 1.0}
        instance |= {"sigma.lipschitz": 1.0, "psi.power": 2.0}
        instance |= {"tail.C": NORM2 ** (BETA / 2), "tail.beta": BETA, "truncation": self.n**0.75}
        if statement.endswith("6.11"):
            return instance | {"L": 1}
        return instance | {"X.op": math.sqrt(2)} | ({"H": 1} if statement.endswith("6.10") else {})

    def lower_bound(self) -> float:
        worst = float(LogTruncation(2.0)(2 * self.heads.heads.a))
        return worst * (1 - 1 / self.n) ** self.n

    def family(self, statement: str = "li2026/theorem-6.11") -> Family:
        """n → ∞: the ratio grows like n/log n (6.11) or faster. At δ = 1/n, with c = 1."""
        printed = []
        for n in SIZES:
            v = replace(self, n=n).inputs(statement)
            M, A, B = v["truncation"], v.get("X.op", 1.0), v["target.bound"]
            bias = v["tail.C"] * BETA / (BETA - 2) * M ** (2 - BETA)
            printed.append(rank_based(statement, n, A, B, M, v["W_QK.op"]) + bias)
        return Family(SIZES, [replace(self, n=n).lower_bound() for n in SIZES], printed, "n")
