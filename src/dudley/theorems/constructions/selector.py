"""Selectors: attention heads whose output tells the relevant bits, within γ/4 on every input.

A selector approximates a *goal* g: {0,1}^s → R^{d_f} with sup-norm error γ/4, where g is bounded
by B and different arguments (different counts, for a symmetric goal) lie at least ``separation``
apart. Its first d_f output coordinates carry g.

Every proof goes through one inequality. Let softmax scores be at least a on a set S of m tokens,
equal there, and at most a − G on the other tokens, M of them. Then the mass outside S is

    μ ≤ x/(1 + x),   x = (M/m)·e^{−G},

so the output is (1 − μ)·(mean of the values on S) + μ·(some mean of the other values). This is
Lemma B.7 of Edelman, Goel, Kakade & Zhang, sharpened. Equality of the scores on S is what the
printed keys v_I = Σ_{i∈I} v_i do not give when Δ > 0, and what the *dual basis* gives:

    u_i = Σ_j (G_I^{-1})_{ij} v_j,  G_I = V_I V_Iᵀ,  so that u_i·v_j = 1[i = j] on I.

For t ∉ I, ‖G_I^{-1}‖_{∞→∞} ≤ 1/(1 − (s−1)Δ) (Neumann series) gives

    |u_i·v_t| ≤ Δ/(1 − (s−1)Δ),   |Σ_i u_i·v_t| ≤ sΔ/(1 − (s−1)Δ),

a score gap of (1 − (2s−1)Δ)/(1 − (s−1)Δ), positive iff Δ < 1/(2s−1), and
‖Σ u_i‖² = 1ᵀG_I^{-1}1 ≤ s/(1 − (s−1)Δ).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dudley.calculus.compose import Heads
from dudley.core.constraint import Constraint, Frobenius
from dudley.core.errors import InputError
from dudley.core.norms import norm_named
from dudley.networks.head import Head
from dudley.theorems.constructions.mappings import BagOfVectors, PositionMapping

FORMS = ("repaired", "printed")


@dataclass(frozen=True)
class NormClaim:
    """A norm of a weight: what the paper claims (if it does) and what is proved here."""

    weight: str
    norm: str
    paper: float | None
    ours: float | None = None


@dataclass(frozen=True)
class Selector:
    """Heads with their input mapping, goal, and claims on the norms."""

    lemma: str
    mapping: PositionMapping | BagOfVectors
    heads: tuple[dict[str, np.ndarray], ...]
    d_f: int
    goal: Callable[[np.ndarray], np.ndarray]  # (N, s) bits to (N, d_f)
    separation: float
    bound: float
    γ: float
    claims: tuple[NormClaim, ...]

    @property
    def stated_error(self) -> float:
        return self.γ / 4

    @property
    def node(self) -> Heads:
        """X ↦ Σ_h softmax(x_cls W_Q W_Kᵀ Xᵀ) X W_v W_c as a node of the networks."""
        d, k = self.heads[0]["W_v"].shape

        def ball(name: str) -> Constraint:
            return Frobenius(max(float(np.linalg.norm(head[name])) for head in self.heads))

        head_node = Head(
            d=d,
            k=k,
            W_Q=ball("W_Q"),
            W_K=ball("W_K"),
            W_v=ball("W_v"),
            W_c=ball("W_c"),
            sigma="identity",
            query="cls",
        )
        return Heads(head_node, len(self.heads))

    def features(self, bits: np.ndarray) -> np.ndarray:
        """(N, T) bits to the first d_f outputs, (N, d_f)."""
        spoken = np.asarray(self.node.apply(list(self.heads), self.mapping(bits)))
        return spoken[:, 0, : self.d_f]

    def measure(self, claim: NormClaim) -> float:
        """The largest norm of this weight over the heads (P is the mapping's)."""
        if claim.weight == "P":
            assert isinstance(self.mapping, PositionMapping)
            return norm_named(claim.norm)(self.mapping.P)
        return max(norm_named(claim.norm)(head[claim.weight]) for head in self.heads)


def dual(V_I: np.ndarray) -> np.ndarray:
    """The rows u_i of the span of V_I with u_i·v_j = 1[i = j].

    >>> V = np.array([[1.0, 0.0], [0.6, 0.8]])
    >>> bool(np.allclose(dual(V) @ V.T, np.eye(2)))
    True
    """
    return np.linalg.solve(V_I @ V_I.T, V_I)


def dual_gap(s: int, Δ: float) -> float:
    """Guaranteed gap between the scores 1 on I and the others: (1−(2s−1)Δ)/(1−(s−1)Δ)."""
    if (2 * s - 1) * Δ >= 1:
        raise InputError(
            "coherence",
            f"less than 1/(2s−1) = {1 / (2 * s - 1):.4g} for s = {s}",
            f"{Δ:.6g}",
            "beyond it there are positions that no key separates",
        )
    return (1 - (2 * s - 1) * Δ) / (1 - (s - 1) * Δ)


def printed_gap(s: int, Δ: float) -> float:
    """The printed divisor 1 − sΔ, positive under the printed hypothesis Δ < 1/s."""
    if s * Δ >= 1:
        raise InputError("coherence", f"less than 1/s = {1 / s:.4g} for s = {s}", f"{Δ:.6g}")
    return 1 - s * Δ


def outer(column: np.ndarray, row: np.ndarray) -> np.ndarray:
    """The rank-one matrix column·rowᵀ."""
    return np.outer(column, row)


def signed_mean(s: int, sign: float) -> Callable[[np.ndarray], np.ndarray]:
    """g_I = ±(2r/s − 1), the function that Lemmas B.2 and B.3 approximate with one head."""
    return lambda bits: sign * (2 * count_of(bits) / s - 1)


def count_of(bits: np.ndarray) -> np.ndarray:
    """r = Σ_{i∈I} b_i, as a column."""
    return np.asarray(bits, dtype=float).sum(1, keepdims=True)
