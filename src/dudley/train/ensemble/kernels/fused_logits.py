"""Logits of AND classifiers from packed bits and their tables, for evaluation: one Triton kernel.

A program owns some rows of one member. It makes bits and their complements in registers, multiplies
them with the member's table (see `fused_table`), adds what [CLS] is worth, and goes on without a
trip to memory: division by the softmax's denominators, output matrix, residual, LayerNorm, MLP with
GELU, residual, LayerNorm, two or more logits. Neither the matrix of bits nor sums are ever in
memory. Rows of a cell are read where they lie, by the members' cells; of a member that asks for
fewer rows, or for none, the others are zeros.

GELU is x Φ(x) = max(x, 0) − |x| Φ(−|x|), and log₂ Φ(−a) is so smooth that a polynomial of degree 8
does: its error times what it is weighed with, |ΔΦ|, is at most 8·10⁻⁹ on [0, 6], and it falls to −∞
beyond. In float32 the whole is within 1.1·10⁻⁷ |x| of x Φ(x), and where the exponential is that of
a GPU, exact to 2⁻²², within 2.3·10⁻⁷ |x|; torch's, by erf, is within 3.8·10⁻⁷ |x|.
"""

from __future__ import annotations

from dataclasses import dataclass

import triton
import triton.language as tl

from dudley.core.backend import torch
from dudley.train.ensemble.bit_attention.fused import SETTINGS
from dudley.train.ensemble.bit_attention.fused_kernels import narrow, product
from dudley.train.ensemble.kernels.fused_table import _normalised, _place, padded_heads

INTERPRETED = tl.constexpr(bool(triton.knobs.runtime.interpret))


@dataclass
class LogitSettings:
    """How the kernel is cut; beyond rounding, none of it changes what is computed."""

    rows: int = 256  # of a program: the more, the less often a table is read
    warps: int = 16
    hidden: int = 64  # columns of the hidden layer at a time


CUT = LogitSettings()
MATRICES = (0, 4, 6)  # of the weights after attention: W_c, W_1, W_2
EXACT_CUT = LogitSettings(rows=64, warps=8, hidden=32)  # its products take more registers


@triton.jit
def _times(bits, table, acc, DOT: tl.constexpr):
    """acc + bits · table. The interpreter knows no products of bfloat16: these are the same."""
    if DOT == "ieee":
        return tl.dot(bits, table, acc, input_precision="ieee")
    elif INTERPRETED:
        return tl.dot(bits.to(tl.float32), table.to(tl.float32), acc)
    else:
        return tl.dot(bits, table, acc)


@triton.jit
def _no_bits(BN: tl.constexpr, DOT: tl.constexpr):
    """Zeros (BN, 64), laid out over threads like a sum of products.

    Numbers that are made of them are where a product wants its first factor, in the registers of
    the same threads; others would go through shared memory, two bytes at a time.
    """
    if DOT == "ieee":
        return tl.zeros((BN, 64), tl.int32)
    else:
        zero = _times(tl.zeros((BN, 16), tl.bfloat16), tl.zeros((16, 64), tl.bfloat16),
                      tl.zeros((BN, 64), tl.float32), DOT)  # fmt: skip
        return ((zero.to(tl.uint32, bitcast=True) & 1) >> 1).to(tl.int32)


