"""What a named training is: settings, a start, and a fit that reads nothing but its arguments.

``make_model`` builds the start under a seed that the learner sets. ``fit(model, X, y, step)``
trains it in place, on the device of its weights, for round ``step`` = 1, 2, …; step 0 is ordinary
training on an initial share. Both draw from torch's global generators alone, which are seeded
before each call. Settings are plain values, checked when the dataclass is made. Fields marked
``local`` say where something lies on this machine; no table has them.

The training ``vit`` is registered by ``dudley.certificates.trainings.vit``, which is imported when
its name is looked up. Any other class derived from `NamedTraining` becomes one by
``TRAININGS.register``.

>>> training = training_of({"name": "vit", "classes": 2, "steps": [30]})
>>> training.steps, training_of(training.table()) == training
((30,), True)
>>> training_of({"name": "vit", "classes": 2, "stepz": [30]})
Traceback (most recent call last):
dudley.core.errors.UnknownName: unknown setting of vit 'stepz'; did you mean steps or last_steps?
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dudley.certificates.records import expect_kinds, from_json, to_json
from dudley.core.errors import InputError, UnknownName
from dudley.core.registry import Registry

if TYPE_CHECKING:
    import torch

TRAININGS: Registry[type[NamedTraining]] = Registry(
    "training", "dudley.certificates.trainings.{name}"
)


@dataclass(frozen=True, kw_only=True)
class NamedTraining(ABC):
    """Abstract: settings, a start, and a fit."""

    name: ClassVar[str]

    def __post_init__(self):
        expect_kinds(self, self.name, skip=self.local())

    def table(self) -> dict[str, Any]:
        """All that declares it, as plain data."""
        settings = (f.name for f in fields(self) if f.name not in self.local())
        return {"name": self.name} | {s: to_json(getattr(self, s)) for s in settings}

    @abstractmethod
    def make_model(self) -> torch.nn.Module:
        """The start."""

    @abstractmethod
    def fit(self, model: torch.nn.Module, X: np.ndarray, y: np.ndarray, step: int) -> None:
        """Train the model in place on these examples, which come in the order of their picks."""

    def blueprint(self) -> dict[str, Any]:
        """What a model file has beside the table, so that `skeleton` needs no start."""
        return {}

    def skeleton(self, blueprint: Mapping[str, Any]) -> torch.nn.Module:
        """A module of the same shape, for weights that a file holds."""
        return self.make_model()

    def with_start(self, folder: str | Path) -> NamedTraining:
        """The same training, with the folder in which its start lies."""
        raise InputError("start", f"none, since {self.name} begins at random weights", folder)

    @classmethod
    def from_start(cls, folder: str | Path, settings: Mapping[str, Any]) -> NamedTraining:
        """The training of these settings that begins at the weights of a folder."""
        raise InputError("start", f"none, since {cls.name} begins at random weights", folder)

    @classmethod
    def local(cls) -> frozenset[str]:
        """Names of the fields that no table has."""
        return frozenset(f.name for f in fields(cls) if "local" in f.metadata)


def local() -> Any:
    """A field that says where something lies on this machine."""
    return field(default=None, compare=False, repr=False, metadata={"local": True})


def training_of(table: Mapping[str, Any], start: str | Path | None = None) -> NamedTraining:
    """The training that a table declares; other names and values are refused.

    ``start`` is the folder of the weights at which it begins, where it begins at some.
    """
    if not isinstance(table, Mapping) or not isinstance(table.get("name"), str):
        raise InputError("training", f"a table with a name: {', '.join(TRAININGS)}", table)
    settings = {name: value for name, value in table.items() if name != "name"}
    training = _read(_kind(table["name"]), settings)
    return training if start is None else training.with_start(start)


def training_named(spec: str, settings: Mapping[str, Any]) -> NamedTraining:
    """The training of a name as a user writes it: ``encoder``, ``vit``, ``hf:FOLDER``.

    >>> training_named("encoder", {"length": 12}).table()["length"]
    12
    """
    name, colon, folder = spec.partition(":")
    kind = _kind(name)
    return kind.from_start(folder, settings) if colon else _read(kind, settings)


def _kind(name: str) -> type[NamedTraining]:
    if name not in TRAININGS:
        raise UnknownName("training", name, TRAININGS, all_named=True)
    return TRAININGS[name]


def _read(kind: type[NamedTraining], settings: Mapping[str, Any]) -> NamedTraining:
    for name in sorted(kind.local() & set(settings)):
        known = {f.name for f in fields(kind)} - kind.local()
        raise UnknownName(f"setting of {kind.name}", name, known)
    return from_json(kind, settings, "setting", kind.name)


def expect_number(what: str, value: float, low: float, high: float) -> None:
    """Refuse a setting outside its range; both ends belong to it."""
    if not low <= value <= high:
        raise InputError(what, f"a number from {low:g} to {high:g}", value)
