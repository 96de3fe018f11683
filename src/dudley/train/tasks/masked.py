"""Masked-token prediction: guess the hidden tokens of a sequence from the others.

Sequences come from a language whose rule is drawn for every trial (`tasks.language`); ``masked``
places of each are replaced by the mask, token number V. Labels are the tokens that stood there,
and −100 elsewhere: what ``cross_entropy`` ignores.

The task of trauger2024, section 5 (theorem 5.1), with one place masked.

>>> from dudley.core.philox import key, keys_tensor
>>> task = MaskedTokens(V=5, T=8, lag=4, m=2)
>>> data = task.sample(keys_tensor([key("masked", 0)]))
>>> data.inputs
tensor([[[4, 5, 2, 0, 1, 3, 4, 2],
         [1, 2, 4, 0, 0, 5, 1, 2]]])
>>> data.labels
tensor([[[-100,    3, -100, -100, -100, -100, -100, -100],
         [-100, -100, -100, -100, -100,    4, -100, -100]]])
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from dudley.core.backend import torch
from dudley.core.constraint import size_of
from dudley.core.errors import InputError
from dudley.core.philox import StepNumber, Stream, subsets
from dudley.train.tasks.base import Endless, Labelled, finite
from dudley.train.tasks.language import Language
from dudley.train.tasks.registry import TASKS

IGNORED = -100
MASKS = 1 << 31  # the places masked at a step are drawn so many steps later


@TASKS.register("masked-tokens")
@dataclass(frozen=True)
class MaskedTokens(Endless):
    """V tokens and the mask; sequences of length T of ``Language(V, lag, context, noise)``."""

    name: ClassVar[str] = "masked-tokens"
    V: int  # tokens of the language, the mask not counted
    T: int  # tokens of a sequence
    lag: int  # how far back the token lies that a token is a function of
    context: int = 0  # tokens just before that choose the function
    noise: float = 0.0  # probability that a token is uniform instead
    masked: int = 1  # places of a sequence that are hidden
    m: int | None = None  # training sequences; None where training is online
    holdout: int = 10_000  # sequences of each split to evaluate on

    def __post_init__(self):
        for name in ("T", "masked", "holdout") + (("m",) if self.m is not None else ()):
            size_of(f"{name} of masked tokens", getattr(self, name))
        if self.masked > self.T:
            raise InputError("masked", f"at most T = {self.T} places", self.masked)
        if self.language.lag >= self.T:
            raise InputError("lag", f"below T = {self.T}", self.lag)

    @cached_property
    def language(self) -> Language:
        return Language(self.V, self.lag, self.context, self.noise)

    def sample(self, keys):
        return self._draw(keys, Stream.TOKENS, 0, finite(self, self.m))

    def stream(self, keys: torch.Tensor, step: StepNumber, batch: int) -> Labelled:
        """A fresh batch; step t of it has the counters of step t + 1, as ``sample`` has step 0."""
        return self._draw(keys, Stream.TOKENS, step + 1, batch)

    def held_out(self, keys, cell_keys=None, cell=None, stream=Stream.HOLDOUT):
        """Each trial has sequences of its own, in its own language: cells share nothing."""
        return self._draw(keys, stream, 0, self.holdout)

    def _draw(self, keys, stream, step, rows) -> Labelled:
        x = self.language.sequences(keys, self.language.rule(keys), stream, step, rows, self.T)
        places = subsets(keys, self.T, self.masked, stream, step + MASKS, rows)
        hidden = torch.zeros_like(x, dtype=torch.bool).scatter_(-1, places, True)
        return Labelled(x.masked_fill(hidden, self.V), x.masked_fill(~hidden, IGNORED))
