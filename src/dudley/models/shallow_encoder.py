"""The shallow encoder of mwigo2026, section 3.1.2: attention, ReLU, mean pooling, a number.

    f(X) = (1/T) Σ_i w_O · relu(W_Vᵀ Xᵀ softmax(X W_K W_Qᵀ x_i / √d_m))

Initial weights are LeCun's: N(0, 1/d) for W_Q, W_K, W_V ∈ R^{d×d_m} and N(0, 1/d_m) for w_O. The
paper bounds networks near these: ``description(inputs, start=model.state_dict())``, taken before
training, reads off distances from them.

>>> import dudley as du
>>> from dudley.models import ShallowEncoder
>>> model, tokens = ShallowEncoder(d=4, d_m=8), du.Tokens(row2inf=1.0, T=3)
>>> first = {name: W.clone() for name, W in model.state_dict().items()}
>>> near = model.description(tokens, norms=("fro",), start=first)
>>> print(near.nodes[0].W_v)  # doctest: +ELLIPSIS
fro ≤ ... & fro ≤ 0 around a centre
"""

from __future__ import annotations

from dudley.core.backend import torch
from dudley.core.constraint import FREE, size_of
from dudley.models.base import Model
from dudley.models.initial import Law, lecun
from dudley.networks.blocks import shallow_encoder


class ShallowEncoder(Model):
    """X ↦ mean_i w · relu(softmax(x_i W_Q W_Kᵀ Xᵀ/√d_m) X W_v)."""

    def __init__(self, d: int, d_m: int, seed: int | torch.Generator = 0):
        node = shallow_encoder(d, size_of("d_m", d_m), FREE, FREE, FREE, FREE)
        super().__init__(node, d, seed)

    def law(self, name: str, shape: tuple[int, int]) -> Law:
        return lecun(shape)
