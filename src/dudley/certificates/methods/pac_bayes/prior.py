"""Priors: P = N(w₀, diag (s·S)²), fixed before the examples that are counted.

``zero``: w₀ = 0, S = 1. ``seeded``: w₀ drawn from a declared seed, S = 1. ``learned``: w₀ and S
come from n₀ of the examples and nothing else; they stand in the posterior's file, with the hash of
those examples, and the bound counts the other n − n₀. The scale s is declared, or chosen from a
grid.

Which n₀ examples a learned prior may see is not for the order of a file to say: they come first in
a permutation of the sorted examples (`dudley.certificates.order`). Its seed, ``split``, is drawn at
random without a look at the data. So the counted examples are independent draws, given those that
the prior has seen. The prior's learner must not use the seed: together with the examples that it is
given, the seed would tell how many of the others lie between them.

>>> Zero().to_json(), Learned(100, 0, "…", {}, {}).to_json()
({'kind': 'zero'}, {'kind': 'learned', 'prefix': 100, 'split': 0})
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from dudley.certificates.data import Dataset, freeze
from dudley.core.constraint import size_of
from dudley.core.errors import InputError

Shapes = Mapping[str, tuple[int, int]]
Arrays = dict[str, np.ndarray]


class Prior(ABC):
    """Abstract: centre and scales of P, and which examples it has seen."""

    kind: ClassVar[str]

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
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

    def to_json(self):
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

    def to_json(self):
        return {"kind": self.kind, "seed": self.seed, "size": self.size}

    def center(self, shapes):
        from dudley.core.philox import Stream, key, keys_tensor, normal

        keys = keys_tensor([key("prior of pac-bayes", self.seed)])
        drawn = {}
        for i, (name, shape) in enumerate(shapes.items()):
            z = normal(keys, Stream.WEIGHTS, i, int(np.prod(shape)))[0]
            drawn[name] = self.size * z.double().numpy().reshape(shape)
        return drawn


@dataclass(frozen=True, eq=False)
class Learned(Prior):
    """Final: learned from the first ``prefix`` examples of a split; ``seen`` is their hash."""

    prefix: int
    split: int
    seen: str
    mean: Mapping[str, np.ndarray]
    scale: Mapping[str, np.ndarray]
    kind: ClassVar[str] = "learned"

    def __post_init__(self):
        size_of("examples that the prior has seen", self.prefix)
        if type(self.split) is not int or not 0 <= self.split < 1 << 32:
            raise InputError("split", "a seed, a whole number below 2^32", self.split)
        for name in ("mean", "scale"):  # the posterior remembers a hash of them
            arrays = {matrix: freeze(W) for matrix, W in getattr(self, name).items()}
            object.__setattr__(self, name, MappingProxyType(arrays))

    def to_json(self):
        return {"kind": self.kind, "prefix": self.prefix, "split": self.split}

    def center(self, shapes):
        return _check("mean", self.mean, shapes)

    def scales(self, shapes):
        return _check("scale", self.scale, shapes)

    def counted(self, data):
        seen, rest = split(data, self.prefix, self.split)
        if seen.sha256 != self.seen:
            raise InputError(
                f"first {self.prefix} examples of the split {self.split}",
                "those that the prior was learned from",
                "others",
                "a prior may have seen only examples that are not counted",
            )
        return rest

    @property
    def arrays(self):
        mean = {f"prior.mean.{name}": W for name, W in self.mean.items()}
        return mean | {f"prior.scale.{name}": W for name, W in self.scale.items()}


def split(data: Dataset, prefix: int, seed: int) -> tuple[Dataset, Dataset]:
    """The examples that a prior may see, and those that are counted."""
    if not 0 < prefix < data.n:
        got = f"{prefix} of {data.n}"
        raise InputError("examples that the prior has seen", "some, and fewer than all", got)
    mixed = data.permuted(f"split of a learned prior {seed}")
    return mixed.part(slice(0, prefix)), mixed.part(slice(prefix, None))


def _check(what: str, arrays: Mapping[str, np.ndarray], shapes: Shapes) -> Arrays:
    if set(arrays) != set(shapes):
        raise InputError(f"{what} of the prior", ", ".join(shapes), ", ".join(arrays) or "nothing")
    for name, W in arrays.items():
        if W.shape != shapes[name] or W.dtype != np.float64 or not np.isfinite(W).all():
            expected, got = f"finite float64 of shape {shapes[name]}", f"{W.dtype} {W.shape}"
            raise InputError(f"{what} of the prior of {name}", expected, got)
        if what == "scale" and not (W > 0).all():
            raise InputError(f"scale of the prior of {name}", "numbers > 0", W.min())
    return dict(arrays)


def prior_of(table: Any, arrays: Arrays) -> Prior:
    """The prior that a file describes."""
    if not isinstance(table, dict):
        raise InputError("prior", "a table with its kind", repr(table))
    kind = table.get("kind")
    learned = {n: W for n, W in arrays.items() if n.startswith("prior.")}
    if kind != "learned" and learned:
        raise InputError(f"prior {kind}", "no weights in the file", ", ".join(learned))
    try:
        if kind == "zero" and set(table) == {"kind"}:
            return Zero()
        if kind == "seeded" and set(table) == {"kind", "seed", "size"}:
            return Seeded(table["seed"], table["size"])
        if kind == "learned" and set(table) == {"kind", "prefix", "split", "seen"}:
            parts = {
                part: {
                    n.removeprefix(f"prior.{part}."): W
                    for n, W in learned.items()
                    if n.startswith(f"prior.{part}.")
                }
                for part in ("mean", "scale")
            }
            identity = table["prefix"], table["split"], str(table["seen"])
            return Learned(*identity, parts["mean"], parts["scale"])
    except TypeError as error:
        raise InputError("prior", "zero, seeded or learned, with its fields", error) from None
    raise InputError("prior", "zero, seeded or learned, with its fields", table)
