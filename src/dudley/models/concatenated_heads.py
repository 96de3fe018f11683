"""Multi-head attention as libraries have it: heads side by side and one output matrix.

    f(X) = w · y_cls,   Y = [A_1 V_1 | … | A_H V_H] W_c + b_c,   A_h = softmax(Q_h K_hᵀ/√k)

with Q = X W_Q + b_Q and so on (Vaswani et al. 2017; `torch.nn.MultiheadAttention` with weights
transposed). Initial weights are N(0, 1/rows), biases 0.

>>> from dudley.models import ConcatenatedHeads
>>> ConcatenatedHeads(d=6, H=3).weights[0].W_Q.shape
torch.Size([6, 6])
"""

from __future__ import annotations

from dudley.core.backend import torch
from dudley.core.constraint import FREE
from dudley.models.base import Model
from dudley.models.initial import ConstantLaw, Law, is_bias, lecun
from dudley.networks.multihead import MultiHeadAttention
from dudley.networks.normalisers import Normaliser
from dudley.networks.outputs import Readout


class ConcatenatedHeads(Model):
    """X ↦ w · y_cls for H heads of width k (d/H unless given), with or without biases."""

    def __init__(
        self,
        d: int,
        H: int,
        k: int | None = None,
        biases: bool = True,
        attention: str | Normaliser = "softmax",
        seed: int | torch.Generator = 0,
    ):
        mixing = attention_node(d, H, k, biases, attention)
        super().__init__(mixing >> Readout(FREE), d, seed)

    def law(self, name: str, shape: tuple[int, int]) -> Law:
        return ConstantLaw(0.0) if is_bias(name) else lecun(shape)


def attention_node(
    d: int,
    H: int,
    k: int | None = None,
    biases: bool = True,
    attention: str | Normaliser = "softmax",
) -> MultiHeadAttention:
    """Concatenated heads, their weights free."""
    W, b = (FREE,) * 4, ((FREE if biases else None),) * 4
    return MultiHeadAttention(d, H, *W, *b, k=k, attention=attention)
