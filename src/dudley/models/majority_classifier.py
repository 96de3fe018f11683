"""The classifier of the sparse majority experiment (trauger2024, section 6, the authors' script).

    X ↦ logits of the [CLS] row of  (relu(Attention(X)) W_1 + b_1) W + b

Attention has two heads of width 64 (not d/H), scale 1/√64, biases, and an output matrix. Tokens for
0, 1 and [CLS] are random mutually orthogonal vectors of ℓ1 norm 1 in R^64, to which sinusoidal
positions are added; [CLS] comes last. They are fixed before the data, so their radius is declared.
With ``unit`` "l2" they have Euclidean norm 1, six times as much: another reading of "orthogonal".

Initial weights are Keras' defaults: uniform on ±√(6/(fan_in + fan_out)), biases 0; for the
projections, kernels with axes (d, heads, width), Keras counts fans d·heads and d·width.

>>> import dudley as du
>>> from dudley.models import MajorityClassifier
>>> model = MajorityClassifier(T=20, d=8, k=8)
>>> net = model.description(model.inputs)
>>> loss = du.CrossEntropy(clip=2.0)
>>> du.capacity(net, model.inputs, n=300, loss=loss).gap(0.05, union=du.Grid()).vacuous
True
"""

from __future__ import annotations

from dudley.core.backend import torch
from dudley.core.constraint import FREE, size_of
from dudley.core.errors import InputError
from dudley.core.rounding import up
from dudley.models.base import Model
from dudley.models.bits import token_codes
from dudley.models.concatenated_heads import attention_node
from dudley.models.initial import ConstantLaw, Law, generator, glorot, is_bias, sinusoidal
from dudley.networks.embeddings import Tokens
from dudley.networks.outputs import Logits
from dudley.networks.pointwise import Activate, Dense

UNITS = ("l1", "l2")


class MajorityClassifier(Model):
    """Bits (N, T) as rows ``tokens(bits)`` (N, T+1, d) ↦ logits (N, 1, 2)."""

    table: torch.Tensor
    positions: torch.Tensor

    def __init__(
        self,
        T: int,
        d: int = 64,
        H: int = 2,
        k: int = 64,
        width: int = 64,
        classes: int = 2,
        seed: int | torch.Generator = 0,
        unit: str = "l1",
    ):
        self.T, self.H, self.k = size_of("T", T), size_of("H", H), size_of("k", k)
        mixing = attention_node(d, H, k)
        dense = Dense(d, FREE, width, FREE, names=("W_1", "b_1"))
        source = generator(seed)
        drawn = torch.randn(d, 3, generator=source, dtype=torch.float64)
        tokens = orthogonal_tokens(drawn, unit)
        super().__init__(
            mixing >> Activate("relu") >> dense >> Logits(classes, FREE, b=FREE), d, source
        )
        self.register_buffer("table", tokens)
        self.register_buffer("positions", sinusoidal(T + 1, d))

    def law(self, name: str, shape: tuple[int, int]) -> Law:
        if is_bias(name):
            return ConstantLaw(0.0)
        d, H, k = self.width, self.H, self.k
        fans = {"W_c": (H * k, H * d)} | dict.fromkeys(("W_Q", "W_K", "W_v"), (d * H, d * k))
        return glorot(shape, fans.get(name))

    def tokens(self, bits: torch.Tensor) -> torch.Tensor:
        """Bits (…, T) as rows (…, T+1, d): fixed token vectors plus positions, [CLS] last."""
        return self.table[token_codes(bits, self.T)] + self.positions

    @property
    def inputs(self) -> Tokens:
        """The largest norms that any row of ``tokens`` can have."""
        kinds = [self.table[:2, None, :] + self.positions[:-1], self.table[2] + self.positions[-1:]]
        rows = torch.cat([kind.reshape(-1, self.width) for kind in kinds]).double()
        slack = 4 + self.width  # a sum of that many rounded terms
        largest = {p: float(up(float(rows.norm(p, -1).max()), slack)) for p in (1, 2)}
        return Tokens(largest[2], self.T + 1, self.width, row1inf=largest[1])


def orthogonal_tokens(Z: torch.Tensor, unit: str = "l1") -> torch.Tensor:
    """Mutually orthogonal rows (…, count, d) of norm 1, ℓ1 or ℓ2, from normal columns."""
    if unit not in UNITS:
        raise InputError("unit of tokens", " or ".join(UNITS), unit)
    d, count = Z.shape[-2:]
    if count > d:
        raise InputError("d", f"at least {count}, one for each token", d)
    rows = torch.linalg.qr(Z).Q.mT
    sizes = rows.abs().sum(-1, keepdim=True) if unit == "l1" else rows.norm(dim=-1, keepdim=True)
    return (rows / sizes).float()
