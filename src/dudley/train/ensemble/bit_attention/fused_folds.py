"""Between a network's rows and attention's kernels: queries through the keys, averages through the
values, and their gradients. One program owns a head of a member and walks over its examples, or
over some of them where members and heads are too few to keep a GPU busy.

With q (M, k) the queries of a head, A (D, k) its part of the matrix of keys, B (D, k) that of
values and b (k,) what a unit of mass becomes,

    K = q Aᵀ,   heads = mixed B + mass b,
    ∂mixed = ∂heads Bᵀ,   ∂B = mixedᵀ ∂heads,   ∂b = massᵀ ∂heads,   ∂q = ∂K A,   ∂A = ∂Kᵀ q.

K, mixed and their gradients have H·D numbers for an example, sixteen times those of a row: they are
float16 in fast mode, and so are the operands of the products that make them; of ∂K only the parts
by block of tokens are stored. ∂A and ∂B add up examples of any size, with three products of TF32
for each, which are as exact as float32. ∂mixed is divided by a power of two for every example, its
size, which brings the largest |∂heads| into [1, 2); so are ∂mass = ⟨∂heads, b⟩ and

    δ = Σ_t a_t ∂a_t = ⟨∂mixed, mixed⟩ + ∂mass · mass = ⟨∂heads, heads⟩.
"""

from __future__ import annotations

import triton
import triton.language as tl

from dudley.train.ensemble.bit_attention.fused_kernels import narrow, powers, product


@triton.jit
def _in_matrix(e, h, j, D: tl.constexpr, SIZE: tl.constexpr):
    """Where the columns of a head stand in member e's matrix (D, D)."""
    return (e * D + tl.arange(0, D)[:, None]) * D + h * SIZE + j[None, :]


@triton.jit
def _of_head(e, h, i, j, M, D: tl.constexpr, SIZE: tl.constexpr):
    """Where the numbers of a head stand in the rows (M, D) of examples i."""
    return (e * M + i[:, None]) * D + h * SIZE + j[None, :]


@triton.jit
def _wide(e, h, i, M, H: tl.constexpr, D: tl.constexpr):
    """Where the D numbers of a head and examples i stand in K and its like, (H, M, D)."""
    return ((e * H + h) * M + i[:, None]) * D + tl.arange(0, D)[None, :]


@triton.jit
def _part_of(matrix, e, h, j, D: tl.constexpr, SIZE: tl.constexpr):
    """The columns of a head, and zeros after them: (D, columns)."""
    return tl.load(matrix + _in_matrix(e, h, j, D, SIZE), mask=(j < SIZE)[None, :], other=0.0)


