"""The rest of an AND classifier after attention, for evaluation, as one Triton kernel.

From the collapsed sums of an example to its logits without a trip to memory: division by the
softmax's denominators, output matrix, residual, LayerNorm, MLP with GELU, residual, LayerNorm, two
or more logits. A program owns some rows of one member; its matrices come from the cache.
"""

from __future__ import annotations

import triton
import triton.language as tl

from dudley.core.backend import torch
from dudley.train.ensemble.bit_attention.fused import SETTINGS
from dudley.train.ensemble.bit_attention.fused_kernels import narrow, product

ROWS, HIDDEN = 64, 64  # rows of a program, columns of the hidden layer at a time
LN_EPS = tl.constexpr(1e-5)


@triton.jit
def _normalised(z, gain, bias, D: tl.constexpr):
    centred = z - (tl.sum(z, 1) / D)[:, None]
    rstd = tl.rsqrt(tl.sum(centred * centred, 1) / D + LN_EPS)
    return centred * rstd[:, None] * gain[None, :] + bias[None, :]


@triton.jit
def _kernel_tail(
    sums, cls, W_c, b_c, gain_2, bias_2, W_1, b_1, W_2, b_2, gain_3, bias_3, W, out, N,
    D: tl.constexpr, H: tl.constexpr, F: tl.constexpr, C: tl.constexpr,
    BN: tl.constexpr, BF: tl.constexpr, DOT: tl.constexpr,
):  # fmt: skip
    e = tl.program_id(1).to(tl.int64)
    n, d = tl.program_id(0) * BN + tl.arange(0, BN), tl.arange(0, D)
    there = (n < N)[:, None]
    row = sums + (e * N + n[:, None]) * (D + H)
    heads = tl.load(row + d[None, :], mask=there, other=0.0)
    heads /= tl.load(row + D + (d // (D // H))[None, :], mask=there, other=1.0)
    square = d[:, None] * D + d[None, :]
    z = product(
        narrow(heads, DOT), narrow(tl.load(W_c + e * D * D + square), DOT),
        tl.zeros((BN, D), tl.float32), DOT,
    )  # fmt: skip
    z += (tl.load(b_c + e * D + d) + tl.load(cls + e * D + d))[None, :]
    y = _normalised(z, tl.load(gain_2 + e * D + d), tl.load(bias_2 + e * D + d), D)
    y = narrow(y, DOT)
    for first in range(0, F, BF):
        f = first + tl.arange(0, BF)
        into = tl.load(W_1 + e * D * F + d[:, None] * F + f[None, :])
        hidden = product(y, narrow(into, DOT), tl.zeros((BN, BF), tl.float32), DOT)
        hidden += tl.load(b_1 + e * F + f)[None, :]
        hidden = hidden * 0.5 * (1 + tl.erf(hidden * 0.7071067811865476))
        back = tl.load(W_2 + e * F * D + f[:, None] * D + d[None, :])
        z = product(narrow(hidden, DOT), narrow(back, DOT), z, DOT)
    z += tl.load(b_2 + e * D + d)[None, :]
    y = _normalised(z, tl.load(gain_3 + e * D + d), tl.load(bias_3 + e * D + d), D)
    for c in tl.static_range(C):
        logit = tl.sum(y * tl.load(W + e * D * C + d * C + c)[None, :], 1)
        tl.store(out + (e * N + n) * C + c, logit, mask=n < N)


def tail(sums: torch.Tensor, cls: torch.Tensor, weights: list[torch.Tensor], H: int):
    """Logits (E, N, C) from sums (E, N, D+H), [CLS] rows (E, 1, D) and the weights in order."""
    E, N = sums.shape[:2]
    D, F, C = cls.shape[-1], weights[4].shape[-1], weights[-1].shape[-1]
    out = torch.empty(E, N, C, device=sums.device)
    operands = [tensor.contiguous() for tensor in (sums, cls, *weights)]
    _kernel_tail[(triton.cdiv(N, ROWS), E)](
        *operands,
        out,
        N,
        D=D,
        H=H,
        F=F,
        C=C,
        BN=ROWS,
        BF=HIDDEN,
        DOT=SETTINGS.precision,
        num_warps=4,
    )
    return out
