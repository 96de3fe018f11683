"""Elasticities: by how many percent the bound moves when something moves by one percent."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dudley.core.constraint import Ball

if TYPE_CHECKING:
    from dudley.networks.capacity import Capacity

_STEP = 1.1
_SIZES = {"T": 2.0, "d": 2.0, "k": 2.0, "V": 2.0, "L": None}  # None: one more


@dataclass(frozen=True)
class Elasticities:
    """d log(gap)/d log x by name, at n examples (more than asked for, where that is vacuous)."""

    values: dict[str, float]
    n: float

    def __getitem__(self, name: str) -> float:
        return self.values[name]

    def __str__(self) -> str:
        rows = sorted(self.values.items(), key=lambda item: -abs(item[1]))
        return "\n".join([f"at n = {self.n:.3g}", *(f"  {k:<16} {v:+.3f}" for k, v in rows)])


def of(capacity: Capacity, delta: float) -> Elasticities:
    """Central differences of ±10 % for norms and n, a doubling for sizes, one more layer for L."""
    n = capacity.n
    if n is None or float(capacity.gap(delta)) >= capacity.loss.range:
        n = capacity.needed_n(capacity.loss.range / 2, delta)

    def log_gap(changed: Capacity, size: float) -> float:
        return math.log(changed.gaps([size], delta)[0])

    here = log_gap(capacity, n)
    values = {
        "n": (log_gap(capacity, n * _STEP) - log_gap(capacity, n / _STEP)) / (2 * math.log(_STEP))
    }
    for name in sorted(norms(capacity.network)):
        up, down = (
            dataclasses.replace(capacity, network=scale_norm(capacity.network, name, factor))
            for factor in (_STEP, 1 / _STEP)
        )
        values[name] = (log_gap(up, n) - log_gap(down, n)) / (2 * math.log(_STEP))
    for name, factor in _SIZES.items():
        size = largest_size((capacity.network, capacity.inputs), name)
        if size is None:
            continue
        change = factor if factor is not None else (size + 1) / size
        network = scale_size(capacity.network, name, change)
        inputs = scale_size(capacity.inputs, name, change)
        moved = dataclasses.replace(capacity, network=network, inputs=inputs)
        values[name] = (log_gap(moved, n) - here) / math.log(change)
    inputs = dataclasses.replace(
        capacity.inputs,
        row2inf=capacity.inputs.row2inf * _STEP,
        row1inf=None if capacity.inputs.row1inf is None else capacity.inputs.row1inf * _STEP,
    )
    moved = dataclasses.replace(capacity, inputs=inputs)
    values["X.row2inf"] = (log_gap(moved, n) - here) / math.log(_STEP)
    return Elasticities(values, n)


def rewrite(thing, change, where: str = ""):
    """Rebuild a tree of dataclasses and tuples; ``change(name, value)`` may replace any part."""
    replaced = change(where, thing)
    if replaced is not thing:
        return replaced
    if isinstance(thing, tuple):
        return tuple(rewrite(part, change, where) for part in thing)
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        old = {f.name: getattr(thing, f.name) for f in dataclasses.fields(thing)}
        new = {
            name: rewrite(part, change, name if name not in _INSIDE else where)
            for name, part in old.items()
        }
        changes = {name: part for name, part in new.items() if part is not old[name]}
        return dataclasses.replace(thing, **changes) if changes else thing
    return thing


_INSIDE = ("balls",)  # a ball is known by the field that holds its constraint


def norms(network) -> set[str]:
    """Names such as ``W_QK.l11`` of the norm bounds in a network."""
    found = set()

    def note(where, thing):
        if isinstance(thing, Ball):
            found.add(f"{where}.{thing.norm}")
        return thing

    rewrite(network, note)
    return found


def scale_norm(network, name: str, factor: float):
    """The network with every norm bound of that name multiplied."""

    def change(where, thing):
        if isinstance(thing, Ball) and f"{where}.{thing.norm}" == name:
            return dataclasses.replace(thing, radius=float(thing.radius) * factor)
        return thing

    return rewrite(network, change)


def largest_size(thing, name: str) -> int | None:
    """The largest integer field of that name."""
    found: list[int] = []

    def note(where, part):
        if where == name and isinstance(part, int) and not isinstance(part, bool):
            found.append(part)
        return part

    rewrite(thing, note)
    return max(found, default=None)


def scale_size(thing, name: str, factor: float):
    """The same tree with every integer field of that name multiplied."""

    def change(where, part):
        if where == name and isinstance(part, int) and not isinstance(part, bool):
            return round(part * factor)
        return part

    return rewrite(thing, change)
