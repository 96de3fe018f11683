"""Bag of vectors: attend to [CLS] and to the relevant vectors that are present (Lemma B.4).

X_t = b_t v_t. With the dual basis u_i of I (repaired):

    W_Q = R v_cls e_1ᵀ,  W_K = (Σu_i + v_cls)e_1ᵀ,  W_v = Σ_i u_i e_{n(i)}ᵀ − v_cls 1ᵀ.

Let S hold [CLS] and the i ∈ I with b_i = 1: r + 1 tokens of score exactly R, the other T − r at
most R(1 − gap). So μ ≤ T e^{−R·gap}.

*Count* (W_c = Σ e_{n(i)}e_1ᵀ): values are −s at [CLS], 1 on the rest of S, and within [−1, 1]
outside S, so the mean on S is g = (r − s)/(r + 1) ∈ [−s, 0], with increments
(s+1)/((r+1)(r+2)) ≥ 1/s, and the error is at most μ(s + 1) ≤ 2sμ: R = log(8Ts/γ)/gap gives γ/4.

*Bits* (W_c = Σ e_{n(i)}e_{n(i)}ᵀ): coordinate n(i) has values −1 at [CLS], 1 at i, 0 on the rest of
S, within [−1, 1] outside; g'_i = (b_i − 1)/(r + 1); where b_i = 1, b'_i = 0 they differ by
1/(r'+1) ≥ 1/s. The error is at most 2μ: R = log(8T/γ)/gap gives γ/4.

*s heads* (not in the paper): head h has W_K = (2v_i + v_cls)e_1ᵀ and W_v = (v_i − v_cls)e_1ᵀ for
i = i_h. If b_i = 1 the scores are 2R at i, R at [CLS], at most 2RΔ elsewhere; if b_i = 0 the [CLS]
token wins. Either way μ ≤ T e^{−R(1−2Δ)}, values lie in [−1, 1], so the output is χ_i = 2b_i − 1
within 2μ: R = log(8T/γ)/(1 − 2Δ), Δ < 1/2, gives γ/4.

*Printed*: v_i for u_i throughout, R = log(8Ts(1+Δ)/(γ − sΔ))/(1 − sΔ). For Δ > 0 the scores on S
are unequal, and even the paper's own error leaves γ/4 + (3/4)sΔ.
"""

from __future__ import annotations

import math

import numpy as np

from dudley.core.errors import InputError
from dudley.theorems.constructions.bases import Basis
from dudley.theorems.constructions.mappings import bag
from dudley.theorems.constructions.selector import (
    NormClaim,
    Selector,
    count_of,
    dual,
    dual_gap,
    outer,
    printed_gap,
)


def one_head(
    basis: Basis, I: list[int], γ: float, form: str = "repaired", bits: bool = False
) -> Selector:
    """The head of Lemma B.4: with ``bits`` the s-dimensional output, otherwise the count.

    >>> from dudley.theorems.constructions.bases import almost_orthonormal
    >>> head = one_head(almost_orthonormal(6, 0.1, [0, 2]), [0, 2], γ=0.5)
    >>> y = head.features(np.array([[1, 0, 1, 0, 1, 0], [1, 1, 0, 1, 1, 1]]))
    >>> bool(np.abs(y[:, 0] - [0.0, -0.5]).max() <= 0.125)
    True
    """
    (T, _), s, Δ = basis.vectors.shape, len(I), basis.coherence
    mapping, e = bag(basis.vectors), np.eye(max(2, s))[:s]
    V_I = mapping.V[I]
    R_paper = printed_R(T, s, γ, Δ) if s * Δ < min(1, γ) else None
    if form == "printed":
        if s * Δ >= γ:
            raise InputError("gamma", f"more than s·coherence = {s * Δ:.4g}", γ)
        printed_gap(s, Δ)
        R, U = printed_R(T, s, γ, Δ), V_I
        spread = math.sqrt(s + s * (s - 1) * Δ)
    else:
        R = math.log(8 * T * (1 if bits else s) / γ) / dual_gap(s, Δ)
        U = dual(V_I)
        spread = math.sqrt(s / (1 - (s - 1) * Δ))
    head = {
        "W_Q": outer(R * mapping.cls, e[0]),
        "W_K": outer(U.sum(0) + mapping.cls, e[0]),
        "W_v": U.T @ e - outer(mapping.cls, e.sum(0)),
        "W_c": e.T @ (np.eye(s, mapping.shape[1]) if bits else _all_to_first(s, mapping.shape[1])),
    }

    def goal(b: np.ndarray) -> np.ndarray:
        r = count_of(b)
        return (np.asarray(b) - 1.0) / (r + 1) if bits else (r - s) / (r + 1)

    # ‖U‖_F² = tr G_I^{-1} ≤ s/(1 − (s−1)Δ) for the dual basis, s for the v_i themselves
    frobenius = math.sqrt(s) if form == "printed" else spread
    return Selector(
        lemma="edelman2021/lemma-B.4",
        mapping=mapping,
        heads=(head,),
        d_f=s if bits else 1,
        goal=goal,
        separation=1 / s,
        bound=1.0 if bits else float(s),
        γ=γ,
        claims=(
            NormClaim("W_Q", "fro", R_paper, R),
            NormClaim("W_K", "fro", s + 1.0, math.sqrt(spread**2 + 1)),
            NormClaim("W_v", "fro", 2.0 * s, math.sqrt(frobenius**2 + s)),
            NormClaim("W_c", "fro", float(s), math.sqrt(s)),
        ),
    )


def s_heads(basis: Basis, I: list[int], γ: float, form: str = "repaired") -> Selector:
    """s heads over the bag, one relevant vector each."""
    (T, _), s, Δ = basis.vectors.shape, len(I), basis.coherence
    if form == "printed":
        raise InputError("heads", "one: the bag of vectors has no printed s-headed form", "s")
    if 2 * Δ >= 1:
        raise InputError("coherence", "less than 1/2 for s heads over a bag", f"{Δ:.6g}")
    mapping, e = bag(basis.vectors), np.eye(2)
    R, out = math.log(8 * T / γ) / (1 - 2 * Δ), np.eye(max(s, mapping.shape[1]))
    heads = tuple(
        {
            "W_Q": outer(R * mapping.cls, e[0]),
            "W_K": outer(2 * mapping.V[i] + mapping.cls, e[0]),
            "W_v": outer(mapping.V[i] - mapping.cls, e[0]),
            "W_c": outer(e[0], out[h]),
        }
        for h, i in enumerate(I)
    )
    norms = {"W_Q": R, "W_K": math.sqrt(5), "W_v": math.sqrt(2), "W_c": 1.0}
    return Selector(
        lemma="edelman2021/lemma-B.4",
        mapping=mapping,
        heads=heads,
        d_f=s,
        goal=lambda b: 2.0 * np.asarray(b) - 1,
        separation=2.0,
        bound=1.0,
        γ=γ,
        claims=tuple(NormClaim(name, "fro", None, value) for name, value in norms.items()),
    )


def printed_R(T: int, s: int, γ: float, Δ: float) -> float:
    """log(8Ts(1+Δ)/(γ − sΔ))/(1 − sΔ)."""
    return math.log(8 * T * s * (1 + Δ) / (γ - s * Δ)) / (1 - s * Δ)


def _all_to_first(s: int, d: int) -> np.ndarray:
    """Every one of s coordinates written to the first of d."""
    to_first = np.zeros((s, d))
    to_first[:, 0] = 1.0
    return to_first