@triton.jit
def _bits(word, none, DOT: tl.constexpr):
    """(BN, 64): 32 bits of each row and their complements, as numbers, in the table's order."""
    k = tl.arange(0, 64)
    shift = (k // 2) % 4 * 4
    bit = ((word[:, None] ^ none) >> shift[None, :]) & (1 << (_place(k) - shift))[None, :]
    of_ones = (k < 32)[None, :]
    number = tl.where(bit != 0, tl.where(of_ones, 1.0, 0.0), tl.where(of_ones, 0.0, 1.0))
    if DOT == "ieee":
        return number
    else:
        return number.to(tl.bfloat16)


@triton.jit
def _heads(
    row, inside, table, last, Wd,
    D: tl.constexpr, H: tl.constexpr, HP: tl.constexpr, PARTS: tl.constexpr, BN: tl.constexpr,
    DOT: tl.constexpr,
):  # fmt: skip
    """Concatenated heads (BN, D) of some rows: numerators over denominators."""
    C: tl.constexpr = PARTS * (D + HP)
    B: tl.constexpr = PARTS * HP
    k, d, b = tl.arange(0, 64), tl.arange(0, D), tl.arange(0, B)
    above = tl.zeros((BN, D), tl.float32) + tl.load(last + d)[None, :]
    of_last = tl.load(last + D + b, mask=b < H, other=0.0)
    below = tl.zeros((BN, B), tl.float32) + of_last[None, :]
    none = _no_bits(BN, DOT)
    for w in range(0, Wd):
        word = tl.load(row + w, mask=inside, other=0)
        bits = _bits(word, none, DOT)
        tile = table + (w * 64 + k[:, None]) * C
        above = _times(bits, tl.load(tile + d[None, :]), above, DOT)
        if PARTS == 2:
            above = _times(bits, tl.load(tile + D + d[None, :]), above, DOT)
        below = _times(bits, tl.load(tile + PARTS * D + b[None, :]), below, DOT)
    whole = tl.sum(tl.reshape(below, (BN, B // H, H)), 1)  # parts, and nothing in padded columns
    return tl.reshape(tl.reshape(above, (BN, H, D // H)) * (1 / whole)[:, :, None], (BN, D))


@triton.jit
def _gelu(x):
    a = tl.abs(x)
    q = a * -2.772052084765164e-06 + 3.86206666007638e-05
    q = q * a + -0.00018254719907417893
    q = q * a + -0.00014587123587261885
    q = q * a + 0.007075473666191101
    q = q * a + -0.05250503122806549
    q = q * a + -0.45920491218566895
    q = q * a + -1.1511057615280151
    return tl.maximum(x, 0.0) - a * tl.exp2(q * a - 1)


@triton.jit
def _kernel_logits(
    words, cell, used, table, last, cls, W_c, b_c, gain_2, bias_2, W_1, b_1, W_2, b_2, gain_3,
    bias_3, W, out, N, Wd,
    D: tl.constexpr, H: tl.constexpr, HP: tl.constexpr, PARTS: tl.constexpr, F: tl.constexpr,
    C: tl.constexpr, BN: tl.constexpr, BF: tl.constexpr, SUM: tl.constexpr, DOT: tl.constexpr,
):  # fmt: skip
    blocks = tl.cdiv(N, BN)
    e = (tl.program_id(0) // blocks).to(tl.int64)
    n, d = tl.program_id(0) % blocks * BN + tl.arange(0, BN), tl.arange(0, D)
    count = tl.load(used + e)
    if tl.program_id(0) % blocks * BN >= count:
        return
    row = words + (tl.load(cell + e) * N + n) * Wd
    columns: tl.constexpr = PARTS * (D + HP)
    heads = _heads(
        row, n < count, table + e * Wd * 64 * columns, last + e * (D + H), Wd,
        D, H, HP, PARTS, BN, SUM,
    )  # fmt: skip
    square = tl.load(W_c + e * D * D + d[:, None] * D + d[None, :])
    z = product(narrow(heads, DOT), narrow(square, DOT), tl.zeros((BN, D), tl.float32), DOT)
    z += (tl.load(b_c + e * D + d) + tl.load(cls + e * D + d))[None, :]
    y = _normalised(z, tl.load(gain_2 + e * D + d), tl.load(bias_2 + e * D + d), D)
    y = narrow(y, DOT)
    for first in range(0, F, BF):
        f = first + tl.arange(0, BF)
        into = tl.load(W_1 + e * D * F + d[:, None] * F + f[None, :])
        hidden = product(y, narrow(into, DOT), tl.zeros((BN, BF), tl.float32), DOT)
        hidden = narrow(_gelu(hidden + tl.load(b_1 + e * F + f)[None, :]), DOT)
        back = tl.load(W_2 + e * F * D + f[:, None] * D + d[None, :])
        z = product(hidden, narrow(back, DOT), z, DOT)
    z += tl.load(b_2 + e * D + d)[None, :]
    y = _normalised(z, tl.load(gain_3 + e * D + d), tl.load(bias_3 + e * D + d), D)
    for c in tl.static_range(C):
        logit = tl.sum(y * tl.load(W + e * D * C + d * C + c)[None, :], 1)
        tl.store(out + (e * N + n) * C + c, logit, mask=n < count)


def logits(words, cell, used, table, last, cls, weights: list[torch.Tensor], H: int):
    """Logits (E, N, C) for rows (cells, N, W): of its ``cell`` (E,) a member reads the first
    ``used`` (E,), and has zeros for others.

    ``table`` is that of `make_table`, ``last`` (E, 1, D+H) what [CLS] adds to sums, ``cls`` (E, 1,
    D) its rows, ``weights`` those after attention in order.
    """
    E, N, D = len(cell), words.shape[1], cls.shape[-1]
    F, classes, dot = weights[4].shape[-1], weights[-1].shape[-1], SETTINGS.precision
    exact = dot == "ieee"
    cut = EXACT_CUT if exact else CUT
    if dot == "fp16":  # once, and not once a program
        weights = [W.half() if i in MATRICES else W for i, W in enumerate(weights)]
    out = torch.zeros(E, N, classes, device=words.device)
    operands = [tensor.contiguous() for tensor in (words, cell, used, table, last, cls, *weights)]
    _kernel_logits[(triton.cdiv(N, cut.rows) * E,)](
        *operands, out, N, words.shape[2],
        D=D, H=H, HP=padded_heads(H), PARTS=1 if exact else 2, F=F, C=classes, BN=cut.rows,
        BF=cut.hidden, SUM="ieee" if exact else "bf16", DOT=dot, num_warps=cut.warps,
    )  # fmt: skip
    return out
