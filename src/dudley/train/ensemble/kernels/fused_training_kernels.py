"""Kernels of `fused_training_tail`: rows forward and backward, and the gradients of the weights.

A program of the first two owns some rows of one member and walks over the hidden layer, BF columns
at a time. One of the other two owns some of a member's weights and walks over R of its rows, those
in use, in order: no two programs add to one number, and a run gives the same bits again.

In float16, products take gradients over a power of two near the largest: of its row where rows are
independent, of R rows where these are summed over. What is lost is 2⁻²⁵ of the largest.
"""

from __future__ import annotations

import triton
import triton.language as tl

from dudley.train.ensemble.bit_attention.fused_kernels import (
    DROPOUT,
    example_keys,
    folded,
    narrow,
    powers,
    product,
    row_factors,
    standardised,
)

ROOT_HALF = tl.constexpr(0.7071067811865476)  # 1/√2
BELL = tl.constexpr(0.3989422804014327)  # 1/√(2π)
HALF_LOG2E = tl.constexpr(0.7213475204444817)  # e^{−x²/2} = 2^{−x² HALF_LOG2E}


@triton.jit
def _gauss(x, DOT: tl.constexpr):
    """Φ(x) and φ(x) of the standard normal law: gelu is x Φ, its slope Φ + x φ.

    Where products are rounded, by one exponential: Φ(−|x|) = t (a₁ + a₂t + … + a₅t⁴) e^{−x²/2} with
    t = 1/(1 + p |x|/√2), off by at most 7.5e-8 (Abramowitz and Stegun 1964, 7.1.26).
    """
    if DOT == "ieee":
        return 0.5 * (1 + tl.erf(x * ROOT_HALF)), BELL * tl.exp(-0.5 * x * x)
    else:
        bell = tl.exp2(x * x * -HALF_LOG2E)
        base = 1.0 + 0.23164189 * tl.abs(x)  # p/√2 with p = .3275911
        t = tl.rsqrt(base * base)
        series = 0.7107068705 + t * (-0.7265760135 + t * 0.5307027145)
        series = t * (0.127414796 + t * (-0.142248368 + t * series))
        tail = series * bell
        return tl.where(x < 0, tail, 1 - tail), BELL * bell


@triton.jit
def _through_norm(d_standard, standard, rstd, D: tl.constexpr):
    """The gradient of z from that of ẑ: (∂ẑ − mean ∂ẑ − ẑ mean ⟨∂ẑ, ẑ⟩)/σ."""
    mean = tl.sum(d_standard, 1) / D
    along = tl.sum(d_standard * standard, 1) / D
    return (d_standard - mean[:, None] - standard * along[:, None]) * rstd[:, None]


