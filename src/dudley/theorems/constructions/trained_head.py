"""Trainable positions: mark the relevant tokens, attend to the mark (Lemma B.3).

*One head.* P_i = v_1 on I and 0 elsewhere, W_K = v_1e_1ᵀ, W_v = (E_1 − E_0)e_1ᵀ, W_c = e_1e_1ᵀ.
Scores are exactly R on I and 0 on the other T + 1 − s tokens, so R = log(8T/γ) gives error at most
2((T+1−s)/s)e^{−R} = (T+1−s)γ/(4Ts) ≤ γ/4.

*s heads.* P_{i_h} = e_h, W_K = e_he_1ᵀ, W_c = e_1e_hᵀ: error 2Te^{−R} = γ/4.

The printed form differs by the sign E_0 − E_1 (its g decreases, against the paper's definition of
monotone) and by not saying that e_1, …, e_s must be orthogonal to E_0, E_1 and v_cls: with
E_0 = e_1 every zero token scores R in head 1. ``clash=True`` builds that instance.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dudley.theorems.constructions.mappings import positions
from dudley.theorems.constructions.selector import NormClaim, Selector, outer, signed_mean


def one_head(T: int, I: list[int], γ: float, form: str = "repaired") -> Selector:
    """The single head of Lemma B.3.

    >>> head = one_head(5, [1, 3], γ=1.0)
    >>> y = head.features(np.array([[0, 1, 0, 1, 0], [1, 1, 1, 0, 1]]))
    >>> bool(np.abs(y[:, 0] - [1.0, 0.0]).max() <= 0.25)
    True
    """
    s, sign = len(I), _sign(form)
    P = np.zeros((T, 1))
    P[I, 0] = 1.0
    mapping, e = positions(P), np.eye(max(2, s))
    R, mark = math.log(8 * T / γ), np.eye(mapping.shape[1])[0]
    head = {
        "W_Q": outer(R * mapping.cls, e[0]),
        "W_K": outer(mark, e[0]),
        "W_v": outer(sign * (mapping.E[1] - mapping.E[0]), e[0]),
        "W_c": outer(e[0], mark),
    }
    return Selector(
        lemma="edelman2021/lemma-B.3",
        mapping=mapping,
        heads=(head,),
        d_f=1,
        goal=signed_mean(s, sign),
        separation=2 / s,
        bound=1.0,
        γ=γ,
        claims=_claims(s, R),
    )


def s_heads(
    T: int, I: list[int], γ: float, form: str = "repaired", clash: bool = False
) -> Selector:
    """The s heads of Lemma B.3."""
    s, sign = len(I), _sign(form)
    P = np.zeros((T, s))
    P[I, range(s)] = 1.0
    mapping, e = positions(P), np.eye(max(2, s))
    R, axes = math.log(8 * T / γ), np.eye(mapping.shape[1])
    if clash:
        mapping = replace(mapping, E=np.stack([axes[0], mapping.E[1]]))
    heads = tuple(
        {
            "W_Q": outer(R * mapping.cls, e[0]),
            "W_K": outer(axes[h], e[0]),
            "W_v": outer(sign * (mapping.E[1] - mapping.E[0]), e[0]),
            "W_c": outer(e[0], axes[h]),
        }
        for h in range(s)
    )
    return Selector(
        lemma="edelman2021/lemma-B.3",
        mapping=mapping,
        heads=heads,
        d_f=s,
        goal=lambda bits: sign * (2.0 * np.asarray(bits) - 1),
        separation=2.0,
        bound=1.0,
        γ=γ,
        claims=_claims(s, R),
    )


def _sign(form: str) -> float:
    return -1.0 if form == "printed" else 1.0


def _claims(s: int, R: float) -> tuple[NormClaim, ...]:
    return (
        NormClaim("P", "row21", s, s),
        NormClaim("W_Q", "fro", R, R),
        NormClaim("W_K", "fro", 1.0, 1.0),
        NormClaim("W_v", "fro", 2.0, math.sqrt(2)),
        NormClaim("W_c", "fro", 1.0, 1.0),
    )
