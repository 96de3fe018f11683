"""Which way weights in rows are moved: by kernels on a GPU where there are, for Adam and AdamW,
clipped or not; else by the optimiser's own operations.

Both take the same steps up to rounding. Without Triton a GPU is slower, and nothing else changes.
"""

from __future__ import annotations

from collections.abc import Mapping

from dudley.core.backend import torch
from dudley.train.optimise.adam import Adam, AdamW
from dudley.train.optimise.base import Optimiser, ReadTensors
from dudley.train.optimise.clip import Clipped

try:
    from dudley.train.optimise.kernels import fused_adam
except ImportError:  # no Triton
    fused_adam = None


def kernels_for(optimiser: Optimiser, weights: ReadTensors, decayed: Mapping[str, bool]):
    """The kernels that move these weights, views of rows, as this optimiser does; or None."""
    clipped = isinstance(optimiser, Clipped)
    rule, limit = (optimiser.optimiser, optimiser.limit) if clipped else (optimiser, None)
    if fused_adam is None or not isinstance(rule, Adam | AdamW) or not fits(weights):
        return None
    return fused_adam.FusedAdam(rule, limit, weights, decayed)


def fits(weights: ReadTensors) -> bool:
    """Kernels move what is in float32 on a GPU."""
    return all(W.is_cuda and W.dtype == torch.float32 for W in weights.values())
