"""Elasticities: by how many percent the bound moves when something moves by one percent."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dudley.calculus.node import Node
from dudley.core.constraint import Ball
from dudley.core.errors import InputError
from dudley.networks import explain
from dudley.networks.embeddings import Tokens

if TYPE_CHECKING:
    from dudley.networks.capacity import Capacity

_STEP = 1.1
_WIDTHS = ("d", "k", "V")  # fields that hold the width of something


@dataclass(frozen=True)
class Elasticities:
    """d log(gap)/d log x by name, at n examples; ``note`` says why, if another n was given."""

    values: dict[str, float]
    n: float
    note: str = ""

    def __getitem__(self, name: str) -> float:
        return self.values[name]

    def __str__(self) -> str:
        rows = sorted(self.values.items(), key=lambda item: -abs(item[1]))
        head = f"at n = {self.n:.3g}" + (f" ({self.note})" if self.note else "")
        return "\n".join([head, *(f"  {k:<16} {v:+.3f}" for k, v in rows)])


def of(capacity: Capacity, delta: float) -> Elasticities:
    """Central differences of ±10 % for norms and n, a doubling for sizes, one more layer for L."""
    n = capacity.n
    if n is None or capacity.is_trivial(math.log(n), delta):
        n = capacity.needed_n(capacity.loss.range / 2, delta)
    if not math.isfinite(n):
        raise InputError("elasticities", "a bound that says something", "one trivial for every n")

    def log_gap(size: float = n, **changes: Any) -> float:
        changed = dataclasses.replace(capacity, **changes)
        return math.log(changed.gaps([size], delta)[0])

    def slope(change: Callable[[float], dict]) -> float:
        ends = [log_gap(**change(factor)) for factor in (_STEP, 1 / _STEP)]
        return (ends[0] - ends[1]) / (2 * math.log(_STEP))

    values = {"n": slope(lambda factor: {"size": n * factor})}
    for name in sorted(norms(capacity.network)):
        values[name] = slope(
            lambda f, name=name: {"network": scale_norm(capacity.network, name, f)}
        )
    values["X.row2inf"] = slope(lambda factor: {"inputs": _scaled_tokens(capacity.inputs, factor)})
    here = log_gap()
    for name, (change, factor) in _sizes(capacity).items():
        values[name] = (log_gap(**change) - here) / math.log(factor)
    return Elasticities(values, n, explain.moved(capacity, math.log(n)))


def _scaled_tokens(inputs: Tokens, factor: float) -> Tokens:
    row1inf = None if inputs.row1inf is None else inputs.row1inf * factor
    return dataclasses.replace(inputs, row2inf=inputs.row2inf * factor, row1inf=row1inf)


def _sizes(capacity: Capacity) -> dict[str, tuple[dict, float]]:
    """For each size the changed network and inputs, and by what factor the size grew."""
    parts = {"network": capacity.network, "inputs": capacity.inputs}
    sizes: dict[str, tuple[dict, float]] = {}
    for name, value in widths(capacity.network).items():
        sizes[name] = (_resized(parts, _WIDTHS, value, 2 * value), 2.0)
    sizes["T"] = (_resized(parts, ("T",), capacity.inputs.T, 2 * capacity.inputs.T), 2.0)
    layers = {value for where, value in _integers(capacity.network) if where == "L"}
    if len(layers) == 1:
        (L,) = layers
        sizes["L"] = (_resized(parts, ("L",), L, L + 1), (L + 1) / L)
    return sizes


def widths(network: Node) -> dict[str, int]:
    """The widths of a network by name: V of the logits, d of the rows, k of what is hidden.

    A hidden layer's output is the next one's input, so a width is known by its value: every
    field that holds it changes with it.
    """
    fields = [(where, value) for where, value in _integers(network) if where in _WIDTHS]
    named: dict[str, int] = {}
    for name, homes in (("V", ("V",)), ("d", ("d",)), ("k", ("k", "d"))):
        fresh = [v for where, v in fields if where in homes and v not in named.values()]
        if fresh:
            named[name] = fresh[0]
    return named


def rewrite(thing: Any, change: Callable[[str, Any], Any], where: str = "") -> Any:
    """Rebuild a tree of dataclasses and tuples; ``change(name, value)`` may replace any part.

    A ball is known by the field that holds its constraint, a dense layer's weights by their names.
    """
    replaced = change(where, thing)
    if replaced is not thing:
        return replaced
    if isinstance(thing, tuple):
        parts = tuple(rewrite(part, change, where) for part in thing)
        return thing if all(a is b for a, b in zip(parts, thing, strict=True)) else parts
    if not dataclasses.is_dataclass(thing) or isinstance(thing, type):
        return thing
    called = dict(zip(("W", "b"), getattr(thing, "names", ()), strict=False)) | {"balls": where}
    changes = {}
    for field in dataclasses.fields(thing):
        old = getattr(thing, field.name)
        new = rewrite(old, change, called.get(field.name, field.name))
        if new is not old:
            changes[field.name] = new
    return dataclasses.replace(thing, **changes) if changes else thing


def norms(network: Node) -> set[str]:
    """Names such as ``W_QK.l11`` of the norm bounds in a network."""
    names = set()

    def note(where: str, thing: Any) -> Any:
        if isinstance(thing, Ball):
            names.add(f"{where}.{thing.norm}")
        return thing

    rewrite(network, note)
    return names


def scale_norm(network: Node, name: str, factor: float) -> Node:
    """The network with every norm bound of that name multiplied."""

    def change(where: str, thing: Any) -> Any:
        if isinstance(thing, Ball) and f"{where}.{thing.norm}" == name:
            return dataclasses.replace(thing, radius=float(thing.radius) * factor)
        return thing

    return rewrite(network, change)


def _integers(thing: Any) -> list[tuple[str, int]]:
    """Every integer field, with its name."""
    integers: list[tuple[str, int]] = []

    def note(where: str, part: Any) -> Any:
        if isinstance(part, int) and not isinstance(part, bool):
            integers.append((where, part))
        return part

    rewrite(thing, note)
    return integers


def _resized(parts: dict, names: tuple[str, ...], old: int, new: int) -> dict:
    """The parts with every integer field of these names and that value replaced."""

    def change(where: str, part: Any) -> Any:
        same = isinstance(part, int) and not isinstance(part, bool) and part == old
        return new if where in names and same else part

    return {key: rewrite(part, change) for key, part in parts.items()}
