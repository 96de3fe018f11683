"""First values of weights, as the papers (or the libraries they use) draw them.

>>> W = lecun((400, 300), generator(0))
>>> round(float(W.std()), 3)  # 1/√400
0.05
"""

from __future__ import annotations

import math

from dudley.core.backend import torch


def generator(seed: int | torch.Generator) -> torch.Generator:
    """A source of random numbers on the processor: a seed starts a new one."""
    return seed if isinstance(seed, torch.Generator) else torch.Generator().manual_seed(seed)


def normal(shape, source: torch.Generator, std: float) -> torch.Tensor:
    """N(0, std²)."""
    return torch.randn(*shape, generator=source) * std


def lecun(shape, source: torch.Generator) -> torch.Tensor:
    """N(0, 1/a) for W ∈ R^{a×b}: as many inputs as rows (LeCun)."""
    return normal(shape, source, 1 / math.sqrt(shape[0]))


def glorot(shape, source: torch.Generator, fans: tuple[int, int] | None = None) -> torch.Tensor:
    """Uniform on ±√(6/(fan_in + fan_out)) (Glorot and Bengio), Keras' default.

    ``fans`` where they are not rows and columns: Keras counts those of a kernel with three axes
    (p, q, r) as pq and pr.
    """
    limit = math.sqrt(6 / sum(fans or shape))
    return (2 * torch.rand(*shape, generator=source) - 1) * limit


def is_bias(name: str) -> bool:
    """Biases are called b, b_1, b_Q, …, or bias."""
    return name == "bias" or name == "b" or name.startswith("b_")
