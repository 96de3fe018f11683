"""Eight-bit weights, turned back into the real numbers they stand for.

`readers.scales` says which conventions are known. The scales are listed as skipped.

Exactness: q − z has at most 9 bits and a scale of 16 or 32 bits at most 24, so their product is
exact in float64; the division by 127 rounds once, a float64 scale rounds once: `error` says so.

>>> import torch
>>> from dudley.weights.readers.live import hold
>>> stored = {"q.weight": torch.tensor([[127, -1]], dtype=torch.int8), "q.SCB": torch.tensor([2.0])}
>>> weights = dequantise(hold(stored))
>>> weights.names(), weights.load("q.weight")[0, 0], weights.skipped["q.SCB"]
(['q.weight'], tensor(2., dtype=torch.float64), 'scales of q.weight')
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dudley.core.boundary.refusal import refusal
from dudley.weights.interval import U
from dudley.weights.named_tensors import TensorInfo, Weights, finite
from dudley.weights.readers.scales import INTEGERS, Scaling, find_scalings

if TYPE_CHECKING:
    import torch


class Dequantised(Weights):
    """Weights whose eight-bit matrices come out as float64; everything else passes through."""

    def __init__(self, inner: Weights, scalings: Mapping[str, Scaling], skipped: Mapping[str, str]):
        self.source, self.config = inner.source, inner.config
        # The same integers under two scales are two matrices.
        self.tied = {a: b for a, b in inner.tied.items() if not {a, b} & {*scalings}}
        self.skipped = {**inner.skipped, **skipped}
        self._inner = inner
        self._scalings = dict(scalings)

    def names(self) -> list[str]:
        return [name for name in self._inner.names() if name not in self.skipped]

    def info(self, name: str) -> TensorInfo:
        return self._inner.info(name)

    def load(self, name: str) -> torch.Tensor:
        tensor = self._inner.load(name)
        if name not in self._scalings:
            return tensor
        scale, zero, divisor = self._read(name, self._scalings[name])
        wide = finite(tensor, name, self.info(name).file).double()
        return wide.sub_(zero).mul_(scale).div_(divisor)

    def error(self, name: str) -> float:
        if name not in self._scalings:
            return self._inner.error(name)
        scaling, info = self._scalings[name], self.info(name)
        roundings = (scaling.divisor != 1) + (self.info(scaling.scale).dtype == "float64")
        if roundings == 0:
            return 0.0
        scale, _, divisor = self._read(name, scaling)
        # |q − z| ≤ 255 for integers, ≤ 57344 for 8-bit floats; 1.001 covers this line's roundings.
        largest = 255.0 if info.dtype in INTEGERS else 57344.0
        each = largest * max(map(abs, scale.reshape(-1).tolist()), default=0.0) / divisor
        return 1.001 * math.sqrt(math.prod(info.shape)) * (roundings * U * each + 2.0**-1074)

    def close(self) -> None:
        self._inner.close()

    def _read(self, name: str, scaling: Scaling) -> tuple[torch.Tensor, Any, int]:
        scale = self._companion(scaling.scale, name)
        if scaling.zero is None:
            return scale, 0.0, scaling.divisor
        zero = self._companion(scaling.zero, name)
        low, high = (0, 255) if self.info(name).dtype == "uint8" else (-128, 127)
        if bool(((zero != zero.round()) | (zero < low) | (zero > high)).any()):
            file = self.info(name).file
            raise refusal(file, f"zero points that are integers in [{low}, {high}]", zero, name)
        return scale, zero, scaling.divisor

    def _companion(self, companion: str, name: str) -> torch.Tensor:
        values = self._inner.load(companion)
        values = finite(values, companion, self.info(companion).file).double()
        block = self._scalings[name].block
        if block is not None:
            rows, columns = self.info(name).shape
            wide = values.repeat_interleave(block[0], 0).repeat_interleave(block[1], 1)
            return wide[:rows, :columns]
        return values.reshape(()) if values.numel() == 1 else values.reshape(-1, 1)


def dequantise(inner: Weights) -> Weights:
    """The weights themselves, or seen through their scales where some are eight-bit."""
    if isinstance(inner, Dequantised):
        return inner
    scalings = find_scalings(inner)
    return Dequantised(inner, *scalings) if any(scalings) else inner
