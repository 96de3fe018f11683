"""The pointwise best of several covers: the entropy of one block of weights."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dudley.classes.covers.base import Cover
from dudley.classes.ratio import ExactRatio, LogRatio
from dudley.core.entropy import Entropy, Metric, Scope, log_size, resolutions
from dudley.core.errors import InputError
from dudley.core.rounding import ceil_power_ratio

_TOO_MANY = 600.0  # past e^600 examples a cover on points is not evaluated


def _in_units(bound: float, radius: float) -> float:
    """bound/radius or a little more: one float for all quotients that differ by rounding."""
    if bound == radius or bound == 0:
        return bound / radius
    mantissa, exponent = math.frexp(bound / radius)
    return math.ldexp(math.ceil(mantissa * (1 + 2.0**-46) * 2.0**40), exponent - 40)


@dataclass(frozen=True)
class BestOf(Entropy):
    """min over covers at each ε; zero once ε reaches the radius of the class.

    ``radius`` is for unit inputs and multiplied by ``scale``, the radius of the inputs.
    ``has_center``: the centre, from which every member is within the radius, is a member.
    """

    covers: tuple[Cover, ...]
    radius: float
    metric: Metric = Metric.ROWS
    has_center: bool = True
    scale: float = 1.0

    @cached_property
    def _hash(self) -> int:
        return hash((self.covers, self.radius, self.metric, self.has_center, self.scale))

    def __hash__(self) -> int:  # tables are looked up by what they are of
        return self._hash

    @property
    def log_radius(self) -> float:
        reach = self.radius * self.scale
        return math.log(reach) if reach > 0 else -math.inf

    @property
    def uses_points(self) -> bool:
        return any(cover.scope is not Scope.UNIFORM for cover in self.covers)

    def parts(self) -> tuple[BestOf, ...]:
        """The same minimum as that of covers of uniform scope and of covers on points."""
        groups = ([c for c in self.covers if c.scope is scope] for scope in Scope)
        return tuple(replace(self, covers=tuple(group)) for group in groups if group)

    def on_fewest_points(self) -> BestOf:
        """The same covers where each example has one point."""
        return self._on_fewest_points

    @cached_property
    def _on_fewest_points(self) -> BestOf:
        return replace(self, covers=tuple(c.on_fewest_points() for c in self.covers))

    def unit(self) -> BestOf:
        """The same covers with bounds in units of the radius, rounded up to a dozen digits."""
        return self._unit

    @cached_property  # asked for at every resolution
    def _unit(self) -> BestOf:
        if not 0 < self.radius < math.inf:
            return self
        covers = tuple(replace(c, bound=_in_units(c.bound, self.radius)) for c in self.covers)
        return replace(self, covers=covers, radius=1.0, scale=1.0)

    def available(self, log_n: float | None) -> list[Cover]:
        """The covers that may be used: those on points only for a number of examples."""
        with_points = log_n is not None and log_n < _TOO_MANY
        return [c for c in self.covers if with_points or c.scope is Scope.UNIFORM]

    def each(self, log_ε: ArrayLike, log_n: float | None = None) -> dict[str, np.ndarray]:
        """log log N of every available cover, by name."""
        return {
            c.name: self._at(c, np.asarray(log_ε, dtype=float), log_n)
            for c in self.available(log_n)
        }

    def _competing(self, log_n: float | None) -> list[Cover]:
        """The available covers without those that another one always beats."""
        covers = self.available(log_n)
        return [c for c in covers if not c.dominated] or covers

    def _at(self, cover: Cover, log_ε: np.ndarray, log_n: float | None) -> np.ndarray:
        if cover.bound * self.scale == 0:
            return np.full(log_ε.shape, -math.inf)
        u = math.log(cover.bound) + math.log(self.scale) - log_ε
        return cover.log_entropy(LogRatio(u), math.nan if log_n is None else log_n)

    def log_log(self, log_ε: ArrayLike, log_n: float | None = None) -> np.ndarray:
        log_ε = np.asarray(log_ε, dtype=float)
        values = [self._at(c, log_ε, log_n) for c in self._competing(log_n)]
        best = np.minimum.reduce(values, initial=math.inf)
        return np.where(log_ε >= self.log_radius, -math.inf, best)

    def winner(self, log_ε: float, log_n: float | None = None) -> str:
        """The name of the cover that is smallest at this resolution."""
        cover = self.cheapest(log_ε, log_n)
        return "one point" if cover is None else cover.name

    def cheapest(self, log_ε: float, log_n: float | None = None) -> Cover | None:
        """The cover that is smallest at this resolution; none where one point is enough."""
        if log_ε >= self.log_radius:
            return None
        at = np.asarray(log_ε, dtype=float)
        return min(self.available(log_n), key=lambda cover: float(self._at(cover, at, log_n)))

    def __call__(self, ε: ArrayLike, n: float | None = None) -> Any:
        """log N(ε), with exact integer parts up to 2^53."""
        ε, log_n = resolutions(ε), log_size(n)
        logs = [self._exactly(c, ε, log_n) for c in self._competing(log_n)]
        values = np.exp(np.minimum.reduce(logs))
        inside = np.asarray(ceil_power_ratio((self.radius, self.scale), ε, 1)) <= 1  # exactly
        values = np.where(inside, 0.0, values)
        return values if ε.ndim else float(values)

    def _exactly(self, cover: Cover, ε: np.ndarray, log_n: float | None) -> np.ndarray:
        if cover.bound * self.scale == 0:
            return np.full(ε.shape, -math.inf)
        ratio = ExactRatio((cover.bound, self.scale), ε)
        return cover.log_entropy(ratio, math.nan if log_n is None else log_n)

    @property
    def is_proper(self) -> bool:
        """Are all centres members of the class?"""
        return self.has_center and all(cover.proper for cover in self.covers)

    def proper(self) -> BestOf:
        """Centres that are members: a cover by others serves at half its resolution."""
        return self._proper

    @cached_property
    def _proper(self) -> BestOf:
        covers = tuple(
            c if c.proper else replace(c, bound=2 * c.bound, proper=True) for c in self.covers
        )
        radius = self.radius if self.has_center else 2 * self.radius
        return replace(self, covers=covers, radius=radius, has_center=True)

    def only(self, names: tuple[str, ...] | None) -> BestOf:
        """Only the covers of these names (all, if ``None``): a paper's own way."""
        if names is None:
            return self
        covers = tuple(c for c in self.covers if c.name in names)
        if not covers:
            raise InputError("cover", f"one of {', '.join(c.name for c in self.covers)}", names)
        return replace(self, covers=covers)

    def uniform(self) -> BestOf:
        """Only the covers that serve all inputs of the radius at once."""
        return replace(self, covers=tuple(c for c in self.covers if c.scope is Scope.UNIFORM))

    def scaled(self, factor: float) -> BestOf:
        """The same maps on inputs of another radius."""
        return replace(self, scale=self.scale * factor)
