"""Pre-norm Transformers side by side: any depth, LayerNorm or RMSNorm, fused attention.

A weight stands before rows of its own member only, so a product with it is one batched product.
Attention of all members, examples and heads is one call of torch's fused operation, which keeps no
T×T weights on a GPU. The last block asks with [CLS] alone, unless ``every`` row has logits: what
follows its attention acts on single rows. Dropout's masks are functions of the trial's key, as in
`bit_attention.masks`: rows of the embedding have the numbers 0 … T − 1, those of branch b (two a
block) the numbers (b + 1)T … (b + 2)T − 1.

>>> from dudley.train.packed import pack
>>> from dudley.core.philox import key, keys_tensor
>>> networks = TransformerEnsemble(V=3, T=6, d=8, H=2, L=2, inputs="bits")
>>> weights = networks.start(keys_tensor([key("deep", trial) for trial in range(3)]))
>>> networks.forward(weights, pack(torch.ones(7, 5))).shape  # seven examples of five bits
torch.Size([3, 7, 2])
"""

from __future__ import annotations

from dataclasses import dataclass

from dudley.core.backend import torch
from dudley.core.errors import InputError, UnknownName
from dudley.models.bits import CLS
from dudley.models.transformer import Transformer
from dudley.train.ensemble.base import Ensemble, Noise, WeightTensors
from dudley.train.ensemble.bit_attention.anywhere import rows_factors
from dudley.train.ensemble.registry import ENSEMBLES, common_length
from dudley.train.ensemble.rows import at_a_time, of_members, through
from dudley.train.packed import unpack

F = torch.nn.functional
INPUTS = ("codes", "bits", "rows")


