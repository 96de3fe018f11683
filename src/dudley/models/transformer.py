"""Pre-norm Transformers of any depth: attention and an MLP in residual branches, as in practice.

    Z⁰ = X W_E + P,   Z' = Z + Attention(N(Z)),   Z ← Z' + MLP(N(Z'))   L times,   N(Z) W

N is LayerNorm with gain and bias, or RMSNorm with a gain; the MLP is GELU of width 4d; other maps
have no bias. Rows of X are one-hot tokens or vectors of width V, and the logits are those of the
last row, [CLS], or with ``every`` of all rows. Gains are 1 at first, biases 0, and the matrices
follow a law of `models.initial`. In training mode dropout acts on the embedded rows and on both
branches; attention weights have none, so that attention stays one fused operation.

>>> from dudley.models.transformer import Transformer
>>> from dudley.core.backend import torch
>>> model = Transformer(V=3, T=6, d=8, H=2, L=2, norm="rms").eval()
>>> model(torch.eye(3)[torch.tensor([[1, 0, 1, 1, 0, 2]])]).shape
torch.Size([1, 1, 2])
"""

from __future__ import annotations

from collections.abc import Callable

from dudley.calculus.compose import Chain
from dudley.core.backend import torch
from dudley.core.constraint import FREE, size_of
from dudley.core.errors import UnknownName
from dudley.models.and_classifier import by_decay
from dudley.models.base import Model
from dudley.models.dropout import with_dropout
from dudley.models.initial import LAWS, ConstantLaw, Law, is_bias
from dudley.networks.blocks import pre_ln_block
from dudley.networks.embeddings import Embedding, Positions
from dudley.networks.outputs import Logits
from dudley.networks.pointwise import MLP, LayerNorm, RMSNorm

NORM_LAYERS: dict[str, Callable[[int], LayerNorm]] = {
    "layer": lambda d: LayerNorm(d, 1e-5, FREE, FREE),
    "rms": lambda d: RMSNorm(d, 1e-5, FREE),
}


class Transformer(Model):
    """Rows (N, T, V) ↦ logits (N, 1 or T, classes)."""

    def __init__(
        self,
        V: int,
        T: int,
        d: int = 32,
        H: int = 4,
        L: int = 1,
        classes: int = 2,
        norm: str = "layer",
        every: bool = False,
        first: str = "lecun",
        dropout: tuple[float, float] = (0.0, 0.0),
        seed: int | torch.Generator = 0,
    ):
        if norm not in NORM_LAYERS:
            raise UnknownName("norm layer of a transformer", norm, NORM_LAYERS)
        self.T, self.first = size_of("T", T), LAWS[first]
        layer = NORM_LAYERS[norm](d)
        mlp = MLP(d, 4 * d, FREE, FREE, "gelu")
        block = pre_ln_block(mlp, layer, d=d, H=H, W_Q=FREE, W_K=FREE, W_v=FREE, W_c=FREE)
        entrance = (Embedding(V, d, FREE), Positions(d, T, FREE, trained=True))
        exit_ = (layer, Logits(classes, FREE, rows=T if every else 0))
        node = Chain((*entrance, *(block,) * size_of("L", L), *exit_))
        super().__init__(node, V, seed, with_dropout(node, dropout[0], 0.0, dropout[1]))

    def law(self, name: str, shape: tuple[int, int]) -> Law:
        if is_bias(name) or name == "gain":
            return ConstantLaw(float(name == "gain"))
        return self.first(shape)

    def decayed(self) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """Weights with and without weight decay: matrices of linear maps, and all others."""
        return by_decay(self)
