"""A Gaussian posterior around a start, its prior, and their file.

Of the parameters of one part, tensor by tensor,

    Q = N(θ, σ_t² I),      P = N(θ₀, (s_t·S_t)² I),

and the others stay at θ₀ under both. θ and σ are free; s is declared or chosen from a priced grid
(`methods.pac_bayes.scales`). S_t says how the scales of tensors compare. ``size``: the power of two
next to the size of the tensor at the start (`start.scale_of`). ``one``: 1. ``share``: numbers in
the file, measured on the share of the sample that the bound does not count.

A draw is θ + σz in float64, rounded to the type of the parameter. Rounding is a map of the weights,
so what is drawn diverges no more than Q from P does.

The file is a safetensors file of schema ``dudley.around/1``: θ by name, the rest in its header.
Nothing in it is executed. The start is not in it, but its hash.

>>> from dudley.core.backend import torch
>>> from dudley.certificates.learners.module_predictor import ModulePredictor
>>> start = ModuleStart(ModulePredictor(torch.nn.Linear(3, 2).eval()))
>>> θ = start.arrays(("bias",))
>>> Q = AroundPosterior(start, "bias", θ, {"bias": 0.25}, "one")
>>> Q.divergences({"bias": 0.25})["bias"] < 1e-10 < Q.divergences({"bias": 0.5})["bias"]
True
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from dudley.certificates import tensors
from dudley.certificates.around.start import ModuleStart, scale_of
from dudley.certificates.data import freeze, sha256_of
from dudley.certificates.learners.module_predictor import array_of
from dudley.certificates.methods.pac_bayes.divergence import isotropic, squared_distance
from dudley.core.errors import InputError

SCHEMA = "dudley.around/1"
RELATIVE = ("size", "one", "share")
FIELDS = {"schema", "start", "part", "sigma", "relative", "measured"}


@dataclass(frozen=True, eq=False)
class AroundPosterior:
    """ModuleStart, part that moves, means, one standard deviation a tensor, and the kind of S."""

    start: ModuleStart
    part: str
    mean: Mapping[str, np.ndarray]
    sigma: Mapping[str, float]
    relative: str = "size"
    measured: Mapping[str, float] | None = None  # S by name, where relative is "share"

    def __post_init__(self):
        names = self.names
        for what, table in (("θ", self.mean), ("σ", self.sigma)):
            if set(table) != set(names):
                odd = sorted(set(table) ^ set(names))
                raise InputError(f"{what} of the posterior", f"{len(names)} tensors", odd[0])
        _expect_positive("σ", self.sigma)
        if self.relative not in RELATIVE:
            raise InputError("relative scales", " or ".join(RELATIVE), self.relative)
        if (self.relative == "share") != (self.measured is not None):
            got = "none" if self.measured is None else "some"
            raise InputError("measured scales", "numbers for the kind share, and else none", got)
        if self.measured is not None:
            if set(self.measured) != set(names):
                raise InputError("measured scales", "a number for each tensor", "others")
            _expect_positive("scale", self.measured)
        means = {}
        for name in names:
            parameter = self.start.parameters[name]
            θ = np.asarray(self.mean[name])
            if θ.shape != tuple(parameter.shape) or not np.isfinite(θ).all():
                expected = f"finite numbers of shape {tuple(parameter.shape)}"
                raise InputError(f"θ of {name}", expected, f"shape {θ.shape}")
            means[name] = freeze(θ.astype(array_of(parameter).dtype))
        object.__setattr__(self, "mean", MappingProxyType(means))
        object.__setattr__(self, "sigma", MappingProxyType(dict(self.sigma)))

    @cached_property
    def names(self) -> tuple[str, ...]:
        return self.start.names(self.part)

    @property
    def count(self) -> int:
        """The number of weights that move."""
        return sum(θ.size for θ in self.mean.values())

    def content(self, X: np.ndarray) -> np.ndarray:
        """What the module reads of each example: all of it."""
        return X

    @cached_property
    def scales(self) -> dict[str, float]:
        """S by name."""
        return relative_scales(self.start, self.part, self.relative, self.measured)

    @cached_property
    def squares(self) -> dict[str, float]:
        """‖θ − θ₀‖² by name, from above."""
        origin = self.start.arrays
        return {n: squared_distance(θ, origin((n,))[n]) for n, θ in self.mean.items()}

    def divergences(self, s: Mapping[str, float]) -> dict[str, float]:
        """KL(Q‖P) of each tensor at the prior's scale s for it, in nats, from above."""
        return {
            n: isotropic(θ.size, self.squares[n], self.sigma[n], s[n] * self.scales[n])
            for n, θ in self.mean.items()
        }

    @cached_property
    def sha256(self) -> str:
        """Of all that the file holds, the hash of the start among it."""
        text = np.frombuffer(json.dumps(self._header(), sort_keys=True).encode(), np.uint8)
        return sha256_of(dict(self.mean) | {" ": text})

    def save(self, path: str | Path) -> None:
        """Write the file."""
        tensors.write(path, self._header(), self.mean)

    def _header(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "start": self.start.sha256,
            "part": self.part,
            "sigma": dict(self.sigma),
            "relative": self.relative,
            "measured": None if self.measured is None else dict(self.measured),
        }


def relative_scales(
    start: ModuleStart, part: str, relative: str, measured: Mapping[str, float] | None = None
) -> dict[str, float]:
    """S by name."""
    names = start.names(part)
    if measured is not None:
        return {name: float(measured[name]) for name in names}
    if relative == "one":
        return dict.fromkeys(names, 1.0)
    return {name: scale_of(start.arrays((name,))[name]) for name in names}


def load(path: str | Path, start: ModuleStart) -> AroundPosterior:
    """Read the file of a posterior around this start."""
    path = Path(path)
    header, means = tensors.read(path)
    if header.get("schema") != SCHEMA or set(header) != FIELDS:
        expected = f"a posterior around a start, with the header {SCHEMA}"
        raise InputError(path.name, expected, "a file without it")
    if header["start"] != start.sha256:
        got = f"a posterior around {str(header['start'])[:12]}…"
        raise InputError(path.name, f"one around the start {start.sha256[:12]}…", got)
    tables = [header["sigma"], header["measured"]]
    if not all(table is None or isinstance(table, dict) for table in tables):
        raise InputError(path.name, "tables of numbers", "something else")
    texts = [header["part"], header["relative"]]
    if not all(isinstance(text, str) for text in texts) or header["sigma"] is None:
        raise InputError(path.name, "a part, σ and relative scales", "something else")
    return AroundPosterior(start, texts[0], means, tables[0], texts[1], tables[1])


def _expect_positive(what: str, table: Mapping[str, Any]) -> None:
    for name, x in table.items():
        number = isinstance(x, int | float) and not isinstance(x, bool)
        if not number or not 0 < x < math.inf:
            raise InputError(f"{what} of {name}", "a finite number > 0", x)
