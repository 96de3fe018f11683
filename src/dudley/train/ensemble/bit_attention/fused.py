"""Attention of the [CLS] row over bits, as Triton kernels that store two numbers for a token.

A token's row is base_t + x_t lift, thinned out by dropout, normalised and read by H folded queries
(see `plain`). One program of the forward pass owns one example and walks over its tokens with a
running softmax; one program of the backward pass owns a block of tokens and walks over examples,
so that gradients of positions add up in registers and in a fixed order: same bits every run.
Rows and masks are made again from counters in the backward pass; a row's mean and 1/σ are kept.

Normalising costs no pass over a row: folded queries and gradients are orthogonal to the vector of
ones, so that ⟨k, ẑ⟩ = ⟨k, u⟩/σ(u), and the gradient through the normalisation needs only
⟨∂ẑ, ẑ⟩ = Σ_h (a ∂a + s ∂s), which is at hand.
"""

from __future__ import annotations

from dataclasses import dataclass

import triton
import triton.language as tl

from dudley.core.backend import torch
from dudley.core.philox import Stream
from dudley.train.ensemble.bit_attention import masks
from dudley.train.ensemble.bit_attention.masks import threshold

LN2 = tl.constexpr(0.6931471805599453)
LN_EPS = tl.constexpr(1e-5)
ROUNDS = tl.constexpr(masks.ROUNDS)
DROPOUT = tl.constexpr(int(Stream.DROPOUT))


@dataclass
class KernelSettings:
    """How the kernels are cut; beyond rounding, none of it changes what is computed."""

    precision: str = "fp16"  # of products: fp16 (gradients scaled), tf32, ieee
    forward_tokens: int = 16
    forward_warps: int = 1
    backward_tokens: int = 64
    programs: int = 1024  # that keep a GPU busy


SETTINGS = KernelSettings()


@triton.jit
def _example_keys(key, step, i, stream: tl.constexpr):
    """Two words for example i at this step, by Philox: what its masks are hashed with."""
    k0, k1, _, _ = tl.philox(key, i, i * 0, i * 0 + step, i * 0 + stream, ROUNDS)
    return k0, k1


@triton.jit
def _hash(x, k0, k1):
    """32 bits for a coordinate's number x: the finaliser of MurmurHash3, keyed twice."""
    x = x * 0x9E3779B1 + k0
    x = (x ^ (x >> 16)) * 0x85EBCA6B
    x = (x ^ (x >> 13) ^ k1) * 0xC2B2AE35
    return x ^ (x >> 16)


