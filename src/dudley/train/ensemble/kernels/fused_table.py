"""The table of an AND classifier's collapsed attention, as one Triton kernel for evaluation.

Token t with bit x has the row P_t + W_E[x], normalised to z. Its score is s = ⟨u_h, z⟩, its value
v = z W_v + b_v, and the table has w v and w = e^{s − max s} for both bits of every position, where
the largest is over them and [CLS], and w counts as e^−80 below that. A program owns a member: it
walks over the positions twice, for the largest score of each head and for the table.

Rows lie as `fused_logits` reads them: of each word first 32 ones, then 32 zeros, in the order of
`_place`; positions past T are zeros. Products there are of 16-bit numbers, so a number of the table
is stored as two bfloat16, its nearest one and the nearest to the rest: together they have 16 bits
of mantissa, five more than TF32, and a float32's range. Where exactness is asked for, it is stored
as it is. Columns are D numerators, then the denominators of H heads, filled up to a width that
products of matrices have; of two parts each lies beside the other.
"""

from __future__ import annotations

import triton
import triton.language as tl

from dudley.core.backend import torch
from dudley.train.ensemble.bit_attention.fused import SETTINGS
from dudley.train.ensemble.bit_attention.fused_kernels import product, standardised

LOWEST = tl.constexpr(-80.0)
LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def _normalised(z, gain, bias, D: tl.constexpr):
    return standardised(z, D)[0] * gain[None, :] + bias[None, :]


@triton.jit
def _place(k):
    """The bit of a word that row k < 64 of its table is about; from 32 on rows are of zeros.

    A thread that multiplies has k = 8j + 2l + i for all j and i, and one l: its bits are those of
    the word shifted by 4l at places known beforehand.
    """
    return (k % 2) * 16 + (k // 2) % 4 * 4 + (k // 8) % 4


@triton.jit
def _rows_of_word(P, W_E, gain, bias, w, T, D: tl.constexpr):
    """Normalised rows (64, D) of a word's positions, for ones and for zeros; which are there."""
    k, d = tl.arange(0, 64), tl.arange(0, D)
    t = w * 32 + _place(k)
    there = (t < T)[:, None]
    token = tl.load(W_E + tl.where(k < 32, D, 0)[:, None] + d[None, :])
    x = token + tl.load(P + t[:, None] * D + d[None, :], mask=there, other=0.0)
    return _normalised(x, gain, bias, D), there


@triton.jit
def _store(at, x, part, mask, PARTS: tl.constexpr):
    """x, or its two parts, ``part`` apart."""
    if PARTS == 1:
        tl.store(at, x, mask=mask)
    else:
        first = x.to(tl.bfloat16)
        tl.store(at, first, mask=mask)
        tl.store(at + part, (x - first.to(tl.float32)).to(tl.bfloat16), mask=mask)


@triton.jit
def _kernel_table(
    P, W_E, gain_1, bias_1, u, s_last, W_v, b_v, largest, table, T, Wd,
    D: tl.constexpr, H: tl.constexpr, HP: tl.constexpr, PARTS: tl.constexpr, DOT: tl.constexpr,
):  # fmt: skip
    e = tl.program_id(0).to(tl.int64)
    k, d, h = tl.arange(0, 64), tl.arange(0, D), tl.arange(0, HP)
    C: tl.constexpr = PARTS * (D + HP)
    gain, bias = tl.load(gain_1 + e * D + d), tl.load(bias_1 + e * D + d)
    token, position = W_E + e * 3 * D, P + e * (T + 1) * D
    head = d // (D // H)
    u_d = tl.load(u + e * D * H + d[:, None] * H + head[None, :])  # (D, D): its head's, a column
    u_h = tl.load(u + e * D * H + d[:, None] * H + h[None, :], mask=(h < H)[None, :], other=0.0)
    W, b = tl.load(W_v + e * D * D + d[:, None] * D + d[None, :]), tl.load(b_v + e * D + d)
    last_d = tl.load(s_last + e * H + head)
    last_h = tl.load(s_last + e * H + h, mask=h < H, other=0.0)
    far_d, far_h = tl.zeros((64, D), tl.float32), tl.zeros((64, HP), tl.float32)
    far_d, far_h = far_d + last_d[None, :], far_h + last_h[None, :]
    for w in range(0, Wd):
        z, there = _rows_of_word(position, token, gain, bias, w, T, D)
        s_d = product(z, u_d, tl.zeros((64, D), tl.float32), DOT)
        s_h = product(z, u_h, tl.zeros((64, HP), tl.float32), DOT)
        far_d = tl.where(there, tl.maximum(far_d, s_d), far_d)
        far_h = tl.where(there, tl.maximum(far_h, s_h), far_h)
    most_d, most_h = tl.max(far_d, 0), tl.max(far_h, 0)
    tl.store(largest + e * H + h, most_h, mask=h < H)
    for w in range(0, Wd):
        z, there = _rows_of_word(position, token, gain, bias, w, T, D)
        s_d = product(z, u_d, tl.zeros((64, D), tl.float32), DOT) - most_d[None, :]
        s_h = product(z, u_h, tl.zeros((64, HP), tl.float32), DOT) - most_h[None, :]
        v = product(z, W, tl.zeros((64, D), tl.float32), DOT) + b[None, :]
        above = tl.exp2(tl.maximum(s_d, LOWEST) * LOG2_E) * v
        below = tl.exp2(tl.maximum(s_h, LOWEST) * LOG2_E)
        at = table + ((e * Wd + w) * 64 + k[:, None]) * C
        everywhere = k[:, None] >= 0
        _store(at + d[None, :], tl.where(there, above, 0.0), D, everywhere, PARTS)
        below = tl.where(there & (h < H)[None, :], below, 0.0)
        _store(at + PARTS * D + h[None, :], below, HP, everywhere, PARTS)


def padded_heads(H: int) -> int:
    """The width of the denominators: products of matrices have sixteen columns at least."""
    return max(16, H)


def make_table(P, W_E, gain, bias, u, s_last, W_v, b_v) -> tuple[torch.Tensor, torch.Tensor]:
    """The table (E, 64⌈T/32⌉, columns), and the largest scores (E, 1, H).

    Of positions P (E, T+1, D), tokens W_E (E, 3, D), folded queries u (E, D, H), and the scores of
    [CLS] (E, 1, H).
    """
    E, positions, D = P.shape
    T, H, HP = positions - 1, u.shape[2], padded_heads(u.shape[2])
    words, exact = triton.cdiv(T, 32), SETTINGS.precision == "ieee"
    parts, kind = (1, torch.float32) if exact else (2, torch.bfloat16)
    table = torch.empty(E, words * 64, parts * (D + HP), dtype=kind, device=P.device)
    largest = torch.empty(E, 1, H, device=P.device)
    operands = [one.contiguous() for one in (P, W_E, gain, bias, u, s_last, W_v, b_v)]
    _kernel_table[(E,)](
        *operands, largest, table, T, words,
        D=D, H=H, HP=HP, PARTS=parts, DOT="ieee" if exact else "tf32",
        num_warps=8 if exact else 4, num_stages=2,
    )  # fmt: skip
    return table, largest
