"""Union: the price of numbers chosen after seeing the data.

A norm, a margin or a clipping level that was read off the trained model must come from a list
fixed beforehand, and every entry of the list must hold at once. The list is the grid
r^j, j ∈ Z, with weights w_j = (2/3)/((|j|+1)(|j|+2)), which sum to one; entry j is claimed at
confidence δ·w_j, so it costs ln(1/w_j) nats. Norms are rounded *up* to the grid and margins
*down*. Several numbers are chosen independently: their nats add.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, fields
from typing import Any

from dudley.core.constraint import Ball, Observed
from dudley.core.errors import InputError


@dataclass(frozen=True)
class Grid:
    """The prefix grid r^j.

    >>> used, nats = Grid().round_up(20.0)
    >>> round(used, 3), round(nats, 3)
    (22.627, 5.106)
    """

    ratio: float = math.sqrt(2)

    def __post_init__(self) -> None:
        if not 1 < self.ratio < math.inf:
            raise InputError("grid ratio", "a number > 1", self.ratio)

    def nats(self, j: int) -> float:
        """ln(1/w_j)."""
        return math.log(1.5 * (abs(j) + 1) * (abs(j) + 2))

    def round_up(self, value: float) -> tuple[float, float]:
        """The least grid point ≥ value, and its price in nats (zero needs no grid point)."""
        if not 0 <= value <= 1e300:
            raise InputError("number read off", "a number in [0, 1e300]", value)
        if value == 0:
            return self.ratio**-200, self.nats(-200)
        j = math.ceil(math.log(value) / math.log(self.ratio) - 1e-9)
        while self.ratio**j < value:
            j += 1
        return self.ratio**j, self.nats(j)

    def round_down(self, value: float) -> tuple[float, float]:
        """The largest grid point ≤ value, and its price in nats."""
        if not 0 < value < math.inf:
            raise InputError("margin", "a number > 0", value)
        j = math.floor(math.log(value) / math.log(self.ratio) + 1e-9)
        while self.ratio**j > value:
            j -= 1
        return self.ratio**j, self.nats(j)


@dataclass(frozen=True)
class Payment:
    """What was read off, what it was rounded to, and its price."""

    where: str
    observed: float
    used: float
    nats: float


def observed_numbers(thing: Any, where: str = "") -> list[tuple[str, Observed]]:
    """Every :class:`Observed` number inside a tree of dataclasses and tuples, with its place."""
    if isinstance(thing, Observed):
        return [(where, thing)]
    return [
        found for name, part in _parts(thing) for found in observed_numbers(part, _at(where, name))
    ]


def pay(thing: Any, grid: Grid, where: str = "", how: str = "up") -> tuple[Any, list[Payment]]:
    """The same tree with every observed number moved to the grid, and the payments made.

    A dataclass field says by its metadata ``{"round": …}`` how: ``"down"`` (a margin) or
    ``"integer"`` (a rank: the next integer at or above the grid point); ``"up"`` otherwise.
    """
    if isinstance(thing, Observed):
        used, nats = grid.round_down(thing) if how == "down" else grid.round_up(thing)
        used = math.ceil(used) if how == "integer" else used
        return used, [Payment(where, float(thing), used, nats)]
    if isinstance(thing, tuple):
        pairs = [pay(part, grid, _at(where, name), how) for name, part in _parts(thing)]
        return tuple(new for new, _ in pairs), [p for _, made in pairs for p in made]
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        changes, payments, called = {}, [], _called(thing)
        for field in fields(thing):
            old = getattr(thing, field.name)
            rounding = field.metadata.get("round", "up")
            new, made = pay(old, grid, _at(where, called.get(field.name, field.name)), rounding)
            payments += made
            if made:
                changes[field.name] = new
        return (dataclasses.replace(thing, **changes) if changes else thing), payments
    return thing, []


def _parts(thing: Any) -> list[tuple[str, Any]]:
    if isinstance(thing, tuple):
        return [(_name(part, i), part) for i, part in enumerate(thing)]
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        called = _called(thing)
        return [(called.get(f.name, f.name), getattr(thing, f.name)) for f in fields(thing)]
    return []


def _name(part: Any, i: int) -> str:
    """A ball is known by its norm, anything else in a tuple by its number."""
    if not isinstance(part, Ball):
        return str(i)
    return part.norm if part.center is None else f"{part.norm} around its centre"


def _called(thing: Any) -> dict[str, str]:
    """Fields that are known by another name; those without one say nothing to a reader."""
    called: dict[str, str] = dict.fromkeys(("nodes", "balls", "radius"), "")
    return called | dict(zip(("W", "b"), getattr(thing, "names", ()), strict=False))


def _at(where: str, name: str) -> str:
    return f"{where}.{name}" if where and name else where or name
