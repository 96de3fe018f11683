"""An ensemble: E independent networks of one architecture along the first axis of every tensor.

``twin()`` is the same architecture as an ordinary module of `dudley.models`, the reference: the
weights of an ensemble are the trained entries of its state dict, each with a leading axis E, so
that a member loads into a twin by name. What a member computes does not depend on its neighbours.

``forward`` is the network in training, with its own random masks where it has dropout; ``evaluate``
is the network without them, by the cheapest way that is exact in real numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from dudley.core.backend import torch
from dudley.core.philox import Stream, normal, uniform
from dudley.models.base import Model
from dudley.models.initial import ConstantLaw, Law, Normal, SinusoidLaw, UniformLaw

WeightTensors = Mapping[str, torch.Tensor]


@dataclass(frozen=True)
class Noise:
    """What dropout may depend on: the trials' keys (E, 2) and the step, an int64 tensor ()."""

    keys: torch.Tensor
    step: torch.Tensor


class Ensemble(ABC):
    """Abstract: one architecture, E times.

    ``many_small``: a step is many small operations, which a GPU had better compile into few.
    """

    many_small: ClassVar[bool] = False

    @property
    def skips_empty(self) -> bool:
        """Does a member without examples cost nearly nothing in training?"""
        return False

    @abstractmethod
    def twin(self, e: int = 0) -> Model:
        """Member e's architecture as an ordinary module: its weights load into it by name."""

    @abstractmethod
    def forward(self, weights: WeightTensors, inputs, noise: Noise | None = None) -> torch.Tensor:
        """Outputs (E, B, C) of every member on its own batch, or on one shared by all."""

    def evaluate(
        self, weights: WeightTensors, inputs, alive: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Outputs (E, N, C) with nothing random; of members not ``alive`` (E,), any numbers."""
        return self.forward(weights, inputs)

    def numbers_of_example(self, T: int) -> int:
        """Numbers that training keeps for one example of T tokens, about: for the planner."""
        return 64 * T * max(b for _, b in self.shapes.values())

    def numbers_of_member(self, T: int) -> int:
        """Numbers that training keeps for one member beside its weights and examples, about."""
        return 0

    @property
    def work_of_token(self) -> float:
        """How the time for a token of one example compares with that of other models in a grid."""
        return 1.0

    @cached_property
    def shapes(self) -> dict[str, tuple[int, int]]:
        """The trained weights of one member, by the twin's names."""
        return {name: (W.shape[0], W.shape[1]) for name, W in self.twin().named_parameters()}

    def of(self, members: torch.Tensor) -> Ensemble:
        """Some members as an ensemble, for weights of as many; by itself where all are alike."""
        return self

    def constants(self, e: int) -> WeightTensors:
        """What member e of the twin's state dict holds beside trained weights."""
        return {}

    def start(self, keys: torch.Tensor) -> dict[str, torch.Tensor]:
        """First weights (float32), member by member as the paper draws them, from the keys."""
        twin = self.twin()
        return {
            name: draw_weight(twin.law(name.rsplit(".", 1)[-1], shape), shape, keys, number)
            for number, (name, shape) in enumerate(self.shapes.items())
        }

    def member(self, weights: WeightTensors, e: int) -> Model:
        """Member e as an ordinary module."""
        model = self.twin(e)
        state = {name: W[e].detach().cpu() for name, W in weights.items()}
        state |= self.constants(e)
        model.to(next(iter(state.values())).dtype).load_state_dict(state)
        return model


def draw_weight(law: Law, shape: tuple[int, int], keys: torch.Tensor, number: int) -> torch.Tensor:
    """Weight number ``number`` of every member, (E, *shape), by the law of its first value."""
    count = shape[0] * shape[1]
    match law:
        case ConstantLaw(value):
            flat = torch.full((len(keys), count), value, device=keys.device)
        case Normal(std):
            flat = normal(keys, Stream.WEIGHTS, number, count) * std
        case UniformLaw(limit):
            flat = (2 * uniform(keys, Stream.WEIGHTS, number, count) - 1) * limit
        case SinusoidLaw():
            flat = law.rows(shape).flatten().to(keys.device).repeat(len(keys), 1)
        case _:
            raise TypeError(f"no counter-based draw for {law!r}")
    return flat.float().reshape(-1, *shape)
