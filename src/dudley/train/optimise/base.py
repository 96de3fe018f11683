"""An optimiser moves E trainings at once: weights, gradients and state have a leading axis E.

What moves one trial depends on that trial alone. A trial that is not ``alive`` stays as it is, bit
by bit, weights and state. The step count is a tensor, nothing asks a tensor on a device for its
value, and all changes are made in place: an update can be compiled, or captured in a CUDA graph
where ``capturable`` says so.

>>> from dudley.core.backend import torch
>>> weights = {"W": torch.ones(3, 1, 2)}
>>> descent = optimiser_of({"name": "gd", "lr": 0.5})
>>> state = descent.start(weights)
>>> rate, alive = torch.full((3,), descent.lr), torch.tensor([True, False, True])
>>> descent.update(weights, {"W": torch.ones(3, 1, 2)}, state, rate, alive, {"W": True})
>>> weights["W"][:, 0, 0].tolist(), state["step"].tolist()
([0.5, 1.0, 0.5], [1, 0, 1])
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from dudley.core.backend import torch
from dudley.core.constraint import radius_of
from dudley.core.errors import InputError
from dudley.train.optimise.catalogue import Catalogue

ReadTensors = Mapping[str, torch.Tensor]


class Optimiser(ABC):
    """Abstract: how weights follow their gradients.

    ``update`` takes the rate of each trial, (E,), which a schedule makes of ``first_rate``.
    """

    name: ClassVar[str]

    @property
    @abstractmethod
    def first_rate(self) -> float:
        """The rate before any schedule."""

    @property
    @abstractmethod
    def capturable(self) -> bool:
        """May ``update`` be captured in a CUDA graph?"""

    @property
    @abstractmethod
    def entrywise(self) -> bool:
        """Is every entry treated alike, whichever weight it belongs to?"""

    @abstractmethod
    def start(self, weights: ReadTensors) -> dict[str, torch.Tensor]:
        """The state before the first step, each entry with a leading axis E, by flat names.

        Weights that must lie in a set are brought into it, in place.
        """

    @abstractmethod
    def update(
        self,
        weights: ReadTensors,
        grads: ReadTensors,
        state: ReadTensors,
        rate: torch.Tensor,
        alive: torch.Tensor | None,
        decayed: Mapping[str, bool],
    ) -> None:
        """One step of every trial that is alive, in place; the gradients may be overwritten.

        ``rate`` (E,) floats, ``alive`` (E,) booleans or None for all; ``decayed``: which decay.
        """


OPTIMISERS: Catalogue[Optimiser] = Catalogue("optimiser", "dudley.train.optimise.*")
optimiser_of = OPTIMISERS.of


def fraction(what: str, value: float) -> float:
    """A number in [0, 1); anything else is refused."""
    if not radius_of(what, value) < 1:
        raise InputError(what, "a number in [0, 1)", value)
    return value


def per_trial(numbers: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """One number a trial (E,), shaped to multiply a weight (E, a, b)."""
    return numbers.reshape(-1, *[1] * (like.ndim - 1))
