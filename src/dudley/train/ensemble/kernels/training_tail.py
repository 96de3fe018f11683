"""Kernels of `fused_training_tail`: rows forward and backward, and the gradients of the weights.

A program of the first two owns some rows of one member and walks over the hidden layer, BF columns
at a time. One of the others owns some of a member's weights and walks over its rows in use, always
in the same order: no two programs add to one number, and a run gives the same bits again.

In float16, products take gradients over a power of two near the largest: of a row where rows are
independent, of BN rows where these are summed over. What is lost is 2⁻²⁵ of the largest.
"""

from __future__ import annotations

import triton
import triton.language as tl

from dudley.train.ensemble.bit_attention.fused import (
    DROPOUT,
    _example_keys,
    _hash,
    _narrow,
    _product,
)
from dudley.train.ensemble.kernels.fused_tail import LN_EPS

ROOT_HALF = tl.constexpr(0.7071067811865476)  # 1/√2
BELL = tl.constexpr(0.3989422804014327)  # 1/√(2π)


@triton.jit
def _standardised(z, D: tl.constexpr):
    """(z − mean)/σ of every row, and 1/σ."""
    centred = z - (tl.sum(z, 1) / D)[:, None]
    rstd = tl.rsqrt(tl.sum(centred * centred, 1) / D + LN_EPS)
    return centred * rstd[:, None], rstd


@triton.jit
def _through_norm(d_standard, standard, rstd, D: tl.constexpr):
    """The gradient of z from that of ẑ: (∂ẑ − mean ∂ẑ − ẑ mean ⟨∂ẑ, ẑ⟩)/σ."""
    mean = tl.sum(d_standard, 1) / D
    along = tl.sum(d_standard * standard, 1) / D
    return (d_standard - mean[:, None] - standard * along[:, None]) * rstd[:, None]


@triton.jit
def _powers(largest):
    """Powers of two near positive numbers: what brings these near one."""
    return tl.exp2(tl.floor(tl.log2(tl.maximum(largest, 1e-30))))


@triton.jit
def _factors(r0, r1, d, row, least, scale, H: tl.constexpr, D: tl.constexpr):
    """Dropout's factors 0 or ``scale`` for that row of examples, as in `bit_attention.masks`."""
    C: tl.constexpr = D // 2
    number = (row * (C + H) + d % C).to(tl.uint32)
    r = _hash(number[None, :], r0[:, None], r1[:, None])
    r = tl.where((d < C)[None, :], r & 0xFFFF, r >> 16)
    return tl.where(r >= least, scale, 0.0)


