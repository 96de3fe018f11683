"""The classifier of the sparse AND and parity experiments (edelman2021, section 5, appendix C.1).

A one-layer Transformer in the manner of minGPT: bits and a [CLS] token, last, as one of three
trained token embeddings; trained positions; a pre-LayerNorm block with GELU MLP of width 4d; a
final LayerNorm; two logits from the [CLS] row, without bias.

    Z⁰ = W_E[tokens] + P,   Z' = Z⁰ + Attention(LN(Z⁰)),   Z = Z' + MLP(LN(Z')),   LN(z_cls) W

Matrices, embeddings and positions are drawn from N(0, .02²), biases 0, gains 1; ``places`` is
another law of the first positions, such as sinusoids (`models.initial`). In training mode
dropout (.1, or three rates) acts on embeddings, attention weights and both residual branches. No
causal mask: with [CLS] last and one layer it changes nothing.

>>> from dudley.models import AndClassifier
>>> from dudley.core.backend import torch
>>> model = AndClassifier(T=5, d=8, H=2).eval()
>>> model(model.tokens(torch.tensor([[1, 0, 1, 1, 0]]))).shape  # one row of two logits
torch.Size([1, 1, 2])
"""

from __future__ import annotations

from dudley.calculus.compose import Chain
from dudley.core.backend import torch
from dudley.core.constraint import FREE, size_of
from dudley.models.base import Model
from dudley.models.bits import token_codes
from dudley.models.dropout import with_dropout
from dudley.models.initial import LAWS, ConstantLaw, Law, Normal, is_bias
from dudley.networks.blocks import pre_ln_block
from dudley.networks.embeddings import Embedding, OneHot, Positions, Tokens
from dudley.networks.outputs import Logits
from dudley.networks.pointwise import MLP, LayerNorm

UNDECAYED = ("W_E", "P", "gain")  # and biases: minGPT decays the matrices of linear maps only


class AndClassifier(Model):
    """Bits (N, T) as one-hot rows ``tokens(bits)`` (N, T+1, 3) ↦ logits (N, 1, 2)."""

    def __init__(
        self,
        T: int,
        d: int = 64,
        H: int = 16,
        L: int = 1,
        classes: int = 2,
        dropout: float | tuple[float, float, float] = 0.1,
        seed: int | torch.Generator = 0,
        places: str = "small",
    ):
        self.T, self.places = size_of("T", T), LAWS[places]
        three = dropout if isinstance(dropout, tuple) else (dropout,) * 3
        ln = LayerNorm(d, 1e-5, FREE, FREE)
        mlp = MLP(d, 4 * d, FREE, FREE, "gelu", FREE, FREE)
        four = dict.fromkeys(("b_Q", "b_K", "b_v", "b_c"), FREE)
        block = pre_ln_block(mlp, ln, d=d, H=H, W_Q=FREE, W_K=FREE, W_v=FREE, W_c=FREE, **four)
        entrance = (Embedding(3, d, FREE), Positions(d, T + 1, FREE, trained=True))
        node = Chain((*entrance, *(block,) * size_of("L", L), ln, Logits(classes, FREE)))
        super().__init__(node, 3, seed, with_dropout(node, *three))

    def law(self, name: str, shape: tuple[int, int]) -> Law:
        if is_bias(name) or name == "gain":
            return ConstantLaw(float(name == "gain"))
        return self.places(shape) if name == "P" else Normal(0.02)

    @property
    def inputs(self) -> Tokens:
        """What every input is: T + 1 one-hot rows."""
        return OneHot(3, self.T + 1)

    def tokens(self, bits: torch.Tensor) -> torch.Tensor:
        """Bits (…, T) as one-hot rows (…, T+1, 3), [CLS] last."""
        codes = token_codes(bits, self.T)
        return torch.nn.functional.one_hot(codes, 3).to(next(self.parameters()).dtype)

    def decayed(self) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """Weights with and without weight decay: matrices of linear maps, and all others."""
        return by_decay(self)


def by_decay(model: Model) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """The weights of a model that decay and those that do not, as minGPT parts them."""
    groups: tuple[list, list] = [], []
    for path, W in model.named_weights():
        name = str(path[-1])
        groups[name in UNDECAYED or is_bias(name)].append(W)
    return groups
