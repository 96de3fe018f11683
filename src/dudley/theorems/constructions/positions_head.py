"""Deterministic positions: attend to I and average the tokens' signs (Lemma B.2).

X_t = E_{b_t} + v_t with |v_i·v_j| ≤ Δ. With χ_i = 2b_i − 1:

*One head, repaired.* W_Q = R v_cls e_1ᵀ, W_K = u e_1ᵀ with the dual key u = Σ_{i∈I} u_i,
W_v = (E_1 − E_0)e_1ᵀ, W_c = e_1e_1ᵀ; goal g = (1/s)Σχ_i = (2r − s)/s, which increases by 2/s.
Scores are R on I and at most R(1 − gap) on the other T + 1 − s tokens ([CLS]: 0), values lie in
[−1, 1]. So μ ≤ x/(1+x) with x = ((T+1−s)/s)e^{−R·gap}, and the error |μ(mean of others − g)| is at
most 2x. R = log(8T/γ)/gap makes it (T+1−s)γ/(4Ts) ≤ γ/4.

*s heads, repaired.* Head h has the key v_{i_h} and writes χ_{i_h} to coordinate h; the others'
scores are at most RΔ, so R = log(8T/γ)/(1 − Δ) gives error 2Te^{−R(1−Δ)} = γ/4.

*Printed.* The key v_I = Σv_i makes the scores on I unequal (R times the row sums of the Gram
matrix), R = log(8T/γ)/(1 − sΔ) is too small for the leak, W_v = (E_0 − E_1)… makes g decrease, and
with s heads W_v = (E_0 − E_1)e_2ᵀ meets W_c = e_1e_hᵀ: the product is zero.
"""

from __future__ import annotations

import math

import numpy as np

from dudley.theorems.constructions.bases import Basis
from dudley.theorems.constructions.mappings import positions
from dudley.theorems.constructions.selector import (
    NormClaim,
    Selector,
    dual,
    dual_gap,
    outer,
    printed_gap,
    signed_mean,
)


def one_head(basis: Basis, I: list[int], γ: float, form: str = "repaired") -> Selector:
    """The single head of Lemma B.2.

    >>> from dudley.theorems.constructions.bases import almost_orthonormal
    >>> head = one_head(almost_orthonormal(6, 0.1, [0, 2]), [0, 2], γ=1.0)
    >>> y = head.features(np.array([[1, 0, 1, 0, 1, 0], [1, 1, 0, 1, 1, 1]]))
    >>> bool(np.abs(y[:, 0] - [1.0, 0.0]).max() <= 0.25)
    True
    """
    (T, _), s, Δ = basis.vectors.shape, len(I), basis.coherence
    mapping, e = positions(basis.vectors), np.eye(max(2, s))
    V_I = mapping.P[I]
    log = math.log(8 * T / γ)
    paper_R = log / printed_gap(s, Δ) if s * Δ < 1 else None
    if form == "printed":
        R, key, sign = log / printed_gap(s, Δ), V_I.sum(0), -1.0
        ours_Q, ours_K = R, math.sqrt(s + s * (s - 1) * Δ)
    else:
        R, key, sign = log / dual_gap(s, Δ), dual(V_I).sum(0), 1.0
        ours_Q, ours_K = R, math.sqrt(s / (1 - (s - 1) * Δ))
    head = {
        "W_Q": outer(R * mapping.cls, e[0]),
        "W_K": outer(key, e[0]),
        "W_v": outer(sign * (mapping.E[1] - mapping.E[0]), e[0]),
        "W_c": outer(e[0], np.eye(mapping.shape[1])[0]),
    }
    return Selector(
        lemma="edelman2021/lemma-B.2",
        mapping=mapping,
        heads=(head,),
        d_f=1,
        goal=signed_mean(s, sign),
        separation=2 / s,
        bound=1.0,
        γ=γ,
        claims=(
            NormClaim("W_Q", "fro", paper_R, ours_Q),
            NormClaim("W_K", "fro", s, ours_K),
            NormClaim("W_v", "fro", 2.0, math.sqrt(2)),
            NormClaim("W_c", "fro", 1.0, 1.0),
        ),
    )


def s_heads(basis: Basis, I: list[int], γ: float, form: str = "repaired") -> Selector:
    """The s heads of Lemma B.2, one relevant position each."""
    (T, _), s, Δ = basis.vectors.shape, len(I), basis.coherence
    mapping, e = positions(basis.vectors), np.eye(max(2, s))
    log, out = math.log(8 * T / γ), np.eye(mapping.shape[1])
    paper_R = log / printed_gap(s, Δ) if s * Δ < 1 else None
    if form == "printed":
        R, sign, value = log / printed_gap(s, Δ), -1.0, e[1]
    else:
        R, sign, value = log / (1 - Δ), 1.0, e[0]
    heads = tuple(
        {
            "W_Q": outer(R * mapping.cls, e[0]),
            "W_K": outer(mapping.P[i], e[0]),
            "W_v": outer(sign * (mapping.E[1] - mapping.E[0]), value),
            "W_c": outer(e[0], out[h]),
        }
        for h, i in enumerate(I)
    )
    return Selector(
        lemma="edelman2021/lemma-B.2",
        mapping=mapping,
        heads=heads,
        d_f=s,
        goal=lambda bits: sign * (2.0 * np.asarray(bits) - 1),
        separation=2.0,
        bound=1.0,
        γ=γ,
        claims=(
            NormClaim("W_Q", "fro", paper_R, R),
            NormClaim("W_K", "fro", 1.0, 1.0),
            NormClaim("W_v", "fro", 2.0, math.sqrt(2)),
            NormClaim("W_c", "fro", 1.0, 1.0),
        ),
    )
