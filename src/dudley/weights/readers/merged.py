"""A base with the updates of a LoRA adapter added: W + s·B·A, with its rounding error.

The merged matrix is computed in float64. With u = 2⁻⁵³, each entry of fl(W + fl(s·fl(BA))) is
within γ_{r+6}·(|W| + s·|B|·|A|) of the exact one, in whatever order the sums run (Higham, Accuracy
and Stability of Numerical Algorithms, 2002, section 3.5; the six are those of α/√r, of the scaling
and of the sum, and spare), plus what underflow takes; `error` bounds the Frobenius norm of that by
√(in·out) times its largest entry.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dudley.weights.interval import U
from dudley.weights.named_tensors import TensorInfo, Weights, finite

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Update:
    """The factors of one matrix: names, rank, the scale s, and whether (BA)ᵀ is meant."""

    A: str
    B: str
    rank: int
    scale: float
    transposed: bool


class Merged(Weights):
    """The base, with the updates of an adapter added."""

    def __init__(
        self,
        adapter: Weights,
        base: Weights,
        updates: Mapping[str, Update],
        replaced: Mapping[str, str],
    ):
        self.source = f"{base.source} + {adapter.source}"
        self.config = base.config
        added = {n: f"added to {W}" for W, update in updates.items() for n in (update.A, update.B)}
        self.skipped = {**base.skipped, **added}
        # An update parts what was tied: only pairs that stay as they are are still one.
        self.changed = frozenset({*updates, *replaced})
        self.tied = {a: b for a, b in base.tied.items() if not self.changed & {a, b}}
        self._adapter, self._base = adapter, base
        self._updates, self._replaced = dict(updates), dict(replaced)

    def names(self) -> list[str]:
        names = self._base.names()
        return names + [name for name in self._replaced if name not in set(names)]

    def info(self, name: str) -> TensorInfo:
        if name not in self._replaced:
            return self._base.info(name)
        info = self._adapter.info(self._replaced[name])
        return TensorInfo(name, info.shape, info.dtype, info.nbytes, info.file)

    def load(self, name: str) -> torch.Tensor:
        if name in self._replaced:
            return self._adapter.load(self._replaced[name])
        if name not in self._updates:
            return self._base.load(name)
        update = self._updates[name]
        W, A, B = self._parts(name, update)
        product = (B @ A).mul_(update.scale)
        return (product.T if update.transposed else product) + W

    def error(self, name: str) -> float:
        if name in self._replaced:
            return self._adapter.error(self._replaced[name])
        inherited = self._base.error(name)
        if name not in self._updates:
            return inherited
        update = self._updates[name]
        W, A, B = self._parts(name, update)
        γ = (update.rank + 6) * U / (1 - (update.rank + 6) * U)
        largest = [float(M.abs().max()) if M.numel() else 0.0 for M in (W, A, B)]
        entry = largest[0] + update.scale * update.rank * largest[1] * largest[2]
        # 1.001 covers the roundings of this line, the last term underflow in the products.
        lost = (update.rank + 2) * (1 + update.scale) * 2.0**-1074
        return inherited + 1.001 * math.sqrt(W.numel()) * (γ * entry + lost)

    def close(self) -> None:
        self._adapter.close()
        self._base.close()

    def _parts(self, name: str, update: Update) -> list[torch.Tensor]:
        """W, A and B in float64, finite."""
        parts = ((self._base, name), (self._adapter, update.A), (self._adapter, update.B))
        return [finite(w.load(n), n, w.info(n).file).double() for w, n in parts]
