"""Attention of the [CLS] row over bits and itself, folded: the formula, by autograd.

Row t of example i is u_t = κ_t ⊙ (base_t + x_t lift), x_t its bit, x_T = 0 for [CLS], which stands
last, and κ the dropout of embeddings; ẑ_t = (u_t − mean)/σ(u_t) is its layer normalisation. With
k_h the query of head h folded through the keys, in units of log 2,

    s_{h,t} = ⟨k_h, ẑ_t⟩,   a_{h,t} = κ'_{h,t} 2^{s_{h,t}}/Σ_r 2^{s_{h,r}},
    mixed_h = Σ_t a_{h,t} u_t/σ(u_t),   mass_h = Σ_t a_{h,t},

κ' the dropout of attention weights. Whoever folds k_h makes it orthogonal to the vector of ones,
and reads mixed_h through a matrix whose columns are: then no mean need be taken off u_t, and the
ways to compute this may differ in it.
"""

from __future__ import annotations

import math

from dudley.core.backend import torch
from dudley.train.packed import unpack

LN_EPS = 1e-5
Factor = float | torch.Tensor


def attend(base, lift, K, words, kept_rows: Factor = 1.0, kept_weights: Factor = 1.0):
    """(mixed (E, H, M, D), mass (E, M, H)) of base (E, T+1, D), lift (E, D), K (E, H, M, D).

    ``kept_rows`` (E, M, T+1, D) and ``kept_weights`` (E, M, H, T+1) are κ and κ': 0 or 1/(1 − p).
    """
    bits = unpack(words, base.shape[1] - 1, base.dtype)
    bits = torch.nn.functional.pad(bits, (0, 1))[..., None]  # (E, M, T+1, 1)
    u = (base[:, None] + bits * lift[:, None, None]) * kept_rows
    y = u * torch.rsqrt(u.var(-1, correction=0, keepdim=True) + LN_EPS)
    s = torch.einsum("ehmd,emtd->emht", K, y) * math.log(2.0)
    a = torch.softmax(s, -1) * kept_weights
    return torch.einsum("emht,emtd->ehmd", a, y), a.sum(-1)