@triton.jit
def kernel_forward(
    cls, heads, counts, keys, step_at,
    W_c, b_c, gain_2, bias_2, W_1, b_1, W_2, b_2, gain_3, bias_3, W,
    s_W_c, s_b_c, s_gain_2, s_bias_2, s_W_1, s_b_1, s_W_2, s_b_2, s_gain_3, s_bias_3, s_W,
    standard_1, rstd_1, standard_2, rstd_2, out, M, T, least, scale,
    H: tl.constexpr, D: tl.constexpr, F: tl.constexpr, C: tl.constexpr,
    BN: tl.constexpr, BF: tl.constexpr, DOT: tl.constexpr, DROP: tl.constexpr,
):  # fmt: skip
    """Logits, zero in rows that are no examples; ẑ and 1/σ of LN₂ and LN₃."""
    blocks = tl.cdiv(M, BN)
    e = (tl.program_id(0) // blocks).to(tl.int64)
    i = tl.program_id(0) % blocks * BN + tl.arange(0, BN)
    first_row, count = e * M, tl.load(counts + e)
    logits = out + first_row * C + i * C
    if tl.program_id(0) % blocks * BN >= count:
        for c in tl.static_range(C):
            tl.store(logits + c, tl.zeros((BN,), tl.float32), mask=i < M)
        return
    d, there = tl.arange(0, D), (i < count)[:, None]
    at = i[:, None] * D + d[None, :]
    square = W_c + e * s_W_c + d[:, None] * D + d[None, :]
    joined = narrow(tl.load(heads + first_row * D + at, mask=there, other=0.0), DOT)
    z = product(joined, narrow(tl.load(square), DOT), tl.zeros((BN, D), tl.float32), DOT)
    z += tl.load(b_c + e * s_b_c + d)[None, :]
    if DROP:
        r0, r1 = example_keys(tl.load(keys + e), tl.load(step_at).to(tl.int32), i, DROPOUT)
        z *= row_factors(r0, r1, d, T + 1, least, scale, H, D)
    z += tl.load(cls + first_row * D + at, mask=there, other=0.0)
    standard, rstd = standardised(z, D)
    tl.store(standard_1 + first_row * D + at, standard, mask=there)
    tl.store(rstd_1 + first_row + i, rstd, mask=i < count)
    y = standard * tl.load(gain_2 + e * s_gain_2 + d)[None, :]
    y = narrow(y + tl.load(bias_2 + e * s_bias_2 + d)[None, :], DOT)
    branch = tl.zeros((BN, D), tl.float32)
    for first in range(0, F, BF):
        f = first + tl.arange(0, BF)
        into = tl.load(W_1 + e * s_W_1 + d[:, None] * F + f[None, :])
        x = product(y, narrow(into, DOT), tl.zeros((BN, BF), tl.float32), DOT)
        x += tl.load(b_1 + e * s_b_1 + f)[None, :]
        below, _bell = _gauss(x, DOT)
        back = tl.load(W_2 + e * s_W_2 + f[:, None] * D + d[None, :])
        branch = product(narrow(x * below, DOT), narrow(back, DOT), branch, DOT)
    branch += tl.load(b_2 + e * s_b_2 + d)[None, :]
    if DROP:
        branch *= row_factors(r0, r1, d, T + 2, least, scale, H, D)
    z += branch
    standard, rstd = standardised(z, D)
    tl.store(standard_2 + first_row * D + at, standard, mask=there)
    tl.store(rstd_2 + first_row + i, rstd, mask=i < count)
    y = standard * tl.load(gain_3 + e * s_gain_3 + d)[None, :]
    y += tl.load(bias_3 + e * s_bias_3 + d)[None, :]
    for c in tl.static_range(C):
        logit = tl.sum(y * tl.load(W + e * s_W + d * C + c)[None, :], 1)
        tl.store(logits + c, tl.where(i < count, logit, 0.0), mask=i < M)


@triton.jit
def kernel_backward(
    d_out, standard_1, rstd_1, standard_2, rstd_2, counts, keys, step_at,
    W_c, gain_2, bias_2, W_1, b_1, W_2, gain_3, W,
    s_W_c, s_gain_2, s_bias_2, s_W_1, s_b_1, s_W_2, s_gain_3, s_W,
    d_cls, d_heads, d_branch, sizes, M, T, least, scale,
    H: tl.constexpr, D: tl.constexpr, F: tl.constexpr, C: tl.constexpr,
    BN: tl.constexpr, BF: tl.constexpr, DOT: tl.constexpr, DROP: tl.constexpr,
):  # fmt: skip
    """Gradients of [CLS] rows, heads and the MLP's branch; zero in rows that are no examples."""
    blocks = tl.cdiv(M, BN)
    e = (tl.program_id(0) // blocks).to(tl.int64)
    i = tl.program_id(0) % blocks * BN + tl.arange(0, BN)
    first_row, count = e * M, tl.load(counts + e)
    d, here = tl.arange(0, D), (i < M)[:, None]
    at = i[:, None] * D + d[None, :]
    if tl.program_id(0) % blocks * BN >= count:
        tl.store(d_cls + first_row * D + at, tl.zeros((BN, D), tl.float32), mask=here)
        tl.store(d_heads + first_row * D + at, tl.zeros((BN, D), tl.float32), mask=here)
        return
    there = (i < count)[:, None]
    standard = tl.load(standard_2 + first_row * D + at, mask=there, other=0.0)
    rstd = tl.load(rstd_2 + first_row + i, mask=i < count, other=0.0)
    d_z = tl.zeros((BN, D), tl.float32)
    for c in tl.static_range(C):
        d_logit = tl.load(d_out + first_row * C + i * C + c, mask=i < count, other=0.0)
        d_z += d_logit[:, None] * tl.load(W + e * s_W + d * C + c)[None, :]
    d_z *= tl.load(gain_3 + e * s_gain_3 + d)[None, :]
    d_z = _through_norm(d_z, standard, rstd, D)
    pull = d_z
    if DROP:
        r0, r1 = example_keys(tl.load(keys + e), tl.load(step_at).to(tl.int32), i, DROPOUT)
        pull *= row_factors(r0, r1, d, T + 2, least, scale, H, D)
    tl.store(d_branch + first_row * D + at, pull, mask=there)
    size = powers(tl.max(tl.abs(pull), 1))
    tl.store(sizes + first_row + i, size, mask=i < count)
    pull = narrow(pull * (1.0 / size)[:, None], DOT)
    standard = tl.load(standard_1 + first_row * D + at, mask=there, other=0.0)
    rstd = tl.load(rstd_1 + first_row + i, mask=i < count, other=0.0)
    gain = tl.load(gain_2 + e * s_gain_2 + d)[None, :]
    y = narrow(standard * gain + tl.load(bias_2 + e * s_bias_2 + d)[None, :], DOT)
    d_y = tl.zeros((BN, D), tl.float32)
    for first in range(0, F, BF):
        f = first + tl.arange(0, BF)
        into = narrow(tl.load(W_1 + e * s_W_1 + d[:, None] * F + f[None, :]), DOT)
        x = product(y, into, tl.zeros((BN, BF), tl.float32), DOT)
        x += tl.load(b_1 + e * s_b_1 + f)[None, :]
        below, bell = _gauss(x, DOT)
        slope = below + x * bell
        back = narrow(tl.load(W_2 + e * s_W_2 + f[:, None] * D + d[None, :]), DOT)
        d_x = product(pull, tl.trans(back), tl.zeros((BN, BF), tl.float32), DOT) * slope
        d_y = product(narrow(d_x, DOT), tl.trans(into), d_y, DOT)
    d_z += _through_norm(d_y * size[:, None] * gain, standard, rstd, D)
    tl.store(d_cls + first_row * D + at, d_z, mask=here)
    if DROP:
        d_z *= row_factors(r0, r1, d, T + 1, least, scale, H, D)
    size = powers(tl.max(tl.abs(d_z), 1))
    square = narrow(tl.load(W_c + e * s_W_c + d[:, None] * D + d[None, :]), DOT)
    pull = narrow(d_z * (1.0 / size)[:, None], DOT)
    d_h = product(pull, tl.trans(square), tl.zeros((BN, D), tl.float32), DOT)
    tl.store(d_heads + first_row * D + at, d_h * size[:, None], mask=here)


@triton.jit
def kernel_mlp(
    standard_1, d_branch, sizes, counts, gain_2, bias_2, W_1, b_1, W_2,
    s_gain_2, s_bias_2, s_W_1, s_b_1, s_W_2,
    d_W_1, d_b_1, d_W_2, d_affine, M, splits, R,
    D: tl.constexpr, F: tl.constexpr, BN: tl.constexpr, BF: tl.constexpr, DOT: tl.constexpr,
):  # fmt: skip
    """The MLP's weights at BF hidden units: what R rows pull, and their share in gain_2 and bias_2.

    With x = ẑ (gain ⊙ W_1) + bias W_1 + b_1 and A = Σ ẑᵀ∂x, a = Σ ∂x over rows, ∂W_1 is
    gain ⊙ A + biasᵀa, and row sums of W_1 ⊙ A and of W_1 ⊙ a are the gradients of gain and bias.
    """
    J: tl.constexpr = F // BF
    part, j = (tl.program_id(0) // J).to(tl.int64), tl.program_id(0) % J  # of members × splits
    e, start = part // splits, (part % splits).to(tl.int32) * R
    d, f, n = tl.arange(0, D), j * BF + tl.arange(0, BF), tl.arange(0, BN)
    first_row, stop = e * M, tl.minimum(start + R, tl.load(counts + e))
    largest = tl.zeros((BN,), tl.float32)
    for first in range(start, stop, BN):
        i = first + n
        largest = tl.maximum(largest, tl.load(sizes + first_row + i, mask=i < stop, other=0.0))
    size = powers(tl.max(largest, 0))
    gain = tl.load(gain_2 + e * s_gain_2 + d)
    bias = tl.load(bias_2 + e * s_bias_2 + d)
    into_at = W_1 + e * s_W_1 + d[:, None] * F + f[None, :]
    into = tl.load(into_at)
    shift = tl.load(b_1 + e * s_b_1 + f) + tl.sum(into * bias[:, None], 0)
    into = narrow(into * gain[:, None], DOT)
    back = narrow(tl.load(W_2 + e * s_W_2 + f[:, None] * D + d[None, :]), DOT)
    A, B = tl.zeros((D, BF), tl.float32), tl.zeros((D, BF), tl.float32)
    a = tl.zeros((BN // 2, BF), tl.float32)
    for first in range(start, stop, BN):
        i = first + n
        at, there = i[:, None] * D + d[None, :], (i < stop)[:, None]
        standard = narrow(tl.load(standard_1 + first_row * D + at, mask=there, other=0.0), DOT)
        x = product(standard, into, tl.zeros((BN, BF), tl.float32), DOT) + shift[None, :]
        below, bell = _gauss(x, DOT)
        pull = tl.load(d_branch + first_row * D + at, mask=there, other=0.0)
        pull = narrow(pull * (1.0 / size), DOT)
        B = product(tl.trans(pull), narrow(x * below, DOT), B, DOT)
        slope = below + x * bell
        d_x = product(pull, tl.trans(back), tl.zeros((BN, BF), tl.float32), DOT) * slope
        a += folded(d_x, BN, BF)
        A = product(tl.trans(standard), narrow(d_x, DOT), A, DOT)
    A, B = A * size, B * size
    total = tl.sum(a, 0) * size
    tl.store(d_W_2 + part * F * D + f[:, None] * D + d[None, :], tl.trans(B))
    tl.store(d_b_1 + part * F + f, total)
    into = tl.load(into_at)
    tl.store(d_W_1 + part * D * F + d[:, None] * F + f[None, :],
             gain[:, None] * A + bias[:, None] * total[None, :])  # fmt: skip
    share = d_affine + (part * J + j) * 2 * D + d
    tl.store(share, tl.sum(into * A, 1))
    tl.store(share + D, tl.sum(into * total[None, :], 1))


@triton.jit
def kernel_outer(
    heads, d_cls, d_branch, standard_2, d_out, counts, keys, step_at, gain_3, bias_3, W,
    s_gain_3, s_bias_3, s_W,
    d_W_c, d_b_c, d_b_2, d_gain_3, d_bias_3, d_W, M, splits, R, T, least, scale,
    H: tl.constexpr, D: tl.constexpr, C: tl.constexpr, K: tl.constexpr,
    BN: tl.constexpr, DOT: tl.constexpr, DROP: tl.constexpr,
):  # fmt: skip
    """Attention's output matrix, the branches' biases, LN₃, the logits' matrix: what R rows pull.

    With y = ẑ ⊙ gain + bias and Q = Σ ẑᵀ∂logits, q = Σ ∂logits over rows, ∂W = gain ⊙ Q + biasᵀq,
    and row sums of W ⊙ Q and of W ⊙ q are the gradients of gain and bias. K ≥ C pads the classes.
    """
    part = tl.program_id(0).to(tl.int64)
    e, start = part // splits, (part % splits).to(tl.int32) * R
    d, k = tl.arange(0, D), tl.arange(0, K)
    first_row, stop = e * M, tl.minimum(start + R, tl.load(counts + e))
    key, step = tl.load(keys + e), tl.load(step_at).to(tl.int32)
    A = tl.zeros((D, D), tl.float32)
    a, b = tl.zeros((D,), tl.float32), tl.zeros((D,), tl.float32)
    Q, q = tl.zeros((D, K), tl.float32), tl.zeros((K,), tl.float32)
    for first in range(start, stop, BN):
        i = first + tl.arange(0, BN)
        at, there = i[:, None] * D + d[None, :], (i < stop)[:, None]
        b += tl.sum(tl.load(d_branch + first_row * D + at, mask=there, other=0.0), 0)
        pull = tl.load(d_cls + first_row * D + at, mask=there, other=0.0)
        if DROP:
            r0, r1 = example_keys(key, step, i, DROPOUT)
            pull *= row_factors(r0, r1, d, T + 1, least, scale, H, D)
        a += tl.sum(pull, 0)
        rows = tl.load(heads + first_row * D + at, mask=there, other=0.0)
        A = product(tl.trans(rows), pull, A, DOT)
        place, both = i[:, None] * C + k[None, :], there & (k < C)[None, :]
        d_logits = tl.load(d_out + first_row * C + place, mask=both, other=0.0)
        q += tl.sum(d_logits, 0)
        standard = tl.load(standard_2 + first_row * D + at, mask=there, other=0.0)
        Q = product(tl.trans(standard), d_logits, Q, DOT)
    tl.store(d_W_c + part * D * D + d[:, None] * D + d[None, :], A)
    tl.store(d_b_c + part * D + d, a)
    tl.store(d_b_2 + part * D + d, b)
    gain = tl.load(gain_3 + e * s_gain_3 + d)[:, None]
    bias = tl.load(bias_3 + e * s_bias_3 + d)[:, None]
    inside = (k < C)[None, :] & (d < D)[:, None]
    matrix = d[:, None] * C + k[None, :]
    V = tl.load(W + e * s_W + matrix, mask=inside, other=0.0)
    tl.store(d_W + part * D * C + matrix, gain * Q + bias * q[None, :], mask=inside)
    tl.store(d_gain_3 + part * D + d, tl.sum(V * Q, 1))
    tl.store(d_bias_3 + part * D + d, tl.sum(V * q[None, :], 1))
