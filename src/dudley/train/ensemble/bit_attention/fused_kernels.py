"""Attention of the [CLS] row over bits: two Triton kernels that store two numbers for a token.

A token's row is base_t + x_t lift, thinned out by dropout, normalised and read by H folded queries
(see `plain`). One program of the forward pass owns one example and walks over its tokens with a
running softmax; one program of the backward pass owns a block of tokens and walks over examples,
so that gradients of positions add up in registers and in a fixed order: same bits every run.
Rows and masks are made again from counters in the backward pass; of a row, its mean and what it is
multiplied by are kept.

Normalising costs no pass over a row: folded queries and gradients are orthogonal to the vector of
ones, so that ⟨k, ẑ⟩ = r ⟨k, u⟩, and the gradient through the normalisation needs only
⟨∂ẑ, ẑ⟩ = Σ_h (a ∂a + s ∂s), which is at hand. Nor does dropout's factor c = 1/(1 − p): with u the
thinned row and no factor, LayerNorm of c u is (u − mean u) r with r = c/√(c² var u + ε).

What is read and written for an example and a head, K and its like, is float16 in fast mode. The
gradient of mixed comes divided by the example's size, a power of two, and what it becomes is
multiplied by it.
"""

from __future__ import annotations

import triton
import triton.language as tl

from dudley.core.philox import Stream
from dudley.train.ensemble.bit_attention import masks

LN2 = tl.constexpr(0.6931471805599453)
LN_EPS = tl.constexpr(1e-5)
ROUNDS = tl.constexpr(masks.ROUNDS)
DROPOUT = tl.constexpr(int(Stream.DROPOUT))


@triton.jit
def example_keys(key, step, i, stream: tl.constexpr):
    """Two words for example i at this step, by Philox: what its masks are hashed with."""
    k0, k1, _, _ = tl.philox(key, i, i * 0, i * 0 + step, i * 0 + stream, ROUNDS)
    return k0, k1


@triton.jit
def hashed(row, column, k0, k1):
    """32 bits for the number row + column: the finaliser of MurmurHash3, keyed twice.

    Both are multiplied before they are added, which saves a product for every pair of them.
    """
    x = (row.to(tl.uint32) * 0x9E3779B1 + k0) + column.to(tl.uint32) * 0x9E3779B1
    x = (x ^ (x >> 16)) * 0x85EBCA6B
    x = (x ^ (x >> 13) ^ k1) * 0xC2B2AE35
    return x ^ (x >> 16)


@triton.jit
def low_stays(r, least):
    """Is the number in the low half at least ``least``?"""
    return (r & 0xFFFF) >= least


@triton.jit
def high_stays(r, least):
    """Is the number in the high half?"""
    return r >= (least << 16).to(tl.uint32)


@triton.jit
def row_factors(r0, r1, d, row, least, scale, H: tl.constexpr, D: tl.constexpr):
    """Dropout's factors 0 or ``scale`` for coordinates d of that row of examples: (examples, D)."""
    C: tl.constexpr = D // 2
    r = hashed((d * 0 + row * (C + H))[None, :], (d % C)[None, :], r0[:, None], r1[:, None])
    r = tl.where((d < C)[None, :], r & 0xFFFF, r >> 16)
    return tl.where(r >= least, scale, 0.0)


@triton.jit
def powers(largest):
    """Powers of two near positive numbers: what brings these near one."""
    return tl.exp2(tl.floor(tl.log2(tl.maximum(largest, 1e-30))))


@triton.jit
def standardised(z, D: tl.constexpr):
    """(z − mean)/σ of every row, and 1/σ."""
    centred = z - (tl.sum(z, 1) / D)[:, None]
    rstd = tl.rsqrt(tl.sum(centred * centred, 1) / D + LN_EPS)
    return centred * rstd[:, None], rstd


@triton.jit
def narrow(x, DOT: tl.constexpr):
    """As an operand of a product of that precision."""
    return x.to(tl.float16) if DOT == "fp16" else x


@triton.jit
def product(a, b, acc, DOT: tl.constexpr):
    if DOT == "fp16":
        return tl.dot(a, b, acc)
    else:
        return tl.dot(a, b, acc, input_precision=DOT)


