"""Two sets of weights under one list of names, as stored: a base and what was trained on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dudley.core.boundary.refusal import refusal
from dudley.weights.named_tensors import TensorInfo, Weights

if TYPE_CHECKING:
    import torch


class Beside(Weights):
    """The tensors of the first, then those of the second; no name may be in both."""

    def __init__(self, first: Weights, second: Weights):
        twice = ({*first.names(), *first.skipped}) & ({*second.names(), *second.skipped})
        if twice:
            expected = f"other names than in {first.source}"
            raise refusal(second.source, expected, "the same", min(twice))
        self.source = f"{first.source} + {second.source}"
        self.config = first.config
        self.skipped = {**first.skipped, **second.skipped}
        self.tied = {**first.tied, **second.tied}
        self._parts = (first, second)
        self._holder = {name: part for part in self._parts for name in part.names()}

    def names(self) -> list[str]:
        return list(self._holder)

    def info(self, name: str) -> TensorInfo:
        return self._find(name).info(name)

    def load(self, name: str) -> torch.Tensor:
        return self._find(name).load(name)

    def error(self, name: str) -> float:
        return self._find(name).error(name)

    def close(self) -> None:
        for part in self._parts:
            part.close()

    def _find(self, name: str) -> Weights:
        # An unknown name goes to the first, whose error lists its own.
        return self._holder.get(name, self._parts[0])
