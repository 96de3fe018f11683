"""The heads that no input reveals, on inputs that count as unbounded."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from dudley.networks.robust import LogTruncation
from dudley.theorems.witness.base import WITNESSES, Family, Witness
from dudley.theorems.witness.counterexamples.unseen_heads import SMALL, UnseenHeads
from dudley.theorems.witness.premises import Premise, at_most, ranks
from dudley.theorems.witness.rank_constants import rank_covering, serving

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


def rank_based(
    statement: str, n: float, A: float, B: float, M: float, B_QK: float, C: float
) -> float:
    """Theorems 6.9 to 6.11 as printed but for the bias: L = H = 1, norms 1, δ = 1/n, C_1 = C.

    Ranks are 1 for w and 2 for W_c, W_v and W_QK. In 6.11 b_i² = 7Mβ_i/r_i with β = (1, α, α, 2α),
    α = 1 + 4B_QK; in 6.9 and 6.10 r_jM²/ε_j² = (7Mβ_j/δ)²/r_j with β = (1, 1, 1, 2).
    """
    r = (1, 2, 2, 2)
    if statement.endswith("6.11"):
        α = 1 + 4 * B_QK
        β = (1.0, α, α, 2 * α)
        N = C * sum(x * math.log(7 * M * y * n**2 / x) for x, y in zip(r, β, strict=True))
    else:
        β = (1.0, 1.0, 1.0, 2.0)
        terms = (x * math.log((7 * M * y * n) ** 2 / x) for x, y in zip(r, β, strict=True))
        N = math.log(1 + C * sum(terms))
    return 4 * (B + A) / n * (1 + N) + 8 / n


def frobenius(X: np.ndarray) -> float:
    """The largest ‖X‖_F of the inputs."""
    return float(np.linalg.norm(X, axis=(1, 2)).max())


def sub_gaussian(X: np.ndarray, ν: float) -> Premise:
    """(9), for inputs that are equally likely, with the paper's ν(X)."""

    def holds() -> bool:
        left = np.einsum("nij,nkj->ik", X, X) / len(X)
        right = np.einsum("nij,nik->jk", X, X) / len(X)
        largest = frobenius(X)
        t = np.linspace(0, largest, 1000)[1:]
        bound = sum(X.shape[1:]) * np.exp(-(t**2) / (2 * ν**2))
        same = math.isclose(max(np.linalg.norm(left, 2), np.linalg.norm(right, 2)), ν)
        return same and bool((bound >= 1).all())  # beyond the largest norm the chance is 0

    return Premise("P(‖X‖_F ≥ t) ≤ (T + d)·exp(−t²/2ν²) with ν = ν(X) (6.2, (9))", holds)


def heavy_tail(X: np.ndarray, inputs: Mapping[str, float]) -> Premise:
    """(12), for inputs that are equally likely."""
    C, β = inputs["tail.C"], inputs["tail.beta"]
    return Premise(
        "P(‖X‖_F > x) ≤ Cx^{−β} for all x > 0, with β > 2 (6.8, (12)); inputs are bounded, as 5.5 "
        "demands, so no tail heavier than that is possible",
        lambda: β > 2 and at_most(frobenius(X) ** β, C),
    )


def unchanged(X: np.ndarray, M: float) -> Premise:
    """Truncation at M changes no input."""
    return Premise(
        "‖X‖_F ≤ M, so the minimiser on truncated inputs is that on all inputs ((10), (11), (13))",
        lambda: at_most(frobenius(X), M),
    )


