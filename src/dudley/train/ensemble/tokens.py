"""Token networks side by side: the twin's own node, mapped over the members' axis.

Nothing is written twice but softmax, which is one operation here and has a gradient of one more: a
member computes ``node.apply`` of its twin, and `torch.func.vmap` makes one batched product of the
members' products. Inputs are packed bits, closed by [CLS], or codes of
tokens; labels of masked tokens want the logits of every row.

>>> from dudley.train.packed import pack
>>> from dudley.core.philox import key, keys_tensor
>>> networks = TokensEnsemble(V=3, T=6, L=2, k=4, block="trauger", bits=True)
>>> weights = networks.start(keys_tensor([key("tokens", trial) for trial in range(3)]))
>>> networks.forward(weights, pack(torch.ones(7, 5))).shape  # seven examples of five bits
torch.Size([3, 7, 2])
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from dudley.calculus.nest import filled
from dudley.core.backend import torch
from dudley.core.errors import InputError
from dudley.models.bits import CLS
from dudley.models.rewrite import rewritten
from dudley.models.token_network import TokenNetwork, unit_rows
from dudley.networks.head import Head
from dudley.networks.normalisers import Softmax
from dudley.train.ensemble.base import Ensemble, WeightTensors
from dudley.train.ensemble.registry import ENSEMBLES, common_length
from dudley.train.ensemble.rows import at_a_time, of_members
from dudley.train.packed import unpack


@dataclass(frozen=True)
class SoftmaxInOne(Softmax):
    """Final: the same weights up to rounding, in a quarter of the passes over the scores."""

    def apply(self, scores, allowed=None):
        if allowed is not None:
            scores = scores.masked_fill(~allowed, -torch.inf)
        return torch.softmax(scores, -1)


@dataclass(frozen=True)
class TokensEnsemble(Ensemble):
    """Codes (E, N, T) or packed bits (E, N, W), also shared ↦ (E, N, classes).

    With ``every`` the logits of all rows, (E, N, T, classes). T counts [CLS] where inputs are bits.
    """

    V: int  # tokens
    T: int  # tokens of a sequence, from the task
    L: int = 1  # blocks
    k: int = 16  # width
    block: str = "head"  # head, or whose block: trauger, …
    sigma: str = "relu"  # activation
    attention: str = "softmax"  # normaliser of the scores
    classes: int = 2  # logits
    every: bool = False  # logits of every row, not of one?
    bits: bool = False  # are inputs bits?
    first: str = "lecun"  # law of the first weights

    def __post_init__(self):
        if self.bits and self.V != CLS + 1:
            raise InputError("V of bits", f"{CLS + 1}: 0, 1 and [CLS]", self.V)
        self.node  # noqa: B018  (refuses what does not fit)

    def twin(self, e=0) -> TokenNetwork:
        return TokenNetwork(
            self.V, self.T, self.L, self.k, self.block, self.sigma, self.attention,
            self.classes, self.every, self.first,
        )  # fmt: skip

    @cached_property
    def node(self):
        def change(path, part):
            softmax = isinstance(part, Head) and part.attention == "softmax"
            return replace(part, attention=SoftmaxInOne()) if softmax else part

        return rewritten(self.twin().node, change)

    def forward(self, weights, inputs, noise=None):
        E = len(next(iter(weights.values())))
        codes = of_members(inputs, 3, E)
        if self.bits:
            codes = unpack(codes, self.T - 1, torch.int64)
            codes = torch.nn.functional.pad(codes, (0, 1), value=CLS)
        return self._read(weights, codes)

    def evaluate(self, weights, inputs, alive=None):
        E = len(next(iter(weights.values())))
        codes = of_members(inputs, 3, E)
        few = at_a_time(E * self.T * (self.V + 2 * self.T), codes)
        return torch.cat([self.forward(weights, part) for part in codes.split(few, 1)], 1)

    def numbers_of_example(self, T: int) -> int:
        return 4 * self.L * self.T * (self.V + 2 * self.T + self.k)

    @property
    def work_of_token(self) -> float:
        return self.L * (self.V + 2 * self.T + self.k)

    def _read(self, weights: WeightTensors, codes: torch.Tensor) -> torch.Tensor:
        dtype = next(iter(weights.values())).dtype
        X = unit_rows(codes, self.V, dtype)  # (E or 1, N, T, V+T)
        axis = 0 if len(X) > 1 or len(next(iter(weights.values()))) == 1 else None
        mapped = torch.func.vmap(self._read_member, in_dims=(0, axis))
        out = mapped(dict(weights), X if axis == 0 else X[0])
        return out if self.every else out[:, :, 0]

    def _read_member(self, weights: WeightTensors, X: torch.Tensor) -> torch.Tensor:
        nest = self.node.parameters(X.shape[-1])[0]
        return self.node.apply(filled(nest, weights, "weights."), X)


@ENSEMBLES.register("token-network")
def build(keys, tasks, bits=False, **sizes) -> TokensEnsemble:
    return TokensEnsemble(T=common_length(tasks) + bits, bits=bits, **sizes)
