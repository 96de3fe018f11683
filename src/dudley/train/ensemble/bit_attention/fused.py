"""Attention of the [CLS] row over bits on a GPU: what is launched, forward and backward.

The kernels that see tokens are in `fused_kernels`, those around them in `fused_folds`. Together
they are one function of queries and matrices, so that nothing of H·D numbers for an example is
seen outside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import triton
import triton.language as tl

from dudley.core.backend import torch
from dudley.train.ensemble.bit_attention import fused_folds as folds
from dudley.train.ensemble.bit_attention.fused_kernels import (
    DROPOUT,
    example_keys,
    kernel_backward,
    kernel_forward,
    row_factors,
)
from dudley.train.ensemble.bit_attention.masks import threshold


@dataclass
class KernelSettings:
    """How the kernels are cut; beyond rounding, none of it changes what is computed.

    Measured on an H200 at T = 400, E = 800: 2.83 ms forward, 6.5 ms backward. Blocks of 32 or 128
    tokens take a fifth to two thirds longer, so does a third program on a multiprocessor, with
    registers kept in its cache; fewer than three stages wait for memory.
    """

    precision: str = "fp16"  # of products: fp16 (gradients scaled), tf32, ieee
    forward_tokens: int = 16
    forward_warps: int = 1
    backward_tokens: int = 64
    forward_stages: int = 1
    backward_stages: int = 3  # examples that are on their way from memory
    programs: int = 1024  # that keep a GPU busy


SETTINGS = KernelSettings()
EXAMPLES = 32  # that a program of `fused_folds` looks at together


class Fused(torch.autograd.Function):
    """(base, lift, q, A, B, b; bits, counts, keys, step) ↦ heads, differentiable in the first six.

    base (E, T+1, D) are the rows where every bit is 0, lift (E, D) what a 1 adds, q (E, M, D) the
    queries of all heads in units of log 2, A and B (E, D, D) the matrices of keys and of values,
    b (E, 1, D) what a unit of mass becomes. Columns of A and B add up to 0.
    """

    @staticmethod
    def forward(ctx, base, lift, q, A, B, b, words, counts, keys, step, H, dropout):
        E, M, D = q.shape
        T, W = base.shape[1] - 1, words.shape[2]
        base, lift, q, A, B, b = (x.contiguous() for x in (base, lift, q, A, B, b))
        (p, c), (p_weights, c_weights) = threshold(dropout[0]), threshold(dropout[1])
        fast = SETTINGS.precision == "fp16"
        K = q.new_empty(E, H, M, D, dtype=torch.float16 if fast else torch.float32)
        mixed, mass, lse = torch.empty_like(K), q.new_empty(E, M, H), q.new_empty(E, M, H)
        means, scales = q.new_empty(E, M, T + 1), q.new_empty(E, M, T + 1)
        cut = _cut(H, D)
        parts, R = _parts(E * H, M)
        folds.kernel_fold[(E * H, parts)](q, A, counts, K, M, R, **cut)
        kernel_forward[(E * M,)](
            base, lift, K, words, counts, keys, step, mixed, mass, lse, means, scales,
            M, T, W, p, p_weights, c, c_weights,
            H=H, D=D, BT=SETTINGS.forward_tokens, DOT=SETTINGS.precision,
            ROWS=dropout[0] > 0, WEIGHTS=dropout[1] > 0,
            num_warps=SETTINGS.forward_warps, num_stages=SETTINGS.forward_stages,
        )  # fmt: skip
        heads = torch.empty_like(q)
        folds.kernel_heads[(E * H, parts)](mixed, mass, B, b, counts, heads, M, R, **cut)
        ctx.save_for_backward(
            base, lift, K, words, counts, keys, step, lse, means, scales,
            q, A, B, b, mixed, mass, heads,
        )  # fmt: skip
        ctx.dropout = dropout
        return heads

    @staticmethod
    def backward(ctx, d_heads):
        *saved, q, A, B, b, mixed, mass, heads = ctx.saved_tensors
        base, _, K, words, counts = saved[:5]
        E, H, M, D = K.shape
        T, W, cut = base.shape[1] - 1, words.shape[2], _cut(H, D)
        d_heads = d_heads.contiguous()
        sizes, delta, d_mass = q.new_empty(E, M), torch.empty_like(mass), torch.empty_like(mass)
        folds.kernel_sizes[(triton.cdiv(M, EXAMPLES), E)](
            heads, d_heads, b, sizes, delta, d_mass, M, H=H, D=D, BM=EXAMPLES
        )
        parts, rows = _parts(E * H, M)
        d_mixed = torch.empty_like(mixed)
        d_A, d_B, d_b = (x.new_empty(parts, *x.shape) for x in (A, B, b))
        folds.kernel_pull[(E * H, parts)](
            mixed, mass, d_heads, B, counts, sizes, d_mixed, d_B, d_b, E, M, rows,
            **cut, SUM=_sums(),
        )  # fmt: skip
        BT = min(SETTINGS.backward_tokens, max(16, triton.next_power_of_2(T + 1)))
        blocks = triton.cdiv(T + 1, BT)
        R = max(8, triton.cdiv(M, max(1, SETTINGS.programs // (E * blocks))))
        splits = triton.cdiv(M, R)
        d_base = base.new_empty(splits, *base.shape)
        d_lift = base.new_empty(splits, E, blocks, D)
        d_K = K.new_empty(blocks, *K.shape)
        (p, _), (p_weights, c_weights) = threshold(ctx.dropout[0]), threshold(ctx.dropout[1])
        kernel_backward[(splits, blocks, E)](
            *saved, d_mixed, d_mass, delta, sizes, d_base, d_lift, d_K,
            E, M, T, W, blocks, R, p, p_weights, c_weights,
            H=H, D=D, BT=BT, DOT=SETTINGS.precision,
            ROWS=ctx.dropout[0] > 0, WEIGHTS=ctx.dropout[1] > 0,
            num_warps=BT // 16, num_stages=SETTINGS.backward_stages,
        )  # fmt: skip
        d_q = torch.empty_like(q)
        folds.kernel_total[(E * H, parts)](
            d_K, q, A, counts, sizes, d_q, d_A, E, M, rows, blocks, **cut, SUM=_sums()
        )  # fmt: skip
        d_base, d_A, d_B, d_b = (_added(x) for x in (d_base, d_A, d_B, d_b))
        return d_base, d_lift.sum((0, 2)), d_q, d_A, d_B, d_b, *(None,) * 6


def _cut(H: int, D: int) -> dict[str, Any]:
    """The sizes that kernels of `fused_folds` are made for, and the precision of products."""
    sizes = {"H": H, "D": D, "SIZE": D // H, "COLUMNS": max(16, D // H), "BM": EXAMPLES}
    return sizes | {"DOT": SETTINGS.precision}


def _parts(heads: int, M: int) -> tuple[int, int]:
    """How many programs of `fused_folds` share a head's M examples, and how many each has."""
    most = triton.cdiv(M, EXAMPLES)
    each = triton.cdiv(most, min(most, max(1, SETTINGS.programs // heads)))
    return triton.cdiv(most, each), each * EXAMPLES


def _added(parts: torch.Tensor) -> torch.Tensor:
    """The sum of what several programs made; of one, without a copy."""
    return parts[0] if len(parts) == 1 else parts.sum(0)


def _sums() -> str:
    """The precision of products that add up examples of any size: float32's exponents."""
    return "ieee" if SETTINGS.precision == "ieee" else "tf32x3"


@triton.jit
def _kernel_rows(
    keys, step_at, out, M, t, p_rows, scale, H: tl.constexpr, D: tl.constexpr, BM: tl.constexpr
):
    """Factors 0 or ``scale`` for row t of every example: (E, M, D)."""
    e, i = tl.program_id(1).to(tl.int64), tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    r0, r1 = example_keys(tl.load(keys + e), tl.load(step_at).to(tl.int32), i, DROPOUT)
    rows = row_factors(r0, r1, d, t, p_rows, scale, H, D)
    tl.store(out + (e * M + i[:, None]) * D + d[None, :], rows, mask=(i < M)[:, None])


def factors(keys, step, M: int, D: int, H: int, t: int, p: float) -> torch.Tensor:
    """0 or 1/(1 − p) for every coordinate of row t of every example: (E, M, D)."""
    E = len(keys)
    out = torch.empty(E, M, D, device=keys.device)
    grid = (triton.cdiv(M, 32), E)
    _kernel_rows[grid](keys, step, out, M, t, *threshold(p), H=H, D=D, BM=32)
    return out