@dataclass(frozen=True)
class TransformerEnsemble(Ensemble):
    """Codes (E, N, T), packed bits (E, N, W) or rows (E, N, T, V), also shared ↦ (E, N, classes).

    Bits and rows are closed by [CLS], a token of its own or a row of zeros; T counts it. With
    ``every`` the logits of all rows, (E, N, T, classes).
    """

    V: int  # tokens, or the width of a row
    T: int  # tokens of a sequence, from the task unless it has none
    d: int = 32  # width
    H: int = 4  # attention heads
    L: int = 1  # blocks
    classes: int = 2  # logits
    norm: str = "layer"  # norm layers: layer or rms
    every: bool = False  # logits of every row, not of [CLS]?
    inputs: str = "codes"  # codes of tokens, bits, or rows of vectors
    first: str = "lecun"  # law of the first weights
    dropout: tuple[float, float] = (0.0, 0.0)  # of embedded rows, of residual branches

    def __post_init__(self):
        if self.inputs not in INPUTS:
            raise UnknownName("inputs of a transformer", self.inputs, INPUTS)
        if self.inputs == "bits" and self.V != CLS + 1:
            raise InputError("V of bits", f"{CLS + 1}: 0, 1 and [CLS]", self.V)
        if not (len(self.dropout) == 2 and all(0 <= p <= 1 - 2**-16 for p in self.dropout)):
            raise InputError("dropout", "two numbers in [0, 1 − 2⁻¹⁶]", self.dropout)
        if max(self.dropout) > 0 and self.d % 2:
            raise InputError("d with dropout", "an even number: masks come in pairs", self.d)
        self.twin()  # refuses what does not fit

    def twin(self, e=0) -> Transformer:
        return Transformer(
            self.V, self.T, self.d, self.H, self.L, self.classes, self.norm, self.every,
            self.first, self.dropout,
        )  # fmt: skip

    def forward(self, weights, inputs, noise=None):
        X = self._rows(weights, inputs)  # (E, N, T, V)
        Z = through(X, weights["weights.0.W_E"]) + weights["weights.1.P"][:, None]
        Z = self._dropped(Z, noise, range(self.T), self.dropout[0])
        for block in range(self.L):
            Z = self._block(weights, block, Z, noise)
        Z = self._normal(weights, f"weights.{self.L + 2}", Z)
        logits = through(Z, weights[f"weights.{self.L + 3}.W"])
        return logits if self.every else logits[:, :, 0]

    def evaluate(self, weights, inputs, alive=None):
        E = len(next(iter(weights.values())))
        X = of_members(inputs, 4 if self.inputs == "rows" else 3, E)
        few = at_a_time(E * self.T * (8 * self.d + self.H * self.T), X)
        return torch.cat([self.forward(weights, part) for part in X.split(few, 1)], 1)

    @property
    def work_of_token(self) -> float:
        """Of an MLP of four times the width beside attention: six times that of a token network."""
        return 6 * self.L * self.d

    def numbers_of_example(self, T: int) -> int:
        masks = 2 * self.d if max(self.dropout) > 0 else 0
        return self.T * (self.V + self.L * (20 * self.d + masks + self.H * self.T))

    def _rows(self, weights: WeightTensors, inputs) -> torch.Tensor:
        """One-hot rows, or the vectors themselves, [CLS] last, of every member."""
        W_E = weights["weights.0.W_E"]
        X = of_members(inputs, 4 if self.inputs == "rows" else 3, len(W_E))
        if self.inputs == "rows":
            X = F.pad(X.to(W_E.dtype), (0, 0, 0, 1))
        else:
            if self.inputs == "bits":
                X = F.pad(unpack(X, self.T - 1, torch.int64), (0, 1), value=CLS)
            X = F.one_hot(X, self.V).to(W_E.dtype)
        return X.expand(len(W_E), *X.shape[1:])

    def _block(self, weights, block: int, Z: torch.Tensor, noise: Noise | None) -> torch.Tensor:
        """One block on rows (E, N, T, d); the last gives the row of [CLS] alone."""
        name, T = f"weights.{block + 2}", self.T
        last = block == self.L - 1 and not self.every
        asking = range(T - 1, T) if last else range(T)
        numbers = [
            range((b + 1) * T + asking.start, (b + 2) * T) for b in (2 * block, 2 * block + 1)
        ]
        X = self._normal(weights, f"{name}.0.0", Z)
        Z = Z[:, :, asking.start :]
        mixed = self._attend(weights, f"{name}.0.1", X, X[:, :, asking.start :])
        Z = Z + self._dropped(mixed, noise, numbers[0], self.dropout[1])
        X = self._normal(weights, f"{name}.1.0", Z)
        hidden = F.gelu(through(X, weights[f"{name}.1.1.W_1"]))
        added = through(hidden, weights[f"{name}.1.2.W_2"])
        return Z + self._dropped(added, noise, numbers[1], self.dropout[1])

    def _attend(self, weights, name: str, X: torch.Tensor, asking: torch.Tensor) -> torch.Tensor:
        """Concatenated heads times W_c, for the asking rows."""
        q = self._heads(through(asking, weights[f"{name}.W_Q"]))
        k, v = (self._heads(through(X, weights[f"{name}.{W}"])) for W in ("W_K", "W_v"))
        mixed = F.scaled_dot_product_attention(q, k, v)  # (E·N, H, T or 1, d/H)
        joined = mixed.transpose(1, 2).flatten(2).unflatten(0, X.shape[:2])
        return through(joined, weights[f"{name}.W_c"])

    def _heads(self, Y: torch.Tensor) -> torch.Tensor:
        """(E, N, rows, d) as (E·N, H, rows, d/H)."""
        return Y.flatten(0, 1).unflatten(2, (self.H, -1)).transpose(1, 2)

    def _normal(self, weights, name: str, Z: torch.Tensor) -> torch.Tensor:
        """The norm layer of that name."""
        gain = weights[f"{name}.gain"].mT[:, None]  # (E, 1, 1, d)
        if self.norm == "rms":
            return F.rms_norm(Z, Z.shape[-1:], eps=1e-5) * gain
        return F.layer_norm(Z, Z.shape[-1:], eps=1e-5) * gain + weights[f"{name}.bias"][:, None]

    def _dropped(self, Z: torch.Tensor, noise: Noise | None, numbers: range, p: float):
        """Rows with these numbers, thinned out."""
        if noise is None or p == 0:
            return Z
        return Z * rows_factors(noise, Z.shape[1], numbers, self.d, 0, p)


@ENSEMBLES.register("transformer")
def build(keys, tasks, T=None, inputs="codes", dropout=(0.0, 0.0), **sizes) -> TransformerEnsemble:
    length = common_length(tasks) if T is None else T
    closing = inputs in ("bits", "rows")
    return TransformerEnsemble(T=length + closing, inputs=inputs, dropout=tuple(dropout), **sizes)