@triton.jit
def kernel_forward(
    cls, heads, counts, keys, step_at,
    W_c, b_c, gain_2, bias_2, W_1, b_1, W_2, b_2, gain_3, bias_3, W,
    s_W_c, s_b_c, s_gain_2, s_bias_2, s_W_1, s_b_1, s_W_2, s_b_2, s_gain_3, s_bias_3, s_W,
    z1_out, z2_out, out, M, T, least, scale,
    H: tl.constexpr, D: tl.constexpr, F: tl.constexpr, C: tl.constexpr,
    BN: tl.constexpr, BF: tl.constexpr, DOT: tl.constexpr, DROP: tl.constexpr,
):  # fmt: skip
    """Logits, and z after each branch; logits of rows that are no examples are zero."""
    blocks = tl.cdiv(M, BN)
    e = (tl.program_id(0) // blocks).to(tl.int64)
    i = tl.program_id(0) % blocks * BN + tl.arange(0, BN)
    count = tl.load(counts + e)
    logits = out + (e * M + i) * C
    if tl.program_id(0) % blocks * BN >= count:
        for c in tl.static_range(C):
            tl.store(logits + c, tl.zeros((BN,), tl.float32), mask=i < M)
        return
    d, there = tl.arange(0, D), (i < count)[:, None]
    at = (e * M + i[:, None]) * D + d[None, :]
    square = W_c + e * s_W_c + d[:, None] * D + d[None, :]
    z = _product(
        _narrow(tl.load(heads + at, mask=there, other=0.0), DOT), _narrow(tl.load(square), DOT),
        tl.zeros((BN, D), tl.float32), DOT,
    )  # fmt: skip
    z += tl.load(b_c + e * s_b_c + d)[None, :]
    if DROP:
        r0, r1 = _example_keys(tl.load(keys + e), tl.load(step_at).to(tl.int32), i, DROPOUT)
        z *= _factors(r0, r1, d, T + 1, least, scale, H, D)
    z += tl.load(cls + at, mask=there, other=0.0)
    tl.store(z1_out + at, z, mask=there)
    standard, _ = _standardised(z, D)
    y = standard * tl.load(gain_2 + e * s_gain_2 + d)[None, :]
    y = _narrow(y + tl.load(bias_2 + e * s_bias_2 + d)[None, :], DOT)
    branch = tl.zeros((BN, D), tl.float32)
    for first in range(0, F, BF):
        f = first + tl.arange(0, BF)
        into = tl.load(W_1 + e * s_W_1 + d[:, None] * F + f[None, :])
        x = _product(y, _narrow(into, DOT), tl.zeros((BN, BF), tl.float32), DOT)
        x += tl.load(b_1 + e * s_b_1 + f)[None, :]
        hidden = x * 0.5 * (1 + tl.erf(x * ROOT_HALF))
        back = tl.load(W_2 + e * s_W_2 + f[:, None] * D + d[None, :])
        branch = _product(_narrow(hidden, DOT), _narrow(back, DOT), branch, DOT)
    branch += tl.load(b_2 + e * s_b_2 + d)[None, :]
    if DROP:
        branch *= _factors(r0, r1, d, T + 2, least, scale, H, D)
    z += branch
    tl.store(z2_out + at, z, mask=there)
    standard, _ = _standardised(z, D)
    y = standard * tl.load(gain_3 + e * s_gain_3 + d)[None, :]
    y += tl.load(bias_3 + e * s_bias_3 + d)[None, :]
    for c in tl.static_range(C):
        logit = tl.sum(y * tl.load(W + e * s_W + d * C + c)[None, :], 1)
        tl.store(logits + c, tl.where(i < count, logit, 0.0), mask=i < M)


@triton.jit
def kernel_backward(
    d_out, z1_at, z2_at, counts, keys, step_at,
    W_c, gain_2, bias_2, W_1, b_1, W_2, gain_3, W,
    s_W_c, s_gain_2, s_bias_2, s_W_1, s_b_1, s_W_2, s_gain_3, s_W,
    d_cls, d_heads, d_branch, M, T, least, scale,
    H: tl.constexpr, D: tl.constexpr, F: tl.constexpr, C: tl.constexpr,
    BN: tl.constexpr, BF: tl.constexpr, DOT: tl.constexpr, DROP: tl.constexpr,
):  # fmt: skip
    """Gradients of [CLS] rows, heads and the MLP's branch; zero in rows that are no examples."""
    blocks = tl.cdiv(M, BN)
    e = (tl.program_id(0) // blocks).to(tl.int64)
    i = tl.program_id(0) % blocks * BN + tl.arange(0, BN)
    count = tl.load(counts + e)
    d, here = tl.arange(0, D), (i < M)[:, None]
    at = (e * M + i[:, None]) * D + d[None, :]
    if tl.program_id(0) % blocks * BN >= count:
        tl.store(d_cls + at, tl.zeros((BN, D), tl.float32), mask=here)
        tl.store(d_heads + at, tl.zeros((BN, D), tl.float32), mask=here)
        return
    there = (i < count)[:, None]
    standard, rstd = _standardised(tl.load(z2_at + at, mask=there, other=0.0), D)
    d_z = tl.zeros((BN, D), tl.float32)
    for c in tl.static_range(C):
        d_logit = tl.load(d_out + (e * M + i) * C + c, mask=i < count, other=0.0)
        d_z += d_logit[:, None] * tl.load(W + e * s_W + d * C + c)[None, :]
    d_z *= tl.load(gain_3 + e * s_gain_3 + d)[None, :]
    d_z = _through_norm(d_z, standard, rstd, D)
    r0, r1 = i, i
    pull = d_z
    if DROP:
        r0, r1 = _example_keys(tl.load(keys + e), tl.load(step_at).to(tl.int32), i, DROPOUT)
        pull *= _factors(r0, r1, d, T + 2, least, scale, H, D)
    tl.store(d_branch + at, pull, mask=there)
    size = _powers(tl.max(tl.abs(pull), 1))
    pull = _narrow(pull / size[:, None], DOT)
    standard, rstd = _standardised(tl.load(z1_at + at, mask=there, other=0.0), D)
    gain = tl.load(gain_2 + e * s_gain_2 + d)[None, :]
    y = _narrow(standard * gain + tl.load(bias_2 + e * s_bias_2 + d)[None, :], DOT)
    d_y = tl.zeros((BN, D), tl.float32)
    for first in range(0, F, BF):
        f = first + tl.arange(0, BF)
        into = _narrow(tl.load(W_1 + e * s_W_1 + d[:, None] * F + f[None, :]), DOT)
        x = _product(y, into, tl.zeros((BN, BF), tl.float32), DOT)
        x += tl.load(b_1 + e * s_b_1 + f)[None, :]
        back = _narrow(tl.load(W_2 + e * s_W_2 + f[:, None] * D + d[None, :]), DOT)
        d_x = _product(pull, tl.trans(back), tl.zeros((BN, BF), tl.float32), DOT)
        d_x *= 0.5 * (1 + tl.erf(x * ROOT_HALF)) + x * (BELL * tl.exp(-0.5 * x * x))
        d_y = _product(_narrow(d_x, DOT), tl.trans(into), d_y, DOT)
    d_z += _through_norm(d_y * size[:, None] * gain, standard, rstd, D)
    tl.store(d_cls + at, d_z, mask=here)
    if DROP:
        d_z *= _factors(r0, r1, d, T + 1, least, scale, H, D)
    size = _powers(tl.max(tl.abs(d_z), 1))
    square = _narrow(tl.load(W_c + e * s_W_c + d[:, None] * D + d[None, :]), DOT)
    d_h = _product(
        _narrow(d_z / size[:, None], DOT), tl.trans(square), tl.zeros((BN, D), tl.float32), DOT
    )
    tl.store(d_heads + at, d_h * size[:, None], mask=here)


@triton.jit
def kernel_mlp(
    z1_at, d_branch, counts, gain_2, bias_2, W_1, b_1, W_2,
    s_gain_2, s_bias_2, s_W_1, s_b_1, s_W_2,
    d_W_1, d_b_1, d_W_2, d_b_2, d_affine, M,
    D: tl.constexpr, F: tl.constexpr, BN: tl.constexpr, BF: tl.constexpr, DOT: tl.constexpr,
):  # fmt: skip
    """Gradients of the MLP's weights at BF hidden units, and their share of those of gain_2, bias_2.

    With y = ẑ ⊙ gain + bias and A = Σ ẑᵀ∂x, a = Σ ∂x over rows, ∂W_1 = gain ⊙ A + biasᵀa, and
    row sums of W_1 ⊙ A and of W_1 ⊙ a are the gradients of gain and bias.
    """
    J: tl.constexpr = F // BF
    e, j = (tl.program_id(0) // J).to(tl.int64), tl.program_id(0) % J
    d, f = tl.arange(0, D), j * BF + tl.arange(0, BF)
    count = tl.load(counts + e)
    gain = tl.load(gain_2 + e * s_gain_2 + d)
    bias = tl.load(bias_2 + e * s_bias_2 + d)
    into = _narrow(tl.load(W_1 + e * s_W_1 + d[:, None] * F + f[None, :]), DOT)
    back = _narrow(tl.load(W_2 + e * s_W_2 + f[:, None] * D + d[None, :]), DOT)
    shift = tl.load(b_1 + e * s_b_1 + f)
    A, B = tl.zeros((D, BF), tl.float32), tl.zeros((BF, D), tl.float32)
    a, b = tl.zeros((BF,), tl.float32), tl.zeros((D,), tl.float32)
    for first in range(0, count, BN):
        i = first + tl.arange(0, BN)
        at, there = (e * M + i[:, None]) * D + d[None, :], (i < count)[:, None]
        standard, _ = _standardised(tl.load(z1_at + at, mask=there, other=0.0), D)
        pull = tl.load(d_branch + at, mask=there, other=0.0)
        size = _powers(tl.max(tl.max(tl.abs(pull), 1), 0))
        if j == 0:
            b += tl.sum(pull, 0)
        pull = _narrow(pull / size, DOT)
        y = _narrow(standard * gain[None, :] + bias[None, :], DOT)
        x = _product(y, into, tl.zeros((BN, BF), tl.float32), DOT) + shift[None, :]
        d_x = _product(pull, tl.trans(back), tl.zeros((BN, BF), tl.float32), DOT)
        below = 0.5 * (1 + tl.erf(x * ROOT_HALF))
        d_x *= below + x * (BELL * tl.exp(-0.5 * x * x))
        a += tl.sum(d_x, 0) * size
        hidden = tl.trans(_narrow(x * below, DOT))
        B += _product(hidden, pull, tl.zeros((BF, D), tl.float32), DOT) * size
        rows = tl.trans(_narrow(standard, DOT))
        A += _product(rows, _narrow(d_x, DOT), tl.zeros((D, BF), tl.float32), DOT) * size
    tl.store(d_W_1 + e * D * F + d[:, None] * F + f[None, :],
             gain[:, None] * A + bias[:, None] * a[None, :])  # fmt: skip
    tl.store(d_W_2 + e * F * D + f[:, None] * D + d[None, :], B)
    tl.store(d_b_1 + e * F + f, a)
    if j == 0:
        tl.store(d_b_2 + e * D + d, b)
    exact = tl.load(W_1 + e * s_W_1 + d[:, None] * F + f[None, :])
    share = d_affine + (e * J + j) * 2 * D + d
    tl.store(share, tl.sum(exact * A, 1))
    tl.store(share + D, tl.sum(exact * a[None, :], 1))


@triton.jit
def kernel_outer(
    heads, d_cls, z2_at, d_out, counts, keys, step_at, gain_3, bias_3, W,
    s_gain_3, s_bias_3, s_W, d_W_c, d_b_c, d_gain_3, d_bias_3, d_W, M, T, least, scale,
    H: tl.constexpr, D: tl.constexpr, C: tl.constexpr, K: tl.constexpr,
    BN: tl.constexpr, DOT: tl.constexpr, DROP: tl.constexpr,
):  # fmt: skip
    """Gradients of attention's output matrix, the last LayerNorm and the logits' matrix.

    With y = ẑ ⊙ gain + bias and Q = Σ ẑᵀ∂logits, q = Σ ∂logits over rows, ∂W = gain ⊙ Q + biasᵀq,
    and row sums of W ⊙ Q and of W ⊙ q are the gradients of gain and bias. K ≥ C pads the classes.
    """
    e = tl.program_id(0).to(tl.int64)
    d, k = tl.arange(0, D), tl.arange(0, K)
    count, key = tl.load(counts + e), tl.load(keys + e)
    step = tl.load(step_at).to(tl.int32)
    A, a = tl.zeros((D, D), tl.float32), tl.zeros((D,), tl.float32)
    Q, q = tl.zeros((D, K), tl.float32), tl.zeros((K,), tl.float32)
    for first in range(0, count, BN):
        i = first + tl.arange(0, BN)
        at, there = (e * M + i[:, None]) * D + d[None, :], (i < count)[:, None]
        pull = tl.load(d_cls + at, mask=there, other=0.0)
        if DROP:
            r0, r1 = _example_keys(key, step, i, DROPOUT)
            pull *= _factors(r0, r1, d, T + 1, least, scale, H, D)
        a += tl.sum(pull, 0)
        rows = tl.load(heads + at, mask=there, other=0.0)
        A = _product(tl.trans(rows), pull, A, DOT)
        d_logits = tl.load(
            d_out + (e * M + i[:, None]) * C + k[None, :], mask=there & (k < C)[None, :], other=0.0
        )
        q += tl.sum(d_logits, 0)
        standard, _ = _standardised(tl.load(z2_at + at, mask=there, other=0.0), D)
        Q = _product(tl.trans(standard), d_logits, Q, DOT)
    tl.store(d_W_c + e * D * D + d[:, None] * D + d[None, :], A)
    tl.store(d_b_c + e * D + d, a)
    gain = tl.load(gain_3 + e * s_gain_3 + d)[:, None]
    bias = tl.load(bias_3 + e * s_bias_3 + d)[:, None]
    inside = (k < C)[None, :] & (d < D)[:, None]
    matrix = d[:, None] * C + k[None, :]
    V = tl.load(W + e * s_W + matrix, mask=inside, other=0.0)
    tl.store(d_W + e * D * C + matrix, gain * Q + bias * q[None, :], mask=inside)
    tl.store(d_gain_3 + e * D + d, tl.sum(V * Q, 1))
    tl.store(d_bias_3 + e * D + d, tl.sum(V * q[None, :], 1))
