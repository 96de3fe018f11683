"""Majority classifiers on shared, packed rows, for evaluation, as one Triton kernel.

From packed bits to logits without a trip to memory: bits are unpacked in registers, multiplied with
the member's table (see `collapse`), joined into attention, and classified. A program owns some rows
of one member.
"""

from __future__ import annotations

import triton
import triton.language as tl

from dudley.core.backend import torch
from dudley.train.ensemble.bit_attention.fused import SETTINGS

ROWS = 64
FLOOR = tl.constexpr(-80.0)


@triton.jit
def _kernel_read(
    words, cell, low, high, last, flipped, table, values, bias, W, b, out, N, T, Wd,
    H: tl.constexpr, D: tl.constexpr, C: tl.constexpr, BN: tl.constexpr, DOT: tl.constexpr,
):  # fmt: skip
    e = tl.program_id(1).to(tl.int64)
    n, d, t32 = tl.program_id(0) * BN + tl.arange(0, BN), tl.arange(0, D), tl.arange(0, 32)
    row = words + (tl.load(cell + e) * N + n) * Wd
    mixed = tl.zeros((BN, D), tl.float32)
    for h in tl.static_range(H):
        eh = e * H + h
        flip = tl.load(flipped + eh).to(tl.int32)
        N_h = tl.zeros((BN, D), tl.float32)
        n_h = tl.zeros((BN,), tl.float32)
        total = 0.0
        for w in range(0, Wd):
            t = w * 32 + t32
            word = tl.load(row + w, mask=n < N, other=0)
            bits = (((word[:, None] >> t32[None, :]) & 1) ^ flip).to(tl.float32)  # high bits
            at = table + (eh * T + t) * (D + 1)
            g = tl.load(at + D, mask=t < T, other=0.0)
            weighted = tl.load(at[:, None] + d[None, :], mask=(t < T)[:, None], other=0.0)
            n_h += tl.sum(bits * g[None, :], 1)
            total += tl.sum(g)
            N_h = tl.dot(bits, weighted, N_h, input_precision=DOT)
        a_low, a_high, a_last = tl.load(low + eh), tl.load(high + eh), tl.load(last + eh)
        reached = tl.where(n_h > 0, tl.maximum(tl.log(tl.maximum(n_h, 1e-38)), FLOOR), -1e30)
        most = tl.maximum(a_high + reached, tl.maximum(a_low, a_last))
        w_low, w_high, w_last = tl.exp(a_low - most), tl.exp(a_high - most), tl.exp(a_last - most)
        excess = w_high * (1 - tl.exp(a_low - a_high))
        whole = w_low * total + excess * n_h + w_last
        v = values + eh * 4 * D + d
        mixed += (w_low / whole)[:, None] * tl.load(v)[None, :]
        mixed += (w_low * (total - n_h) / whole)[:, None] * tl.load(v + D)[None, :]
        mixed += (w_high * n_h / whole)[:, None] * tl.load(v + 2 * D)[None, :]
        mixed += (w_last / whole)[:, None] * tl.load(v + 3 * D)[None, :]
        mixed += (excess / whole)[:, None] * N_h
    hidden = tl.maximum(mixed + tl.load(bias + e * D + d)[None, :], 0.0)
    for c in tl.static_range(C):
        logit = tl.sum(hidden * tl.load(W + (e * D + d) * C + c)[None, :], 1)
        tl.store(out + (e * N + n) * C + c, logit + tl.load(b + e * C + c), mask=n < N)


def read(words, cell, attention, bias, W, b) -> torch.Tensor:
    """Logits (E, N, C) for rows (C, N, W) by cell: relu(attended + bias) W + b."""
    E, H, T, D = *attention.table.shape[:3], attention.values.shape[-1]
    N, classes = words.shape[1], W.shape[-1]
    out = torch.empty(E, N, classes, device=words.device)
    parts = (attention.low, attention.high, attention.last, attention.flipped, attention.table)
    held = [x.contiguous() for x in (*parts, attention.values, bias, W, b)]
    precision = "ieee" if SETTINGS.precision == "ieee" else "tf32"
    _kernel_read[(triton.cdiv(N, ROWS), E)](
        words, cell, *held, out, N, T, words.shape[2],
        H=H, D=D, C=classes, BN=ROWS, DOT=precision, num_warps=4,
    )  # fmt: skip
    return out
