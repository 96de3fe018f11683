"""Descent: steps of AdamW with warm-up and a cosine, as many a round as a schedule says.

Round r of training takes ``steps[r−1]`` steps (the last number for all rounds after it), from round
``last_round`` on ``last_steps`` instead, and on an initial share ``initial_steps``. ``epochs`` adds
so many passes over the examples of a round. Each number is a function of the round and of the
number of picks, never of what the rest of the sample looks like. For t = 0, …, s − 1 the rate is

    η_t = rate · min(1, (t+1)/warmup) · (1 + cos(πt/s))/2 + least_rate.

Each batch is the next part of a stream of random orders of the examples; with ``batch`` 0 it is all
of them, in the order of their picks. ``enough`` stops a round early, after ``at_least`` steps and
once the loss on a batch is below it. ``averaging`` = a > 0 ends with the average w̄ ← a w̄ + (1−a) w.
``half`` lets CUDA multiply in bfloat16 while training; predictions are made in float32. ``graph``
lets CUDA record a step and replay it (`stepping`).

The same examples, seed and machine give the same weights. Another kind of processor, another
number of its threads or another version of torch may give others.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dudley.certificates.learners.arithmetic import deterministic
from dudley.certificates.trainings.base import NamedTraining, expect_number
from dudley.certificates.trainings.stepping import TrainingStep
from dudley.core.backend import torch
from dudley.core.errors import InputError

BLOCK = 16  # steps whose batches are put together at once
MOST_STEPS = 10**7


@dataclass(frozen=True, kw_only=True)
class Descent(NamedTraining):
    """Abstract: what trainings by gradient descent share."""

    steps: tuple[int, ...] = (150,)
    last_round: int = 0
    last_steps: int = 0
    initial_steps: int = 1000
    epochs: float = 0.0
    batch: int = 128
    rate: float = 1e-3
    least_rate: float = 0.0
    warmup: int = 20
    decay: float = 0.05
    betas: tuple[float, ...] = (0.9, 0.999)
    smoothing: float = 0.0
    enough: float = 0.0
    at_least: int = 30
    averaging: float = 0.0
    clip: float = 0.0
    half: bool = False
    graph: bool = True

    repeats: ClassVar[bool] = True  # whether a batch may hold an example more than once

    def __post_init__(self):
        super().__post_init__()
        if not self.steps or not all(0 <= s <= MOST_STEPS for s in self.steps):
            raise InputError("steps", f"numbers from 0 to {MOST_STEPS:,}", list(self.steps))
        if (self.last_round > 0) != (self.last_steps > 0):
            got = f"last_round {self.last_round}, last_steps {self.last_steps}"
            raise InputError("last round", "both last_round and last_steps, or none", got)
        for name in ("last_round", "last_steps", "initial_steps", "warmup", "at_least"):
            expect_number(name, getattr(self, name), 0, MOST_STEPS)
        expect_number("batch", self.batch, 0, 65_536)
        for name in ("epochs", "rate", "decay", "clip", "enough"):
            expect_number(name, getattr(self, name), 0, 1e4)
        expect_number("least_rate", self.least_rate, 0, 1)
        for name in ("smoothing", "averaging"):
            if not 0 <= getattr(self, name) < 1:
                raise InputError(name, "a number in [0, 1)", getattr(self, name))
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            raise InputError("betas", "two numbers in [0, 1)", list(self.betas))

    def count(self, step: int, n: int) -> int:
        """How many steps round ``step`` takes on n examples."""
        if step == 0:
            return self.initial_steps
        planned = self.steps[min(step, len(self.steps)) - 1]
        if self.last_round and step >= self.last_round:
            planned = self.last_steps
        return min(planned + math.ceil(self.epochs * n / (self.batch or n)), MOST_STEPS)

    def rate_at(self, t: int, count: int, rate: float) -> float:
        """η_t."""
        cosine = 0.5 + 0.5 * math.cos(math.pi * t / count)
        return rate * min(1, (t + 1) / max(1, self.warmup)) * cosine + self.least_rate

    def descend(
        self,
        model: torch.nn.Module,
        X: np.ndarray,
        y: np.ndarray,
        step: int,
        groups: list[dict[str, Any]] | None = None,
        prepare: Callable[[torch.Tensor], torch.Tensor] | None = None,
        penalty: Callable[[], torch.Tensor] | None = None,
    ) -> None:
        """Train; ``prepare`` makes model inputs of examples, ``penalty`` is added to the loss.

        ``groups`` are parameters with rates and weight decays of their own.
        """
        expect_labels(y, self.outputs())
        weights = [W for W in model.parameters() if W.requires_grad]
        device, count = weights[0].device, self.count(step, len(y))
        inputs, labels = (torch.from_numpy(array).to(device) for array in (X, y))
        half = self.half and device.type == "cuda"

        def loss(
            examples: torch.Tensor, targets: torch.Tensor
        ) -> tuple[torch.Tensor, torch.Tensor]:
            # Recorded steps must cast the weights anew, so that no cast is remembered.
            with torch.autocast("cuda", torch.bfloat16, enabled=half, cache_enabled=False):
                plain = torch.nn.functional.cross_entropy(
                    model(examples), targets, label_smoothing=self.smoothing
                )
            return plain, plain if penalty is None else plain + penalty()

        groups = groups or [{"params": weights, "lr": self.rate}]
        rates = [group["lr"] for group in groups]
        betas = self.betas[0], self.betas[1]
        with deterministic(device):
            take = TrainingStep(
                loss, groups, betas, self.decay, self.clip, self.averaging, self.graph
            )
            batches = _batches(inputs, labels, self._size(len(y)), count, prepare)
            for t, (examples, targets) in enumerate(batches):
                left = take(examples, targets, [self.rate_at(t, count, rate) for rate in rates])
                if self.enough and t > self.at_least and left.item() < self.enough:
                    break
            take.finish()

    @abstractmethod
    def outputs(self) -> int:
        """How many outputs the model has, one for each class."""

    def _size(self, n: int) -> int:
        """How many examples a batch holds; 0 stands for all, in their order."""
        return self.batch if self.repeats else min(self.batch, n)


def _batches(
    inputs: torch.Tensor,
    labels: torch.Tensor,
    size: int,
    count: int,
    prepare: Callable[[torch.Tensor], torch.Tensor] | None,
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """``count`` batches of examples and labels; BLOCK of them are prepared together."""
    n = len(labels)
    stream = torch.empty(0, dtype=torch.int64)
    for first in range(0, count, BLOCK):
        steps = min(BLOCK, count - first)
        if not size:
            for _ in range(steps):
                yield inputs if prepare is None else prepare(inputs), labels
            continue
        if (lacking := steps * size - len(stream)) > 0:
            orders = torch.rand(-(-lacking // n), n).argsort(1)
            stream = torch.cat([stream, orders.flatten()])
        rows, stream = stream[: steps * size].to(labels.device), stream[steps * size :]
        with torch.no_grad():
            examples = inputs[rows] if prepare is None else prepare(inputs[rows])
        yield from zip(examples.split(size), labels[rows].split(size), strict=True)


def expect_labels(y: np.ndarray, classes: int) -> None:
    """Refuse labels that the model has no output for."""
    if len(y) and y.max() >= classes:
        fix = "set the number of classes before the data"
        raise InputError("y", f"labels below {classes}, the classes of the model", y.max(), fix)
