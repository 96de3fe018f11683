"""Schedules: the rate of each trial at its own step.

``rate(step, lr)``: step (E,) counts the updates that were made (0 before the first), lr is one
number or one a trial (E,); the answer is (E,) in float64.

>>> from dudley.core.backend import torch
>>> steps = torch.tensor([0, 1, 2, 3, 1000])
>>> schedule_of({"name": "warmup", "steps": 2}).rate(steps, 0.1).tolist()
[0.05, 0.1, 0.1, 0.1, 0.1]
>>> keras = Exponential(factor=0.999, every=3, floor=0.001)  # 3 batches an epoch
>>> keras.rate(steps, 0.01)[2:4].tolist()
[0.01, 0.00999]
>>> keras.rate(torch.tensor([10**6]), 0.01).tolist()
[0.001]
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

from dudley.core.backend import torch
from dudley.core.constraint import radius_of, size_of
from dudley.core.errors import InputError
from dudley.train.optimise.catalogue import Catalogue, read_by


class Schedule(ABC):
    """Abstract: a rate as a function of the step."""

    name: ClassVar[str]

    @abstractmethod
    def rate(self, step: torch.Tensor, lr: float | torch.Tensor) -> torch.Tensor:
        """The rates (E,), float64."""


SCHEDULES: Catalogue[Schedule] = Catalogue("schedule", "dudley.train.optimise.*")
schedule_of = SCHEDULES.of


def _spread(step: torch.Tensor, lr: float | torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Steps and rates in float64, of one shape."""
    step = step.double()
    return step, torch.ones_like(step) * lr


@SCHEDULES.register("constant")
@dataclass(frozen=True)
class Constant(Schedule):
    """lr throughout."""

    def rate(self, step, lr):
        return _spread(step, lr)[1]


@SCHEDULES.register("exponential")
@dataclass(frozen=True)
class Exponential(Schedule):
    """lr · factor^⌊step/every⌋, but not below ``floor`` (and never above lr).

    ``every`` is the number of batches in an epoch where a library decays epoch by epoch.
    """

    factor: float  # what the rate is multiplied by
    every: int = 1  # after how many steps
    floor: float = 0.0  # smallest rate

    def __post_init__(self):
        if not 0 < radius_of("factor of exponential", self.factor) <= 1:
            raise InputError("factor of exponential", "a number in (0, 1]", self.factor)
        size_of("every of exponential", self.every)
        radius_of("floor of exponential", self.floor)

    def rate(self, step, lr):
        step, lr = _spread(step, lr)
        decayed = lr * self.factor ** torch.floor(step / self.every)
        return torch.maximum(decayed, lr.clamp(max=self.floor))


@SCHEDULES.register("cosine")
@dataclass(frozen=True)
class Cosine(Schedule):
    """Half a cosine from lr to ``floor`` in ``steps`` steps, then ``floor`` (Loshchilov, Hutter).

    I. Loshchilov and F. Hutter, *SGDR*, ICLR 2017, equation (5), without restarts.
    """

    steps: int  # steps from lr to the floor
    floor: float = 0.0  # rate at the end

    def __post_init__(self):
        size_of("steps of cosine", self.steps)
        radius_of("floor of cosine", self.floor)

    def rate(self, step, lr):
        step, lr = _spread(step, lr)
        floor = lr.clamp(max=self.floor)
        turned = torch.cos(math.pi * (step / self.steps).clamp(max=1.0))
        return floor + (lr - floor) * (1 + turned) / 2


@SCHEDULES.register("warmup")
@dataclass(frozen=True)
class Warmup(Schedule):
    """lr · (step+1)/steps while step < steps, then another schedule from its own step 0."""

    steps: int  # steps of linear growth
    # schedule afterwards, from its own step 0
    then: Schedule = field(default=Constant(), metadata=read_by(schedule_of))

    def __post_init__(self):
        size_of("steps of warmup", self.steps)

    def rate(self, step, lr):
        rising = _spread(step, lr)[1] * (step.double() + 1) / self.steps
        after = self.then.rate((step - self.steps).clamp(min=0), lr)
        return torch.where(step < self.steps, rising, after)
