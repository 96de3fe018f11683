"""Majority classifiers on shared, packed rows, for evaluation, as one Triton kernel.

From packed bits to logits without a trip to memory: bits are unpacked in registers, multiplied with
the member's table (see `collapse`), joined into attention, and classified. A program owns some rows
of one member, and reads no more words of a row than the member does. To a compiler it is one
operation, which it leaves alone.
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
    words, cell, used, low, high, last, flipped, table, g, values, bias, W, b, out, N, T, Wd,
    H: tl.constexpr, D: tl.constexpr, C: tl.constexpr, BN: tl.constexpr, DOT: tl.constexpr,
):  # fmt: skip
    e = tl.program_id(1).to(tl.int64)
    n, d, t32 = tl.program_id(0) * BN + tl.arange(0, BN), tl.arange(0, D), tl.arange(0, 32)
    row = words + (tl.load(cell + e) * N + n) * Wd
    reads = tl.load(used + e)
    mixed = tl.zeros((BN, D), tl.float32)
    for h in tl.static_range(H):
        eh = e * H + h
        flip = tl.load(flipped + eh).to(tl.int32)
        N_h = tl.zeros((BN, D), tl.float32)
        n_h = tl.zeros((BN,), tl.float32)
        total = 0.0
        for w in range(0, reads):
            t = w * 32 + t32
            word = tl.load(row + w, mask=n < N, other=0)
            bits = (((word[:, None] >> t32[None, :]) & 1) ^ flip).to(tl.float32)  # high bits
            g_t = tl.load(g + eh * T + t, mask=t < T, other=0.0)
            at = table + (eh * T + t) * D
            weighted = tl.load(at[:, None] + d[None, :], mask=(t < T)[:, None], other=0.0)
            n_h += tl.sum(bits * g_t[None, :], 1)
            total += tl.sum(g_t)
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


def read(words, cell, used, attention, bias, W, b) -> torch.Tensor:
    """Logits (E, N, C) for rows (C, N, W) by cell: relu(attended + bias) W + b.

    ``used`` (E,) int32: the words of a row that a member reads.
    """
    weighted, g = attention.table[..., :-1], attention.table[..., -1]
    parts = (attention.low, attention.high, attention.last, attention.flipped, weighted, g)
    held = [x.detach().contiguous() for x in (*parts, attention.values, bias, W, b)]
    return _read(words, cell, used, held, SETTINGS.precision == "ieee")


@torch.library.custom_op("dudley::read_bits", mutates_args=())
def _read(
    words: torch.Tensor,
    cell: torch.Tensor,
    used: torch.Tensor,
    held: list[torch.Tensor],
    exact: bool,
) -> torch.Tensor:
    E, H, T, D = held[4].shape
    N, classes = words.shape[1], held[-1].shape[-1]
    out = torch.empty(E, N, classes, device=words.device)
    _kernel_read[(triton.cdiv(N, ROWS), E)](
        words, cell, used, *held, out, N, T, words.shape[2],
        H=H, D=D, C=classes, BN=ROWS, DOT="ieee" if exact else "tf32", num_warps=4,
    )  # fmt: skip
    return out


@_read.register_fake
def _(words, cell, used, held, exact):
    return words.new_empty(len(cell), words.shape[1], held[-1].shape[-1], dtype=torch.float32)