@triton.jit
def _bits(words, t, T):
    return (tl.load(words + t // 32, mask=t < T, other=0) >> (t % 32)) & 1


@triton.jit
def _thirds(x, K: tl.constexpr):
    """256 x (C,), |x| < 255, as three rows of (K, C) in float16 that add up to it, then zeros."""
    row, x = tl.arange(0, K)[:, None], x * 256
    high = x.to(tl.float16).to(tl.float32)
    middle = (x - high).to(tl.float16).to(tl.float32)
    rest = tl.where(row == 2, (x - high - middle)[None, :], 0.0)
    upper = tl.where(row == 0, high[None, :], middle[None, :])
    return tl.where(row < 2, upper, rest).to(tl.float16)


@triton.jit
def _copies(bit, K: tl.constexpr):
    """The bits (BT,) over 256, three times: (BT, K)."""
    three = tl.arange(0, K)[None, :] < 3
    return tl.where(three, bit[:, None].to(tl.float32) / 256, 0.0).to(tl.float16)


@triton.jit
def kernel_forward(
    base, lift, K, words, counts, keys, step_at, mixed, mass, lse, means, scales,
    M, T, W, p_rows, p_weights, scale_rows, scale_weights,
    H: tl.constexpr, D: tl.constexpr, BT: tl.constexpr, DOT: tl.constexpr,
    ROWS: tl.constexpr, WEIGHTS: tl.constexpr,
):  # fmt: skip
    e, i = (tl.program_id(0) // M).to(tl.int64), tl.program_id(0) % M
    if i >= tl.load(counts + e):
        return
    C: tl.constexpr = D // 2
    S: tl.constexpr = C + H
    h, c = tl.arange(0, H), tl.arange(0, C)
    at = ((e * H + h[:, None]) * M + i) * D + c[None, :]
    k0, k1 = tl.load(K + at), tl.load(K + at + C)  # (H, C)
    lift0, lift1 = tl.load(lift + e * D + c), tl.load(lift + e * D + C + c)
    r0, r1 = example_keys(tl.load(keys + e), tl.load(step_at).to(tl.int32), i, DROPOUT)
    row = words + (e * M + i) * W
    stat = (e * M + i) * (T + 1)
    best = tl.full((H,), -1e30, tl.float32)
    total = tl.zeros((H, BT), tl.float32)
    survived = tl.zeros((H, BT), tl.float32)
    acc0 = tl.zeros((H, C), tl.float32)
    acc1 = tl.zeros((H, C), tl.float32)
    for first in range(0, T + 1, BT):
        t = first + tl.arange(0, BT)
        there = t <= T
        bit = _bits(row, t, T).to(tl.float32)[:, None]
        tile = base + (e * (T + 1) + t[:, None]) * D + c[None, :]
        u0 = tl.load(tile, mask=there[:, None], other=0.0) + bit * lift0[None, :]
        u1 = tl.load(tile + C, mask=there[:, None], other=0.0) + bit * lift1[None, :]
        if ROWS:
            r = hashed((t * S)[:, None], c[None, :], r0, r1)
            u0 = tl.where(low_stays(r, p_rows), u0, 0.0)
            u1 = tl.where(high_stays(r, p_rows), u1, 0.0)
        mean = tl.sum(u0 + u1, 1) / D
        var = tl.sum(u0 * u0 + u1 * u1, 1) / D - mean * mean
        scale = scale_rows * tl.rsqrt(scale_rows * scale_rows * var + LN_EPS)
        tl.store(means + stat + t, mean, mask=there)
        tl.store(scales + stat + t, scale, mask=there)
        v0, v1 = narrow(u0, DOT), narrow(u1, DOT)
        s = product(k0, tl.trans(v0), tl.zeros((H, BT), tl.float32), DOT)
        s = product(k1, tl.trans(v1), s, DOT) * scale[None, :]
        s = tl.where(there[None, :], s, -1e30)
        new = tl.maximum(best, tl.max(s, 1))
        shrink = tl.exp2(best - new)[:, None]
        p = tl.exp2(s - new[:, None])
        total = total * shrink + p
        if WEIGHTS:
            r = hashed((t * S)[None, :], (C + h)[:, None], r0, r1)
            p = tl.where(low_stays(r, p_weights), p, 0.0)
        survived = survived * shrink + p
        p = narrow(p * scale[None, :], DOT)
        acc0 = product(p, v0, acc0 * shrink, DOT)
        acc1 = product(p, v1, acc1 * shrink, DOT)
        best = new
    sums = tl.sum(total, 1)
    share = scale_weights / sums
    place = (e * M + i) * H + h
    tl.store(mixed + at, acc0 * share[:, None])
    tl.store(mixed + at + C, acc1 * share[:, None])
    tl.store(mass + place, tl.sum(survived, 1) * share)
    tl.store(lse + place, best + tl.log2(sums))


@triton.jit
def folded(x, BT: tl.constexpr, C: tl.constexpr):
    """Rows r and r + 8 of every sixteen added up: one thread holds both."""
    return tl.reshape(tl.sum(tl.reshape(x, (BT // 16, 2, 8, C)), 1), (BT // 2, C))


@triton.jit
def kernel_backward(
    base, lift, K, words, counts, keys, step_at, lse, means, scales, d_mixed, d_mass, delta,
    sizes, d_base, d_lift, d_K,
    E, M, T, W, B, R, p_rows, p_weights, scale_weights,
    H: tl.constexpr, D: tl.constexpr, BT: tl.constexpr, DOT: tl.constexpr,
    ROWS: tl.constexpr, WEIGHTS: tl.constexpr,
):  # fmt: skip
    e, block, split = tl.program_id(2).to(tl.int64), tl.program_id(1), tl.program_id(0)
    C: tl.constexpr = D // 2
    S: tl.constexpr = C + H
    h, c = tl.arange(0, H), tl.arange(0, C)
    t = block * BT + tl.arange(0, BT)
    there = t <= T
    within = (e * (T + 1) + t[:, None]) * D + c[None, :]
    x0 = tl.load(base + within, mask=there[:, None], other=0.0)
    x1 = tl.load(base + within + C, mask=there[:, None], other=0.0)
    lift0 = _thirds(tl.load(lift + e * D + c), 16)
    lift1 = _thirds(tl.load(lift + e * D + C + c), 16)
    key, step = tl.load(keys + e), tl.load(step_at).to(tl.int32)
    all0 = tl.zeros((BT, C), tl.float32)
    all1 = tl.zeros((BT, C), tl.float32)
    ones0 = tl.zeros((BT // 2, C), tl.float32)
    ones1 = tl.zeros((BT // 2, C), tl.float32)
    for i in range(split * R, tl.minimum(split * R + R, tl.load(counts + e))):
        bit = _bits(words + (e * M + i) * W, t, T)
        place = (e * M + i) * H + h
        at = ((e * H + h[:, None]) * M + i) * D + c[None, :]
        k0, k1 = tl.load(K + at), tl.load(K + at + C)
        g0, g1 = tl.load(d_mixed + at), tl.load(d_mixed + at + C)
        stat = (e * M + i) * (T + 1) + t
        mean = tl.load(means + stat, mask=there, other=0.0)
        scale = tl.load(scales + stat, mask=there, other=0.0)
        r0, r1 = example_keys(key, step, i, DROPOUT)
        bits = _copies(bit, 16)
        u0, u1 = tl.dot(bits, lift0, x0), tl.dot(bits, lift1, x1)  # x + bit · lift
        if ROWS:
            r = hashed((t * S)[:, None], c[None, :], r0, r1)
            u0 = tl.where(low_stays(r, p_rows), u0, 0.0)
            u1 = tl.where(high_stays(r, p_rows), u1, 0.0)
        v0, v1 = narrow(u0, DOT), narrow(u1, DOT)
        zero = tl.zeros((BT, H), tl.float32)
        s = product(v1, tl.trans(k1), product(v0, tl.trans(k0), zero, DOT), DOT)
        d_a = product(v1, tl.trans(g1), product(v0, tl.trans(g0), zero, DOT), DOT)
        s, d_a = s * scale[:, None], d_a * scale[:, None]  # (BT, H)
        p = tl.exp2(tl.minimum(s - tl.load(lse + place)[None, :], 0.0))  # huge ones are rounded
        p = tl.where(there[:, None], p, 0.0)
        a, slope = p, d_a + tl.load(d_mass + place)[None, :]
        if WEIGHTS:
            q = hashed((t * S)[:, None], (C + h)[None, :], r0, r1)
            factor = tl.where(low_stays(q, p_weights), scale_weights, 0.0)
            a, slope = p * factor, slope * factor
        d_s = LN2 * p * (slope - tl.load(delta + place)[None, :])
        pull = tl.sum(a * d_a + d_s * s, 1) / D * scale * scale  # r² ⟨∂ẑ, ẑ⟩ / D
        a = narrow(a * scale[:, None], DOT)
        d_s = narrow(d_s * scale[:, None], DOT)
        into = d_K + block.to(tl.int64) * E * H * M * D + at
        across = tl.trans(d_s)
        tl.store(into, product(across, v0, tl.zeros((H, C), tl.float32), DOT))
        tl.store(into + C, product(across, v1, tl.zeros((H, C), tl.float32), DOT))
        centre = (pull * mean)[:, None]
        d0 = product(d_s, k0, product(a, g0, centre - pull[:, None] * u0, DOT), DOT)
        d1 = product(d_s, k1, product(a, g1, centre - pull[:, None] * u1, DOT), DOT)
        if ROWS:
            d0 = tl.where(low_stays(r, p_rows), d0, 0.0)
            d1 = tl.where(high_stays(r, p_rows), d1, 0.0)
        size = tl.load(sizes + e * M + i)
        all0 += d0 * size
        all1 += d1 * size
        lifted = bit.to(tl.float32)[:, None]
        ones0 += folded(d0 * lifted, BT, C) * size
        ones1 += folded(d1 * lifted, BT, C) * size
    out = d_base + split.to(tl.int64) * E * (T + 1) * D + within
    tl.store(out, all0, mask=there[:, None])
    tl.store(out + C, all1, mask=there[:, None])
    out = d_lift + ((split * E + e) * B + block) * D + c
    tl.store(out, tl.sum(ones0, 0))
    tl.store(out + C, tl.sum(ones1, 0))