@triton.jit
def kernel_fold(
    q, A, counts, K, M, R, H: tl.constexpr, D: tl.constexpr, SIZE: tl.constexpr,
    COLUMNS: tl.constexpr, BM: tl.constexpr, DOT: tl.constexpr,
):  # fmt: skip
    """K = q Aᵀ."""
    e, h = (tl.program_id(0) // H).to(tl.int64), tl.program_id(0) % H
    j = tl.arange(0, COLUMNS)
    across = narrow(tl.trans(_part_of(A, e, h, j, D, SIZE)), DOT)
    start = tl.program_id(1) * R
    for first in range(start, tl.minimum(start + R, tl.load(counts + e)), BM):
        i = first + tl.arange(0, BM)
        there = (i < M)[:, None]
        rows = tl.load(
            q + _of_head(e, h, i, j, M, D, SIZE),
            mask=there & (j < SIZE)[None, :], other=0.0,
        )  # fmt: skip
        out = product(narrow(rows, DOT), across, tl.zeros((BM, D), tl.float32), DOT)
        tl.store(K + _wide(e, h, i, M, H, D), out, mask=there)


@triton.jit
def kernel_heads(
    mixed, mass, B, b, counts, heads, M, R, H: tl.constexpr, D: tl.constexpr, SIZE: tl.constexpr,
    COLUMNS: tl.constexpr, BM: tl.constexpr, DOT: tl.constexpr,
):  # fmt: skip
    """heads = mixed B + mass b, zero for rows that are no examples."""
    e, h = (tl.program_id(0) // H).to(tl.int64), tl.program_id(0) % H
    j = tl.arange(0, COLUMNS)
    of_head = j < SIZE
    part = narrow(_part_of(B, e, h, j, D, SIZE), DOT)
    of_mass = tl.load(b + e * D + h * SIZE + j, mask=of_head, other=0.0)
    start = tl.program_id(1) * R
    for first in range(start, tl.minimum(start + R, M), BM):
        i = first + tl.arange(0, BM)
        there = i < tl.load(counts + e)
        at = _wide(e, h, i, M, H, D)
        rows = tl.load(mixed + at, mask=there[:, None], other=0.0)
        masses = tl.load(mass + (e * M + i) * H + h, mask=there, other=0.0)
        out = product(rows, part, masses[:, None] * of_mass[None, :], DOT)
        at = _of_head(e, h, i, j, M, D, SIZE)
        tl.store(heads + at, out, mask=(i < M)[:, None] & of_head[None, :])


@triton.jit
def kernel_sizes(
    heads, d_heads, b, sizes, delta, d_mass, M, H: tl.constexpr, D: tl.constexpr, BM: tl.constexpr
):  # fmt: skip
    """The size of every example, and δ and ∂mass over it."""
    e, i = tl.program_id(1).to(tl.int64), tl.program_id(0) * BM + tl.arange(0, BM)
    d, h, there = tl.arange(0, D), tl.arange(0, H), (i < M)[:, None]
    at = (e * M + i[:, None]) * D + d[None, :]
    x = tl.load(heads + at, mask=there, other=0.0)
    g = tl.load(d_heads + at, mask=there, other=0.0)
    size = powers(tl.max(tl.abs(g), 1))
    g = g / size[:, None]
    at = (e * M + i[:, None]) * H + h[None, :]
    tl.store(delta + at, tl.sum(tl.reshape(x * g, (BM, H, D // H)), 2), mask=there)
    masses = g * tl.load(b + e * D + d)[None, :]
    tl.store(d_mass + at, tl.sum(tl.reshape(masses, (BM, H, D // H)), 2), mask=there)
    tl.store(sizes + e * M + i, size, mask=i < M)


@triton.jit
def kernel_pull(
    mixed, mass, d_heads, B, counts, sizes, d_mixed, d_B, d_b, E, M, R,
    H: tl.constexpr, D: tl.constexpr,
    SIZE: tl.constexpr, COLUMNS: tl.constexpr, BM: tl.constexpr, DOT: tl.constexpr,
    SUM: tl.constexpr,
):  # fmt: skip
    """∂mixed over the size, ∂B and ∂b."""
    e, h = (tl.program_id(0) // H).to(tl.int64), tl.program_id(0) % H
    j = tl.arange(0, COLUMNS)
    of_head, m = (j < SIZE)[None, :], tl.load(counts + e)
    across = narrow(tl.trans(_part_of(B, e, h, j, D, SIZE)), DOT)
    pull_B = tl.zeros((D, COLUMNS), tl.float32)
    pull_b = tl.zeros((BM, COLUMNS), tl.float32)
    start = tl.program_id(1) * R
    for first in range(start, tl.minimum(start + R, m), BM):
        i = first + tl.arange(0, BM)
        there = i < m
        at = _of_head(e, h, i, j, M, D, SIZE)
        g = tl.load(d_heads + at, mask=there[:, None] & of_head, other=0.0)
        at = _wide(e, h, i, M, H, D)
        rows = tl.load(mixed + at, mask=there[:, None], other=0.0).to(tl.float32)
        masses = tl.load(mass + (e * M + i) * H + h, mask=there, other=0.0)
        pull_B = product(tl.trans(rows), g, pull_B, SUM)
        pull_b += masses[:, None] * g
        g = g / tl.load(sizes + e * M + i, mask=there, other=1.0)[:, None]
        out = product(narrow(g, DOT), across, tl.zeros((BM, D), tl.float32), DOT)
        tl.store(d_mixed + at, out, mask=there[:, None])
    e += tl.program_id(1) * E
    at = _in_matrix(e, h, j, D, SIZE)
    tl.store(d_B + at, pull_B, mask=of_head)
    tl.store(d_b + e * D + h * SIZE + j, tl.sum(pull_b, 0), mask=j < SIZE)


@triton.jit
def kernel_total(
    parts, q, A, counts, sizes, d_q, d_A, E, M, R, blocks, H: tl.constexpr, D: tl.constexpr,
    SIZE: tl.constexpr, COLUMNS: tl.constexpr, BM: tl.constexpr, DOT: tl.constexpr,
    SUM: tl.constexpr,
):  # fmt: skip
    """∂q and ∂A, from ∂K as a sum over blocks of tokens; zero for rows that are no examples."""
    e, h = (tl.program_id(0) // H).to(tl.int64), tl.program_id(0) % H
    j = tl.arange(0, COLUMNS)
    of_head, m = (j < SIZE)[None, :], tl.load(counts + e)
    part = narrow(_part_of(A, e, h, j, D, SIZE), DOT)
    pull_A = tl.zeros((D, COLUMNS), tl.float32)
    stride = tl.cast(E, tl.int64) * H * M * D
    start = tl.program_id(1) * R
    for first in range(start, tl.minimum(start + R, M), BM):
        i = first + tl.arange(0, BM)
        there = i < m
        at = _wide(e, h, i, M, H, D)
        total = tl.zeros((BM, D), tl.float32)
        for block in range(blocks):
            total += tl.load(parts + block * stride + at, mask=there[:, None], other=0.0)
        size = tl.load(sizes + e * M + i, mask=there, other=0.0)[:, None]
        at = _of_head(e, h, i, j, M, D, SIZE)
        rows = tl.load(q + at, mask=there[:, None] & of_head, other=0.0)
        pull_A = product(tl.trans(total), rows * size, pull_A, SUM)
        out = product(narrow(total, DOT), part, tl.zeros((BM, COLUMNS), tl.float32), DOT)
        tl.store(d_q + at, out * size, mask=(i < M)[:, None] & of_head)
    e += tl.program_id(1) * E
    at = _in_matrix(e, h, j, D, SIZE)
    tl.store(d_A + at, pull_A, mask=of_head)