def robust(inputs: Mapping[str, float]) -> Premise:
    """ψ of the robust loss has a bounded derivative."""
    ψ, x = LogTruncation(inputs["psi.power"]), np.linspace(0, 100, 10_001)
    return Premise(
        "ℓ_ψ = ψ(ℓ) with |ψ′| ≤ B_ψ, for Catoni's ψ (6.2, C.2)",
        lambda: bool((np.abs(np.diff(ψ(x))) <= ψ.lipschitz * np.diff(x) * (1 + 1e-9)).all()),
    )


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

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        small = replace(self, n=SMALL)
        inputs, X = small.inputs(statement), small.heads.heads.tokens()
        return (
            *small.heads.premises(inputs),
            sub_gaussian(X, inputs["tail.nu"]),
            unchanged(X, inputs["truncation"]),
        )

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
    """li2026, Theorems 6.9 and 6.10 with H = 1, for Catoni's ψ and α = 1, without noise.

    The inputs of ``UnseenHeads`` satisfy (12) with β = 20 and C = 3^{β/2}, since ‖X‖_F = √3; and
    Assumption 5.5, which the theorems keep, wants inputs bounded by B_X. Matrices have rank ≤ 2 and
    ‖W_QK‖_op ≤ √2R√n, the other norms ≤ 1. The losses are 0 and 2a, the robust losses 0 and
    ψ(2a) = log(1 + 2a + 2a²) ≤ 2a, and ψ increases: the minimiser of ``UnseenHeads`` minimises the
    robust training loss as well, and its excess risk is ψ(2a)(1 − 1/n)^n, about 0.45, in the robust
    loss, and more in the loss itself.

    The width d = k = n + 2 grows, so Assumption 5.7 holds for no constant free of n; with
    C_1 = 3(d + k) it holds (``rank_constants``), and this is the C_1 of the printed values. 6.9 and
    6.10 take the logarithm of N_rank, so they are of order log n/n still; 6.11, which takes N_rank
    once, says nothing here. M = n^{3/4}: the bias C_βM^{2−β} is C_βn^{−27/2}, of order 1/n² even
    if C_β carries the C(Td)^{1+β/2} = C(3n + 6)^{11} of appendix C.2 and a Lipschitz constant of
    order B_QK. With M for B_X, 6.9 and 6.10 are of order n^{−1/4}·log n, and refuted as well.
    """

    n: int = 10_000
    refutes = ("li2026/theorem-6.9", "li2026/theorem-6.10")
    story = (
        "Matrices of rank one and inputs of norm √3, each of which reveals one of n answers: with "
        "Catoni's loss too a minimiser is wrong on all it has not seen, so the excess risk stays "
        "above 0.4. With C_1 = 6(n + 2) Assumption 5.7 holds, and the logarithm of N_rank makes "
        "the printed bound of order log n/n."
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
        instance = self.heads.learning() | {"d": d, "k": d, "r_QK": 2, "r_v": 2, "r_c": 2}
        instance |= {"W_QK.op": self.B_QK, "W_v.op": 1.0, "W_c.op": 1.0, "w.l2": 1.0}
        instance |= {"sigma.lipschitz": 1.0, "psi.power": 2.0, "c": serving(d, d)}
        instance |= {"tail.C": NORM2 ** (BETA / 2), "tail.beta": BETA, "truncation": self.n**0.75}
        return instance | {"X.op": math.sqrt(2)} | ({"H": 1} if statement.endswith("6.10") else {})

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        small, heads = replace(self, n=SMALL), UnseenHeads(SMALL).heads
        inputs, X = small.inputs(statement), heads.tokens()
        return (
            *small.heads.premises(inputs),
            ranks("ranks are at most r_v, r_c, r_QK (5.5)", inputs, heads.weights(np.ones(SMALL))),
            rank_covering(self.inputs(statement)),
            heavy_tail(X, inputs),
            unchanged(X, self.inputs(statement)["truncation"]),
            robust(inputs),
        )

    def lower_bound(self) -> float:
        worst = float(LogTruncation(2.0)(2 * self.heads.heads.a))
        return worst * (1 - 1 / self.n) ** self.n

    def family(self, statement: str = "li2026/theorem-6.9") -> Family:
        """n → ∞: the ratio grows like n/log n. At δ = 1/n, with C_1 = 6(n + 2)."""
        printed = []
        for n in SIZES:
            v = replace(self, n=n).inputs(statement)
            M, A, B = v["truncation"], v["X.op"], v["target.bound"]
            bias = v["c"] * v["tail.C"] * BETA / (BETA - 2) * M ** (2 - BETA)
            printed.append(rank_based(statement, n, A, B, M, v["W_QK.op"], v["c"]) + bias)
        return Family(SIZES, [replace(self, n=n).lower_bound() for n in SIZES], printed, "n")
