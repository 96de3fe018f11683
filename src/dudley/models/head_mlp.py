"""Heads followed by a ReLU network: tf+MLP, the model of the sparse-variable constructions.

    f(X) = (( Y W_1 + b_1)₊ W_2 + b_2)₊ w,   Y = Σ_h softmax(x_cls W_Q^h W_K^hᵀ Xᵀ) X W_v^h W_c^h

(edelman2021, section 4.3 and appendix B: σ is the identity inside the heads). It holds the weights
of ``dudley.theorems.constructions``. The paper constructs the weights; where they are drawn, they
are N(0, 1/rows) with biases 0.

>>> from dudley.models import HeadMLP
>>> HeadMLP(d=4, widths=(8, 6)).weights[1].W_1.shape
torch.Size([4, 8])
"""

from __future__ import annotations

from dudley.calculus.compose import Chain, Parallel
from dudley.core.backend import torch
from dudley.core.constraint import FREE, size_of
from dudley.models.base import Model
from dudley.models.initial import ConstantLaw, Law, is_bias, lecun
from dudley.models.single_head import head_node
from dudley.networks.outputs import Readout
from dudley.networks.pointwise import Dense


class HeadMLP(Model):
    """H heads asked by the [CLS] row, two ReLU layers of the given widths, and a number."""

    def __init__(
        self,
        d: int,
        widths: tuple[int, int],
        k: int | None = None,
        H: int = 1,
        sigma: str = "identity",
        seed: int | torch.Generator = 0,
    ):
        heads = Parallel((head_node(d, k, sigma, apart=True),) * size_of("H", H))
        first = Dense(d, FREE, widths[0], FREE, "relu", ("W_1", "b_1"))
        second = Dense(widths[0], FREE, widths[1], FREE, "relu", ("W_2", "b_2"))
        super().__init__(Chain((heads, first, second, Readout(FREE))), d, seed)

    def law(self, name: str, shape: tuple[int, int]) -> Law:
        return ConstantLaw(0.0) if is_bias(name) else lecun(shape)
