"""H heads with weights of their own, outputs added, and a scalar output.

    f(X) = w · Σ_h y_cls^h,   Y^h = σ(softmax(X W_QK^h Xᵀ) X W_v^h) W_c^h

(edelman2021, Lemma A.12; trauger2024, section 4.2; li2026, eq. (3)). The papers name no initial
weights; here they are N(0, 1/rows).

>>> from dudley.models import MultiHead
>>> [name for name, _ in MultiHead(d=4, k=2, H=2).named_parameters()][:3]
['weights.0.0.W_v', 'weights.0.0.W_QK', 'weights.0.0.W_c']
"""

from __future__ import annotations

from dudley.calculus.compose import Chain, Parallel
from dudley.core.backend import torch
from dudley.core.constraint import FREE, size_of
from dudley.models.base import Model
from dudley.models.initial import Law, lecun
from dudley.models.single_head import head_node
from dudley.networks.activations import Activation
from dudley.networks.normalisers import Normaliser
from dudley.networks.outputs import Readout


class MultiHead(Model):
    """X ↦ w · Σ_h σ(A(x_cls W_QK^h Xᵀ · scale) X W_v^h) W_c^h, [CLS] the last row."""

    def __init__(
        self,
        d: int,
        k: int | None = None,
        H: int = 2,
        sigma: str | Activation = "relu",
        attention: str | Normaliser = "softmax",
        apart: bool = False,
        scale: float = 1.0,
        seed: int | torch.Generator = 0,
    ):
        heads = (head_node(d, k, sigma, attention, apart, scale),) * size_of("H", H)
        super().__init__(Chain((Parallel(heads), Readout(FREE))), d, seed)

    def law(self, name: str, shape: tuple[int, int]) -> Law:
        return lecun(shape)