@triton.jit
def _bits(words, t, T):
    return (tl.load(words + t // 32, mask=t < T, other=0) >> (t % 32)) & 1


@triton.jit
def _narrow(x, DOT: tl.constexpr):
    """As an operand of a product of that precision."""
    return x.to(tl.float16) if DOT == "fp16" else x


@triton.jit
def _product(a, b, acc, DOT: tl.constexpr):
    if DOT == "fp16":
        return tl.dot(a, b, acc)
    else:
        return tl.dot(a, b, acc, input_precision=DOT)


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
def _kernel_forward(
    base, lift, K, words, counts, keys, step_at, mixed, mass, lse, means, rstds,
    M, T, W, p_rows, p_weights, scale_rows, scale_weights,
    H: tl.constexpr, D: tl.constexpr, BT: tl.constexpr, DOT: tl.constexpr,
    ROWS: tl.constexpr, WEIGHTS: tl.constexpr,
):  # fmt: skip
    e, i = (tl.program_id(0) // M).to(tl.int64), tl.program_id(0) % M
    C: tl.constexpr = D // 2
    S: tl.constexpr = C + H
    h, c = tl.arange(0, H), tl.arange(0, C)
    at = ((e * H + h[:, None]) * M + i) * D + c[None, :]
    place = (e * M + i) * H + h
    if i >= tl.load(counts + e):
        tl.store(mixed + at, tl.zeros((H, C), tl.float32))
        tl.store(mixed + at + C, tl.zeros((H, C), tl.float32))
        tl.store(mass + place, tl.zeros((H,), tl.float32))
        return
    k0, k1 = _narrow(tl.load(K + at), DOT), _narrow(tl.load(K + at + C), DOT)  # (H, C)
    lift0, lift1 = tl.load(lift + e * D + c), tl.load(lift + e * D + C + c)
    r0, r1 = _example_keys(tl.load(keys + e), tl.load(step_at).to(tl.int32), i, DROPOUT)
    row = words + (e * M + i) * W
    stat = (e * M + i) * (T + 1)
    best = tl.full((H,), -1e30, tl.float32)
    total = tl.zeros((H,), tl.float32)
    survived = tl.zeros((H,), tl.float32)
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
            r = _hash((t[:, None] * S + c[None, :]).to(tl.uint32), r0, r1)
            u0 = tl.where((r & 0xFFFF) >= p_rows, u0 * scale_rows, 0.0)
            u1 = tl.where((r >> 16) >= p_rows, u1 * scale_rows, 0.0)
        mean = tl.sum(u0 + u1, 1) / D
        rstd = tl.rsqrt(tl.sum(u0 * u0 + u1 * u1, 1) / D - mean * mean + LN_EPS)
        tl.store(means + stat + t, mean, mask=there)
        tl.store(rstds + stat + t, rstd, mask=there)
        v0, v1 = _narrow(u0, DOT), _narrow(u1, DOT)
        s = _product(k0, tl.trans(v0), tl.zeros((H, BT), tl.float32), DOT)
        s = _product(k1, tl.trans(v1), s, DOT) * rstd[None, :]
        s = tl.where(there[None, :], s, -1e30)
        new = tl.maximum(best, tl.max(s, 1))
        shrink = tl.exp2(best - new)
        p = tl.exp2(s - new[:, None])
        total = total * shrink + tl.sum(p, 1)
        if WEIGHTS:
            r = _hash((t[None, :] * S + C + h[:, None]).to(tl.uint32), r0, r1)
            p = tl.where((r & 0xFFFF) >= p_weights, p * scale_weights, 0.0)
        survived = survived * shrink + tl.sum(p, 1)
        p = _narrow(p * rstd[None, :], DOT)
        acc0 = _product(p, v0, acc0 * shrink[:, None], DOT)
        acc1 = _product(p, v1, acc1 * shrink[:, None], DOT)
        best = new
    tl.store(mixed + at, acc0 / total[:, None])
    tl.store(mixed + at + C, acc1 / total[:, None])
    tl.store(mass + place, survived / total)
    tl.store(lse + place, best + tl.log2(total))


@triton.jit
def _kernel_delta(
    mixed, mass, d_mixed, d_mass, delta, sizes, M, H: tl.constexpr, D: tl.constexpr,
    BM: tl.constexpr,
):  # fmt: skip
    """Σ_t a_t ∂a_t = ⟨∂mixed, mixed⟩ + ∂mass · mass for every example and head; the size of an
    example's gradient, as a power of two: what brings it near one."""
    e, i = tl.program_id(1).to(tl.int64), tl.program_id(0) * BM + tl.arange(0, BM)
    there = i < M
    largest = tl.zeros((BM,), tl.float32)
    for h in range(H):
        at = ((e * H + h) * M + i[:, None]) * D + tl.arange(0, D)[None, :]
        x = tl.load(mixed + at, mask=there[:, None], other=0.0)
        g = tl.load(d_mixed + at, mask=there[:, None], other=0.0)
        place = (e * M + i) * H + h
        mass_h = tl.load(mass + place, mask=there, other=0.0)
        d_mass_h = tl.load(d_mass + place, mask=there, other=0.0)
        tl.store(delta + place, tl.sum(x * g, 1) + mass_h * d_mass_h, mask=there)
        largest = tl.maximum(largest, tl.maximum(tl.max(tl.abs(g), 1), tl.abs(d_mass_h)))
    size = tl.exp2(tl.floor(tl.log2(tl.maximum(largest, 1e-30))))
    tl.store(sizes + e * M + i, size, mask=there)


@triton.jit
def _folded(x, BT: tl.constexpr, C: tl.constexpr):
    """Rows r and r + 8 of every sixteen added up: one thread holds both."""
    return tl.reshape(tl.sum(tl.reshape(x, (BT // 16, 2, 8, C)), 1), (BT // 2, C))


@triton.jit
def _kernel_backward(
    base, lift, K, words, counts, keys, step_at, lse, means, rstds, d_mixed, d_mass, delta,
    sizes, d_base, d_lift, d_K,
    E, M, T, W, B, R, p_rows, p_weights, scale_rows, scale_weights,
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
        size = tl.load(sizes + e * M + i)
        k0, k1 = _narrow(tl.load(K + at), DOT), _narrow(tl.load(K + at + C), DOT)
        g0 = _narrow(tl.load(d_mixed + at) / size, DOT)
        g1 = _narrow(tl.load(d_mixed + at + C) / size, DOT)
        stat = (e * M + i) * (T + 1) + t
        mean = tl.load(means + stat, mask=there, other=0.0)
        rstd = tl.load(rstds + stat, mask=there, other=0.0)
        r0, r1 = _example_keys(key, step, i, DROPOUT)
        bits = _copies(bit, 16)
        u0, u1 = tl.dot(bits, lift0, x0), tl.dot(bits, lift1, x1)  # x + bit · lift
        f0, f1 = size, size
        if ROWS:
            r = _hash((t[:, None] * S + c[None, :]).to(tl.uint32), r0, r1)
            f0 = tl.where((r & 0xFFFF) >= p_rows, scale_rows, 0.0)
            f1 = tl.where((r >> 16) >= p_rows, scale_rows, 0.0)
            u0, u1 = u0 * f0, u1 * f1
            f0, f1 = f0 * size, f1 * size
        v0, v1 = _narrow(u0, DOT), _narrow(u1, DOT)
        zero = tl.zeros((BT, H), tl.float32)
        s = _product(v1, tl.trans(k1), _product(v0, tl.trans(k0), zero, DOT), DOT)
        d_a = _product(v1, tl.trans(g1), _product(v0, tl.trans(g0), zero, DOT), DOT)
        s, d_a = s * rstd[:, None], d_a * rstd[:, None]  # (BT, H)
        p = tl.exp2(s - tl.load(lse + place)[None, :])
        p = tl.where(there[:, None], p, 0.0)
        a, slope = p, d_a + (tl.load(d_mass + place) / size)[None, :]
        if WEIGHTS:
            q = _hash((t[:, None] * S + C + h[None, :]).to(tl.uint32), r0, r1)
            keep = tl.where((q & 0xFFFF) >= p_weights, scale_weights, 0.0)
            a, slope = p * keep, slope * keep
        d_s = LN2 * p * (slope - (tl.load(delta + place) / size)[None, :])
        pull = tl.sum(a * d_a + d_s * s, 1) / D * rstd * rstd  # ⟨∂ẑ, ẑ⟩ / (D σ²)
        a = _narrow(a * rstd[:, None], DOT)
        d_s = _narrow(d_s * rstd[:, None], DOT)
        into = d_K + block.to(tl.int64) * E * H * M * D + at
        across = tl.trans(d_s)
        tl.store(into, _product(across, v0, tl.zeros((H, C), tl.float32), DOT) * size)
        tl.store(into + C, _product(across, v1, tl.zeros((H, C), tl.float32), DOT) * size)
        d0 = _product(d_s, k0, _product(a, g0, pull[:, None] * (mean[:, None] - u0), DOT), DOT)
        d1 = _product(d_s, k1, _product(a, g1, pull[:, None] * (mean[:, None] - u1), DOT), DOT)
        d0, d1 = d0 * f0, d1 * f1
        all0 += d0
        all1 += d1
        is_one = (bit == 1)[:, None]
        ones0 += _folded(tl.where(is_one, d0, 0.0), BT, C)
        ones1 += _folded(tl.where(is_one, d1, 0.0), BT, C)
    out = d_base + split.to(tl.int64) * E * (T + 1) * D + within
    tl.store(out, all0, mask=there[:, None])
    tl.store(out + C, all1, mask=there[:, None])
    out = d_lift + ((split * E + e) * B + block) * D + c
    tl.store(out, tl.sum(ones0, 0))
    tl.store(out + C, tl.sum(ones1, 0))


@triton.jit
def _kernel_total(parts, counts, out, E, M, B, H: tl.constexpr, D: tl.constexpr, BM: tl.constexpr):
    """Σ over blocks of tokens, and zero for rows that are no examples."""
    e, i = tl.program_id(0), tl.program_id(1) * BM + tl.arange(0, BM)  # E·H may pass 65,535
    d = tl.arange(0, D)
    at = (e.to(tl.int64) * M + i[:, None]) * D + d[None, :]
    there = (i < tl.load(counts + e // H))[:, None]
    total = tl.zeros((BM, D), tl.float32)
    stride = tl.cast(E, tl.int64) * H * M * D
    for b in range(B):
        total += tl.load(parts + b * stride + at, mask=there, other=0.0)
    tl.store(out + at, total, mask=(i < M)[:, None])


@triton.jit
def _kernel_rows(
    keys, step_at, out, M, t, p_rows, scale, H: tl.constexpr, D: tl.constexpr, BM: tl.constexpr
):
    """Factors 0 or ``scale`` for row t of every example: (E, M, D)."""
    e, i = tl.program_id(1).to(tl.int64), tl.program_id(0) * BM + tl.arange(0, BM)
    c = tl.arange(0, D // 2)
    r0, r1 = _example_keys(tl.load(keys + e), tl.load(step_at).to(tl.int32), i, DROPOUT)
    r = _hash((c[None, :] + t * (D // 2 + H)).to(tl.uint32), r0[:, None], r1[:, None])
    at = (e * M + i[:, None]) * D + c[None, :]
    there = (i < M)[:, None]
    tl.store(out + at, tl.where((r & 0xFFFF) >= p_rows, scale, 0.0), mask=there)
    tl.store(out + at + D // 2, tl.where((r >> 16) >= p_rows, scale, 0.0), mask=there)


class Fused(torch.autograd.Function):
    """(base, lift, K; bits, counts, keys, step) ↦ (mixed, mass), differentiable in the first three.

    base (E, T+1, D) are the rows where every bit is 0, lift (E, D) what a 1 adds, K (E, H, M, D).
    """

    @staticmethod
    def forward(ctx, base, lift, K, words, counts, keys, step, dropout):
        E, H, M, D = K.shape
        T, W = base.shape[1] - 1, words.shape[2]
        base, lift, K = base.contiguous(), lift.contiguous(), K.contiguous()
        mixed, mass, lse = torch.empty_like(K), K.new_empty(E, M, H), K.new_empty(E, M, H)
        means, rstds = K.new_empty(E, M, T + 1), K.new_empty(E, M, T + 1)
        _kernel_forward[(E * M,)](
            base, lift, K, words, counts, keys, step, mixed, mass, lse, means, rstds,
            M, T, W, *_numbers(dropout),
            H=H, D=D, BT=SETTINGS.forward_tokens, DOT=SETTINGS.precision,
            ROWS=dropout[0] > 0, WEIGHTS=dropout[1] > 0,
            num_warps=SETTINGS.forward_warps,
        )  # fmt: skip
        ctx.save_for_backward(
            base, lift, K, words, counts, keys, step, lse, means, rstds, mixed, mass
        )
        ctx.dropout = dropout
        return mixed, mass

    @staticmethod
    def backward(ctx, d_mixed, d_mass):
        *saved, mixed, mass = ctx.saved_tensors
        base, _, K, words, counts = saved[:5]
        E, H, M, D = K.shape
        T, W = base.shape[1] - 1, words.shape[2]
        BT = min(SETTINGS.backward_tokens, max(16, triton.next_power_of_2(T + 1)))
        blocks = triton.cdiv(T + 1, BT)
        R = max(8, triton.cdiv(M, max(1, SETTINGS.programs // (E * blocks))))
        splits = triton.cdiv(M, R)
        d_mixed, d_mass = d_mixed.contiguous(), d_mass.contiguous()
        delta, sizes = torch.empty_like(mass), K.new_empty(E, M)
        _kernel_delta[(triton.cdiv(M, 16), E)](
            mixed, mass, d_mixed, d_mass, delta, sizes, M, H=H, D=D, BM=16
        )
        d_base = base.new_empty(splits, *base.shape)
        d_lift = base.new_empty(splits, E, blocks, D)
        parts, d_K = K.new_empty(blocks, *K.shape), torch.empty_like(K)
        _kernel_backward[(splits, blocks, E)](
            *saved, d_mixed, d_mass, delta, sizes, d_base, d_lift, parts,
            E, M, T, W, blocks, R, *_numbers(ctx.dropout),
            H=H, D=D, BT=BT, DOT=SETTINGS.precision,
            ROWS=ctx.dropout[0] > 0, WEIGHTS=ctx.dropout[1] > 0,
            num_warps=BT // 16,
        )  # fmt: skip
        _kernel_total[(E * H, triton.cdiv(M, 32))](
            parts, counts, d_K, E, M, blocks, H=H, D=D, BM=32
        )  # fmt: skip
        return d_base.sum(0), d_lift.sum((0, 2)), d_K, None, None, None, None, None


def factors(keys, step, M: int, D: int, H: int, t: int, p: float) -> torch.Tensor:
    """0 or 1/(1 − p) for every coordinate of row t of every example: (E, M, D)."""
    E = len(keys)
    out = torch.empty(E, M, D, device=keys.device)
    grid = (triton.cdiv(M, 32), E)
    _kernel_rows[grid](keys, step, out, M, t, *threshold(p), H=H, D=D, BM=32)
    return out


def _numbers(dropout):
    (p, a), (q, b) = threshold(dropout[0]), threshold(dropout[1])
    return p, q, a, b
