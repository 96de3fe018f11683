"""Attention blocks over fixed unit rows: a classifier of sequences, or of every token in them.

Token c at place t is the row x_t = (e_c ⊕ e_t)/√2 ∈ R^{V+T}: one-hot, of ℓ2 norm 1 and ℓ1 norm √2
whatever the input, so that a radius is declared and not measured. L blocks follow, and logits of
the last row ([CLS]), or with ``every`` of all rows (masked tokens).

| block | one of them | weights |
|---|---|---|
| head | Z ↦ σ(A(Z W_QK Zᵀ) Z W_v) W_c (trauger2024, definition 2.6) | W_QK, W_v, W_c |
| trauger, li | the papers' blocks with Π_norm (`networks.blocks`) | W_QK, W_v, W_c |
| apart | Z ↦ σ(A(Z W_Q W_Kᵀ Zᵀ/√k) Z W_v W_c); linear attention too | W_Q, W_K, W_v, W_c |

Initial weights are N(0, 1/rows), or by another law of `models.initial` (``first``).

>>> from dudley.models.token_network import TokenNetwork
>>> from dudley.core.backend import torch
>>> model = TokenNetwork(V=3, T=5, block="trauger", L=2)
>>> X = model.tokens(torch.tensor([[1, 0, 1, 1, 2]]))
>>> X.norm(dim=-1)
tensor([[1.0000, 1.0000, 1.0000, 1.0000, 1.0000]])
>>> model(X).shape
torch.Size([1, 1, 2])
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from dudley.calculus.compose import Chain, Node
from dudley.core.backend import torch
from dudley.core.constraint import FREE, size_of
from dudley.core.errors import InputError
from dudley.core.registry import Registry
from dudley.core.rounding import up
from dudley.models.base import Model
from dudley.models.initial import LAWS, Law
from dudley.models.rewrite import rewritten
from dudley.networks.blocks import li_block, trauger_block
from dudley.networks.embeddings import Tokens
from dudley.networks.head import Head
from dudley.networks.multihead import MultiHeadAttention
from dudley.networks.normalisers import NormalisedLinear, normaliser
from dudley.networks.outputs import Logits
from dudley.networks.pointwise import Activate

BLOCKS: Registry[Callable[..., Node]] = Registry("block")


@BLOCKS.register("head")
def _head(d: int, k: int, sigma: str, attention: str) -> Node:
    return Head(d, W_v=FREE, W_QK=FREE, W_c=FREE, k=k, sigma=sigma, attention=attention)


@BLOCKS.register("trauger")
def _trauger(d: int, k: int, sigma: str, attention: str) -> Node:
    return trauger_block(d, FREE, FREE, FREE, k, sigma, attention)


@BLOCKS.register("li")
def _li(d: int, k: int, sigma: str, attention: str) -> Node:
    return li_block(d, FREE, FREE, FREE, k, sigma, attention)


@BLOCKS.register("apart")
def _apart(d: int, k: int, sigma: str, attention: str) -> Node:
    four = dict.fromkeys(("W_Q", "W_K", "W_v", "W_c"), FREE)
    scale = 1 / math.sqrt(k)
    if isinstance(normaliser(attention), NormalisedLinear):
        mixing = MultiHeadAttention(d, 1, k=k, attention=attention, scale=scale, **four)
    else:
        mixing = Head(d, k=k, sigma="identity", attention=attention, scale=scale, **four)
    return Chain((mixing, Activate(sigma)))


class TokenNetwork(Model):
    """Rows ``tokens(codes)`` (N, T, V+T) of T codes below V ↦ logits (N, 1 or T, classes)."""

    def __init__(
        self,
        V: int,
        T: int,
        L: int = 1,
        k: int = 16,
        block: str = "head",
        sigma: str = "relu",
        attention: str = "softmax",
        classes: int = 2,
        every: bool = False,
        first: str = "lecun",
        seed: int | torch.Generator = 0,
    ):
        self.V, self.T, self.every = size_of("V", V), size_of("T", T), every
        self.first = LAWS[first]
        d = V + T
        layer = BLOCKS[block](d, size_of("k", k), sigma, attention)
        blocks = [layer] * size_of("L", L)
        if not every:
            blocks[-1] = asking_last(layer)
        super().__init__(Chain((*blocks, Logits(classes, FREE, rows=T if every else 0))), d, seed)

    def law(self, name: str, shape: tuple[int, int]) -> Law:
        return self.first(shape)

    @property
    def inputs(self) -> Tokens:
        """What every input is."""
        return Tokens(1.0, self.T, self.width, row1inf=float(up(math.sqrt(2))))

    def tokens(self, codes: torch.Tensor) -> torch.Tensor:
        """Codes (…, T) as rows (…, T, V+T), of the weights' type."""
        if codes.shape[-1] != self.T:
            raise InputError("codes", f"{self.T} a row", f"shape {tuple(codes.shape)}")
        return unit_rows(codes, self.V, next(self.parameters()).dtype)


def unit_rows(codes: torch.Tensor, V: int, dtype: torch.dtype) -> torch.Tensor:
    """(e_code ⊕ e_place)/√2 for codes (…, T)."""
    T, size = codes.shape[-1], 1 / math.sqrt(2)
    rows = torch.zeros(*codes.shape, V + T, dtype=dtype, device=codes.device)
    rows[..., V:] = size * torch.eye(T, dtype=dtype, device=codes.device)
    return rows.scatter_(-1, codes[..., None].long(), size)


def asking_last(block: Node) -> Node:
    """The block whose head asks with its last row alone: nothing else of it is read."""

    def change(path, part: Node) -> Node:
        return replace(part, query="cls") if isinstance(part, Head) else part

    return rewritten(block, change)
