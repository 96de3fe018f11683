"""[X, 1 − X] · table for packed bits, a few columns at a time, forward and backward.

    out_{e,n} = Σ_t x_{n,t} A_{e,t} + (1 − x_{n,t}) B_{e,t}

Only the words are kept for the gradient: where T is large the unpacked matrix, 64 times as large,
would not fit. Sums over columns are made block by block, in the order of t.

>>> from dudley.train.packed import pack
>>> bits = torch.tensor([[1, 0, 1]])
>>> table = torch.arange(6.0).reshape(1, 6, 1)  # A = 0, 1, 2; B = 3, 4, 5
>>> packed_product(pack(bits)[None], table, 3)  # 0 + 4 + 2
tensor([[[6.]]])
"""

from __future__ import annotations

from typing import Any

from dudley.core.backend import torch
from dudley.train.ensemble.rows import at_a_time
from dudley.train.packed import unpack

LARGE = 1 << 27  # numbers of [X, 1 − X] from which it is not made whole


def packed_product(words: torch.Tensor, table: torch.Tensor, T: int) -> torch.Tensor:
    """(E, N, F) from words (E, N, W) or (1, N, W) and a table (E, 2T, F): ones, then zeros."""
    return _Product.apply(words, table, T)  # pyright: ignore[reportReturnType]


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, words: torch.Tensor, table: torch.Tensor, T: int) -> torch.Tensor:
        ctx.save_for_backward(words)
        ctx.T, ctx.members = T, len(table)
        out = table.new_zeros(len(table), words.shape[1], table.shape[2])
        for first, X in _blocks(words, T, table.dtype):
            last = first + X.shape[2]
            out += X @ table[:, first:last]
            out += (1 - X) @ table[:, T + first : T + last]
        return out

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor):
        (grad,), (words,) = grads, ctx.saved_tensors
        d_table = grad.new_empty(ctx.members, 2 * ctx.T, grad.shape[2])
        for first, X in _blocks(words, ctx.T, grad.dtype):
            last = first + X.shape[2]
            d_table[:, first:last] = X.mT @ grad
            d_table[:, ctx.T + first : ctx.T + last] = (1 - X).mT @ grad
        return None, d_table, None


def _blocks(words: torch.Tensor, T: int, dtype: torch.dtype):
    """The bits of some columns at a time, with the number of the first column."""
    E, N, W = words.shape
    few = max(1, at_a_time(32 * E * N, words))  # words of a row
    for w in range(0, W, few):
        part = words[..., w : w + few].contiguous()
        yield 32 * w, unpack(part, min(T - 32 * w, 32 * part.shape[-1]), dtype)
