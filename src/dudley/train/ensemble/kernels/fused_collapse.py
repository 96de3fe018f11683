"""Majority classifiers on packed rows as Triton kernels: sums over high bits, and evaluation.

Bits are unpacked in registers and multiplied with the member's table (see `collapse`): no matrix of
bits is ever in memory. `high_sums` gives N and n with a gradient, for training; `read` goes on to
attention and logits without a trip to memory, for evaluation: a program owns some rows of one
member, reads no more words of a row than the member does, and nothing for one that is asked for
none. To a compiler each is one operation, which it leaves alone. Where precision is not asked for,
the table is rounded to eleven bits; bits are exact. What training sums has the exponents of a
float32; an evaluation has those of a float16, for tables below 65,504.
"""

from __future__ import annotations

import triton
import triton.language as tl

from dudley.core.backend import torch
from dudley.train.ensemble.bit_attention.fused import SETTINGS
from dudley.train.ensemble.bit_attention.fused_kernels import narrow, product

ROWS = 64
FLOOR = tl.constexpr(-80.0)
TINY = tl.constexpr(1e-37)  # a float32: what is none makes all after it float64 (Triton 3.6)


@triton.jit
def _sums(
    row, inside, reads, flip, weighted, g, T, BN: tl.constexpr, D: tl.constexpr, DOT: tl.constexpr
):
    """N, n and Σ_t g_t of some rows: words are unpacked one after another."""
    d, t32 = tl.arange(0, D), tl.arange(0, 32)
    N = tl.zeros((BN, D), tl.float32)
    n, total = tl.zeros((BN, 32), tl.float32), tl.zeros((32,), tl.float32)
    for w in range(0, reads):
        t = w * 32 + t32
        word = tl.load(row + w, mask=inside, other=0)
        high = (((word[:, None] >> t32[None, :]) & 1) ^ flip).to(tl.float32)
        g_t = tl.load(g + t, mask=t < T, other=0.0)
        there = (t < T)[:, None]
        table = tl.load(weighted + t[:, None] * D + d[None, :], mask=there, other=0.0)
        n += high * g_t[None, :]
        total += g_t
        N = product(narrow(high, DOT), narrow(table, DOT), N, DOT)
    return N, tl.sum(n, 1), tl.sum(total, 0)


