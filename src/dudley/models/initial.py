"""First values of weights: the laws by which the papers (or the libraries they use) draw them.

A law is declared once, by a model; whoever has random numbers draws from it: a module from a
generator of torch, an ensemble from counters.

>>> law = lecun((400, 300))
>>> law
Normal(std=0.05)
>>> round(float(law.draw((400, 300), generator(0)).std()), 3)
0.05
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from dudley.core.backend import torch
from dudley.core.constraint import radius_of
from dudley.core.errors import InputError
from dudley.core.registry import Registry

Shape = tuple[int, int]


@dataclass(frozen=True)
class Law(ABC):
    """Abstract: the distribution of every entry of a weight, independent of the others."""

    @abstractmethod
    def draw(self, shape: Shape, source: torch.Generator) -> torch.Tensor:
        """A weight of this shape, float32."""


@dataclass(frozen=True)
class Normal(Law):
    """N(0, std²)."""

    std: float

    def __post_init__(self) -> None:
        radius_of("std of first weights", self.std)

    def draw(self, shape: Shape, source: torch.Generator) -> torch.Tensor:
        return torch.randn(*shape, generator=source) * self.std


@dataclass(frozen=True)
class UniformLaw(Law):
    """Uniform on [−limit, limit]."""

    limit: float

    def __post_init__(self) -> None:
        radius_of("limit of first weights", self.limit)

    def draw(self, shape: Shape, source: torch.Generator) -> torch.Tensor:
        return (2 * torch.rand(*shape, generator=source) - 1) * self.limit


@dataclass(frozen=True)
class ConstantLaw(Law):
    """One value; nothing is drawn."""

    value: float

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise InputError("value of first weights", "a finite number", self.value)

    def draw(self, shape: Shape, source: torch.Generator) -> torch.Tensor:
        return torch.full(shape, float(self.value))


@dataclass(frozen=True)
class SinusoidLaw(Law):
    """Row t is √2·std·(sin tω_0, cos tω_0, sin tω_1, …), ω_i = 10000^{−2i/d}; nothing is drawn.

    A row's norm is std·√d, the root mean square norm of a row of N(0, std²).
    """

    std: float

    def __post_init__(self) -> None:
        radius_of("std of first weights", self.std)

    def draw(self, shape: Shape, source: torch.Generator) -> torch.Tensor:
        return self.rows(shape)

    def rows(self, shape: Shape) -> torch.Tensor:
        """All rows, float32."""
        return math.sqrt(2) * self.std * sinusoidal(*shape)


def sinusoidal(T: int, d: int) -> torch.Tensor:
    """P_{t,2i} = sin(t/10000^{2i/d}), P_{t,2i+1} = cos(t/10000^{2i/d}) (Vaswani et al. 2017)."""
    even = torch.arange(0, d, 2, dtype=torch.float64)
    angles = torch.arange(T, dtype=torch.float64)[:, None] / 10000.0 ** (even / d)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[:, :d].float()


def lecun(shape: Shape) -> Normal:
    """N(0, 1/a) for W ∈ R^{a×b}: as many inputs as rows (LeCun)."""
    return Normal(1 / math.sqrt(shape[0]))


def glorot(shape: Shape, fans: tuple[int, int] | None = None) -> UniformLaw:
    """Uniform on ±√(6/(fan_in + fan_out)) (Glorot and Bengio), Keras' default.

    ``fans`` where they are not rows and columns: Keras counts those of a kernel with three axes
    (p, q, r) as pq and pr.
    """
    return UniformLaw(math.sqrt(6 / sum(fans or shape)))


def small(shape: Shape) -> Normal:
    """N(0, .02²) whatever the shape: GPT-2's, and minGPT's."""
    return Normal(0.02)


def waves(shape: Shape) -> SinusoidLaw:
    """Sinusoids whose rows are as long as those of `small`: positions that are a function."""
    return SinusoidLaw(0.02)


LAWS: Registry[Callable[[Shape], Law]] = Registry("law of first weights")
for _law in (lecun, glorot, small, waves):
    LAWS.register(_law.__name__)(_law)


def generator(seed: int | torch.Generator) -> torch.Generator:
    """A source of random numbers on the processor: a seed starts a new one."""
    return seed if isinstance(seed, torch.Generator) else torch.Generator().manual_seed(seed)


def is_bias(name: str) -> bool:
    """Biases are called b, b_1, b_Q, …, or bias."""
    return name == "bias" or name == "b" or name.startswith("b_")
