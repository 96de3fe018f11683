"""One attention head with a scalar output.

    f(X) = w · y_cls,   Y = σ(softmax(X W_QK Xᵀ) X W_v) W_c

(edelman2021, definition 3.2; trauger2024, definition 2.6; li2026, eq. (2)). The papers name no
initial weights; here they are N(0, 1/rows).

>>> import dudley as du
>>> from dudley.models import SingleHead
>>> model, tokens = SingleHead(d=4, k=2), du.Tokens(row2inf=1.0, T=8)
>>> cap = du.capacity(model.description(tokens), tokens, n=1_000)
>>> cap.gap(delta=0.05, union=du.Grid()).quantity
'risk − training loss'
"""

from __future__ import annotations

from dudley.core.backend import torch
from dudley.core.constraint import FREE
from dudley.models.base import Model
from dudley.models.initial import Law, lecun
from dudley.networks.activations import Activation
from dudley.networks.head import Head
from dudley.networks.normalisers import Normaliser
from dudley.networks.outputs import Readout


class SingleHead(Model):
    """X ↦ w · σ(A(x_cls W_QK Xᵀ · scale) X W_v) W_c, [CLS] the last row.

    With ``apart``, W_Q and W_K are weights of their own and W_QK = W_Q W_Kᵀ.
    """

    def __init__(
        self,
        d: int,
        k: int | None = None,
        sigma: str | Activation = "relu",
        attention: str | Normaliser = "softmax",
        apart: bool = False,
        scale: float = 1.0,
        seed: int | torch.Generator = 0,
    ):
        head = head_node(d, k, sigma, attention, apart, scale)
        super().__init__(head >> Readout(FREE), d, seed)

    def law(self, name: str, shape: tuple[int, int]) -> Law:
        return lecun(shape)


def head_node(
    d: int,
    k: int | None = None,
    sigma: str | Activation = "relu",
    attention: str | Normaliser = "softmax",
    apart: bool = False,
    scale: float = 1.0,
) -> Head:
    """The head that asks with the [CLS] row, its weights free."""
    joint, alone = (None, FREE) if apart else (FREE, None)
    return Head(
        d,
        W_v=FREE,
        W_QK=joint,
        W_Q=alone,
        W_K=alone,
        W_c=FREE,
        k=k,
        sigma=sigma,
        attention=attention,
        query="cls",
        scale=scale,
    )
