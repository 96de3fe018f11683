"""``encoder``: sequences of tokens to classes by a pre-LN Transformer encoder.

X holds rows of T whole numbers below the vocabulary's size V. A token's vector is added to its
place's; with the pooling ``cls`` a row of its own comes first and is read out, with ``mean`` the
average of all rows is. Token vectors begin as random ones of scale ``token_scale``, and with
``signed`` those of a vocabulary of two as v and −v; place vectors begin at ``place_scale``. The
readout is 0 at the start. ``penalty`` times the sum of the ℓ2 norms of the place vectors is added
to the loss: places that the labels do not need stay small.

>>> training = TokenEncoder(length=6, layers=1, d=8, heads=2, hidden=16)
>>> torch.manual_seed(0) and training.make_model()(torch.zeros(3, 6, dtype=torch.int64)).shape
torch.Size([3, 2])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dudley.certificates.trainings.base import TRAININGS, expect_number
from dudley.certificates.trainings.descent import Descent
from dudley.certificates.trainings.vit import POOLINGS, expect_shape
from dudley.core.backend import torch
from dudley.core.errors import InputError


@TRAININGS.register("encoder")
@dataclass(frozen=True, kw_only=True)
class TokenEncoder(Descent):
    """Final: the network and its training."""

    name: ClassVar[str] = "encoder"

    length: int
    vocabulary: int = 2
    classes: int = 2
    layers: int = 2
    d: int = 64
    heads: int = 4
    hidden: int = 128
    pooling: str = "cls"
    signed: bool = False
    token_scale: float = 0.1
    place_scale: float = 0.02
    penalty: float = 0.0
    batch: int = 0
    rate: float = 4e-3
    least_rate: float = 1e-5
    decay: float = 0.1
    betas: tuple[float, ...] = (0.9, 0.98)
    enough: float = 0.01

    def __post_init__(self):
        super().__post_init__()
        expect_shape(self.layers, self.d, self.heads, self.hidden, self.classes)
        expect_number("length", self.length, 1, 65_536)
        expect_number("vocabulary", self.vocabulary, 2, 10**7)
        for name in ("token_scale", "place_scale", "penalty"):
            expect_number(name, getattr(self, name), 0, 1e3)
        if self.pooling not in POOLINGS:
            raise InputError("pooling", " or ".join(POOLINGS), self.pooling)
        if self.signed and self.vocabulary != 2:
            raise InputError("signed", "a vocabulary of two", f"one of {self.vocabulary}")

    def outputs(self) -> int:
        return self.classes

    def make_model(self) -> torch.nn.Module:
        return TokenTransformer(self)

    def fit(self, model: torch.nn.Module, X: np.ndarray, y: np.ndarray, step: int) -> None:
        assert isinstance(model, TokenTransformer)
        expect_tokens(X, self.vocabulary, self.length)

        def penalty() -> torch.Tensor:
            return self.penalty * model.places.norm(dim=1).sum()

        self.descend(model, X, y, step, penalty=penalty if self.penalty else None)


class TokenTransformer(torch.nn.Module):
    """Tokens plus places, pre-LN layers, pooling, a linear readout."""

    def __init__(self, of: TokenEncoder):
        super().__init__()
        d, self.pooling = of.d, of.pooling
        if of.signed:
            value = torch.randn(d) * of.token_scale
            self.values = torch.nn.Parameter(torch.stack([value, -value]))
        else:
            self.values = torch.nn.Parameter(torch.randn(of.vocabulary, d) * of.token_scale)
        self.places = torch.nn.Parameter(torch.randn(of.length, d) * of.place_scale)
        if of.pooling == "cls":
            self.cls = torch.nn.Parameter(torch.randn(1, 1, d) * 0.02)
        layer = torch.nn.TransformerEncoderLayer(
            d, of.heads, of.hidden, 0.0, "gelu", batch_first=True, norm_first=True
        )
        self.layers = torch.nn.TransformerEncoder(layer, of.layers, enable_nested_tensor=False)
        self.norm, self.readout = torch.nn.LayerNorm(d), torch.nn.Linear(d, of.classes)
        torch.nn.init.zeros_(self.readout.weight)
        torch.nn.init.zeros_(self.readout.bias)

    def extra_repr(self) -> str:
        return f"pooling={self.pooling}"

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        rows = self.values[X.long()] + self.places  # n × T × d
        if self.pooling == "cls":
            rows = torch.cat([self.cls.expand(len(X), -1, -1), rows], 1)
            return self.readout(self.norm(self.layers(rows)[:, 0]))
        return self.readout(self.norm(self.layers(rows)).mean(1))


def expect_tokens(X: np.ndarray, vocabulary: int, length: int | None = None) -> None:
    """Refuse what is no row of tokens below the vocabulary's size."""
    rows = X.ndim == 2 and X.dtype.kind in "bui" and length in (None, X.shape[-1])
    if not rows or (X.size and not 0 <= int(X.min()) <= int(X.max()) < vocabulary):
        count = "T" if length is None else length
        expected = f"tokens (n, {count}), whole numbers below {vocabulary}"
        span = f" from {X.min()} to {X.max()}" if X.size else ""
        raise InputError("X", expected, f"{X.dtype} of shape {X.shape}{span}")