@triton.jit
def _kernel_sums(
    words, flipped, weighted, g, N_out, n_out, per_member, B, T, Wd,
    H: tl.constexpr, D: tl.constexpr, BN: tl.constexpr, DOT: tl.constexpr,
):  # fmt: skip
    eh = tl.program_id(1).to(tl.int64)
    n, d = tl.program_id(0) * BN + tl.arange(0, BN), tl.arange(0, D)
    flip, inside = tl.load(flipped + eh).to(tl.int32), n < B
    row = words + (eh // H * per_member * B + n) * Wd
    N_h, n_h, _ = _sums(row, inside, Wd, flip, weighted + eh * T * D, g + eh * T, T, BN, D, DOT)
    at = eh * B + n
    tl.store(N_out + at[:, None] * D + d[None, :], N_h, mask=inside[:, None])
    tl.store(n_out + at, n_h, mask=inside)


@triton.jit
def _kernel_sums_back(
    words, flipped, d_N, d_n, d_weighted, d_g, per_member, B, T, Wd,
    H: tl.constexpr, D: tl.constexpr, BN: tl.constexpr, DOT: tl.constexpr,
):  # fmt: skip
    w, eh = tl.program_id(0), tl.program_id(1).to(tl.int64)
    d, t32 = tl.arange(0, D), tl.arange(0, 32)
    flip = tl.load(flipped + eh).to(tl.int32)
    table, column = tl.zeros((32, D), tl.float32), tl.zeros((32, BN), tl.float32)
    for first in range(0, B, BN):
        n = first + tl.arange(0, BN)
        word = tl.load(words + (eh // H * per_member * B + n) * Wd + w, mask=n < B, other=0)
        high = (((word[None, :] >> t32[:, None]) & 1) ^ flip).to(tl.float32)  # (32, BN)
        at = eh * B + n
        pull = tl.load(d_N + at[:, None] * D + d[None, :], mask=(n < B)[:, None], other=0.0)
        column += high * tl.load(d_n + at, mask=n < B, other=0.0)[None, :]
        table = product(high, pull, table, DOT)
    t = w * 32 + t32
    at = eh * T + t
    tl.store(d_weighted + at[:, None] * D + d[None, :], table, mask=(t < T)[:, None])
    tl.store(d_g + at, tl.sum(column, 1), mask=t < T)


def high_sums(words, flipped, weighted, g) -> tuple[torch.Tensor, torch.Tensor]:
    """N (E, H, B, D) and n (E, H, B) of packed rows (E, B, W), or (1, B, W) for all members."""
    return _high_sums(words, flipped, weighted, g, SETTINGS.precision == "ieee")


@torch.library.custom_op("dudley::high_sums", mutates_args=())
def _high_sums(
    words: torch.Tensor,
    flipped: torch.Tensor,
    weighted: torch.Tensor,
    g: torch.Tensor,
    exact: bool,
) -> tuple[torch.Tensor, torch.Tensor]:
    E, H, T, D = weighted.shape
    B, Wd = words.shape[1:]
    N, n = weighted.new_empty(E, H, B, D), weighted.new_empty(E, H, B)
    operands = [x.contiguous() for x in (words, flipped, weighted, g)]
    _kernel_sums[(triton.cdiv(B, ROWS), E * H)](
        *operands, N, n, int(len(words) > 1), B, T, Wd,
        H=H, D=D, BN=ROWS, DOT="ieee" if exact else "tf32", num_warps=8,
    )  # fmt: skip
    return N, n


@_high_sums.register_fake
def _(words, flipped, weighted, g, exact):
    E, H, _, D = weighted.shape
    B = words.shape[1]
    return weighted.new_empty(E, H, B, D), weighted.new_empty(E, H, B)


@torch.library.custom_op("dudley::high_sums_back", mutates_args=())
def _high_sums_back(
    words: torch.Tensor,
    flipped: torch.Tensor,
    d_N: torch.Tensor,
    d_n: torch.Tensor,
    T: int,
    exact: bool,
) -> tuple[torch.Tensor, torch.Tensor]:
    E, H, B, D = d_N.shape
    Wd = words.shape[2]
    d_weighted, d_g = d_N.new_empty(E, H, T, D), d_N.new_empty(E, H, T)
    operands = [x.contiguous() for x in (words, flipped, d_N, d_n)]
    _kernel_sums_back[(Wd, E * H)](
        *operands, d_weighted, d_g, int(len(words) > 1), B, T, Wd,
        H=H, D=D, BN=ROWS, DOT="ieee" if exact else "tf32", num_warps=4,
    )  # fmt: skip
    return d_weighted, d_g


@_high_sums_back.register_fake
def _(words, flipped, d_N, d_n, T, exact):
    E, H, _, D = d_N.shape
    return d_N.new_empty(E, H, T, D), d_N.new_empty(E, H, T)


def _keep(ctx, inputs, output) -> None:
    words, flipped, weighted, _, exact = inputs
    ctx.save_for_backward(words, flipped)
    ctx.T, ctx.exact = weighted.shape[2], exact


def _pull(ctx, d_N, d_n):
    words, flipped = ctx.saved_tensors
    back = _high_sums_back(words, flipped, d_N, d_n, ctx.T, ctx.exact)
    return None, None, *back, None


_high_sums.register_autograd(_pull, setup_context=_keep)


@triton.jit
def _kernel_read(
    words, cell, reads, low, high, last, flipped, weighted, g, values, bias, W, b, out, N, T, Wd,
    H: tl.constexpr, D: tl.constexpr, C: tl.constexpr, BN: tl.constexpr, DOT: tl.constexpr,
):  # fmt: skip
    e = tl.program_id(1).to(tl.int64)
    words_read = tl.load(reads + e)
    if words_read == 0:
        return
    n, d = tl.program_id(0) * BN + tl.arange(0, BN), tl.arange(0, D)
    row = words + (tl.load(cell + e) * N + n) * Wd
    mixed, k = tl.zeros((BN, D), tl.float32), tl.arange(0, 16)
    for h in range(H):
        eh = e * H + h
        flip = tl.load(flipped + eh).to(tl.int32)
        N_h, n_h, total = _sums(
            row, n < N, words_read, flip, weighted + eh * T * D, g + eh * T, T, BN, D, DOT
        )
        a_low, a_high, a_last = tl.load(low + eh), tl.load(high + eh), tl.load(last + eh)
        reached = tl.where(n_h > 0, tl.maximum(tl.log(tl.maximum(n_h, TINY)), FLOOR), -1e30)
        most = tl.maximum(a_high + reached, tl.maximum(a_low, a_last))
        w_low, w_last = tl.exp(a_low - most), tl.exp(a_last - most)
        w_high = tl.exp(tl.minimum(a_high - most, -FLOOR))  # more only where n = 0
        excess = w_high * (1 - tl.exp(a_low - a_high))
        whole = w_low * total + excess * n_h + w_last
        masses = tl.where(k[None, :] == 0, (w_low / whole)[:, None], 0.0)
        masses = tl.where(k[None, :] == 1, (w_low * (total - n_h) / whole)[:, None], masses)
        masses = tl.where(k[None, :] == 2, (w_high * n_h / whole)[:, None], masses)
        masses = tl.where(k[None, :] == 3, (w_last / whole)[:, None], masses)
        at = values + eh * 4 * D + k[:, None] * D + d[None, :]
        four = tl.load(at, mask=(k < 4)[:, None], other=0.0)
        mixed = product(masses, four, mixed, "ieee" if DOT == "ieee" else "tf32")
        mixed += (excess / whole)[:, None] * N_h
    hidden = mixed + tl.load(bias + e * D + d)[None, :]
    hidden = tl.where(hidden < 0, 0.0, hidden)  # what is no number stays one: a table too large
    for c in tl.static_range(C):
        logit = tl.sum(hidden * tl.load(W + (e * D + d) * C + c)[None, :], 1)
        tl.store(out + (e * N + n) * C + c, logit + tl.load(b + e * C + c), mask=n < N)


def read(words, cell, reads, attention, bias, W, b) -> torch.Tensor:
    """Logits (E, N, C) for rows (C, N, W) by cell: relu(attended + bias) W + b.

    ``reads`` (E,) int32: the words of a row that a member reads; one that reads none gets zeros.
    """
    parts = (attention.low, attention.high, attention.last, attention.flipped)
    table = (attention.weighted, attention.g, attention.values)
    operands = [x.detach().contiguous() for x in (*parts, *table, bias, W, b)]
    return _read(words, cell, reads, operands, SETTINGS.precision == "ieee")


@torch.library.custom_op("dudley::read_bits", mutates_args=())
def _read(
    words: torch.Tensor,
    cell: torch.Tensor,
    reads: torch.Tensor,
    operands: list[torch.Tensor],
    exact: bool,
) -> torch.Tensor:
    E, H, T, D = operands[4].shape
    N, classes = words.shape[1], operands[-1].shape[-1]
    out = torch.zeros(E, N, classes, device=words.device)
    _kernel_read[(triton.cdiv(N, ROWS), E)](
        words, cell, reads, *operands, out, N, T, words.shape[2],
        H=H, D=D, C=classes, BN=ROWS, DOT="ieee" if exact else "fp16", num_warps=8,
    )  # fmt: skip
    return out


@_read.register_fake
def _(words, cell, reads, operands, exact):
    return words.new_empty(len(cell), words.shape[1], operands[-1].shape[-1], dtype=torch.float32)
