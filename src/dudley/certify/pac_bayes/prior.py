"""Priors: P = N(w₀, diag (s·S)²), fixed before the examples that are counted.

``zero``: w₀ = 0, S = 1. ``seeded``: w₀ drawn from a declared seed, S = 1. ``learned``: w₀ and S
come from the first n₀ examples and nothing else; they stand in the posterior's file, with the hash
of those examples, and the bound counts the other n − n₀. The scale s is declared, or chosen from a
grid.

>>> Zero().told, Learned(100, "…", {}, {}).told
({'kind': 'zero'}, {'kind': 'learned', 'prefix': 100})
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dudley.certify.data import Dataset
from dudley.core.constraint import size_of
from dudley.core.errors import InputError

Shapes = Mapping[str, tuple[int, int]]
Arrays = dict[str, np.ndarray]


class Prior(ABC):
    """Abstract: centre and scales of P, and which examples it has seen."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def told(self) -> dict[str, Any]:
        """What is declared of it; JSON."""

    @abstractmethod
    def center(self, shapes: Shapes) -> Arrays:
        """w₀."""

    def scales(self, shapes: Shapes) -> Arrays:
        """S."""
        return {name: np.ones(shape) for name, shape in shapes.items()}

    def counted(self, data: Dataset) -> Dataset:
        """The examples that the bound counts: those that the prior has not seen."""
        return data

    @property
    def arrays(self) -> Arrays:
        """What of it stands in the file."""
        return {}


@dataclass(frozen=True)
class Zero(Prior):
    """Final: w₀ = 0."""

    kind: ClassVar[str] = "zero"

    @property
    def told(self):
        return {"kind": self.kind}

    def center(self, shapes):
        return {name: np.zeros(shape) for name, shape in shapes.items()}


@dataclass(frozen=True)
class Seeded(Prior):
    """Final: w₀ = size · standard normals that a seed determines."""

    seed: int
    size: float
    kind: ClassVar[str] = "seeded"

    def __post_init__(self):
        if not isinstance(self.seed, int) or not 0 <= self.size < np.inf:
            got = f"seed {self.seed}, size {self.size}"
            raise InputError("seeded prior", "an integer seed and a size ≥ 0", got)

    @property
    def told(self):
        return {"kind": self.kind, "seed": self.seed, "size": self.size}

    def center(self, shapes):
        from dudley.train.random import Stream, key, keys_tensor, normal

        keys = keys_tensor([key("prior of pac-bayes", self.seed)])
        drawn = {}
        for i, (name, shape) in enumerate(shapes.items()):
            z = normal(keys, Stream.WEIGHTS, i, int(np.prod(shape)))[0]
            drawn[name] = self.size * z.double().numpy().reshape(shape)
        return drawn


@dataclass(frozen=True, eq=False)
class Learned(Prior):
    """Final: w₀ and S learned from the first ``prefix`` examples, whose hash is ``seen``."""

    prefix: int
    seen: str
    mean: Arrays
    scale: Arrays
    kind: ClassVar[str] = "learned"

    def __post_init__(self):
        size_of("examples that the prior has seen", self.prefix)

    @property
    def told(self):
        return {"kind": self.kind, "prefix": self.prefix}

    def center(self, shapes):
        return _checked("mean", self.mean, shapes)

    def scales(self, shapes):
        return _checked("scale", self.scale, shapes)

    def counted(self, data):
        if self.prefix >= data.n:
            got = f"{self.prefix} of {data.n}"
            raise InputError("examples that the prior has seen", "fewer than all", got)
        if data.part(slice(0, self.prefix)).sha256 != self.seen:
            raise InputError(
                f"first {self.prefix} examples",
                "those that the prior was learned from, in their order",
                "others",
                "a prior may have seen only examples that are not counted",
            )
        return data.part(slice(self.prefix, None))

    @property
    def arrays(self):
        mean = {f"prior.mean.{name}": W for name, W in self.mean.items()}
        return mean | {f"prior.scale.{name}": W for name, W in self.scale.items()}


def _checked(what: str, arrays: Arrays, shapes: Shapes) -> Arrays:
    if set(arrays) != set(shapes):
        raise InputError(f"{what} of the prior", ", ".join(shapes), ", ".join(arrays) or "nothing")
    for name, W in arrays.items():
        if W.shape != shapes[name] or W.dtype != np.float64 or not np.isfinite(W).all():
            expected, got = f"finite float64 of shape {shapes[name]}", f"{W.dtype} {W.shape}"
            raise InputError(f"{what} of the prior of {name}", expected, got)
        if what == "scale" and not (W > 0).all():
            raise InputError(f"scale of the prior of {name}", "numbers > 0", W.min())
    return arrays


def prior_of(told: dict[str, Any], arrays: Arrays) -> Prior:
    """The prior that a file describes."""
    kind = told.get("kind")
    learned = {n: W for n, W in arrays.items() if n.startswith("prior.")}
    if kind != "learned" and learned:
        raise InputError(f"prior {kind}", "no weights in the file", ", ".join(learned))
    try:
        if kind == "zero" and set(told) == {"kind"}:
            return Zero()
        if kind == "seeded" and set(told) == {"kind", "seed", "size"}:
            return Seeded(told["seed"], told["size"])
        if kind == "learned" and set(told) == {"kind", "prefix", "seen"}:
            parts = {
                part: {
                    n.removeprefix(f"prior.{part}."): W
                    for n, W in learned.items()
                    if n.startswith(f"prior.{part}.")
                }
                for part in ("mean", "scale")
            }
            return Learned(told["prefix"], str(told["seen"]), parts["mean"], parts["scale"])
    except TypeError as error:
        raise InputError("prior", "zero, seeded or learned, with its fields", error) from None
    raise InputError("prior", "zero, seeded or learned, with its fields", told)
