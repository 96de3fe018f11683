"""How large a described network may be, said before anything is built of its tables.

Layers that repeat one table share their work; tables, and lists with a value for each repeat, do
not. Numbers stay where their products are floats: a bound on 1e308 would be a bound on infinity.

>>> expect_extent({"layer": [{"node": "mlp", "repeat": 10**9}]})
Traceback (most recent call last):
dudley.core.errors.InputError: layers: expected at most 4096, repeats counted, got 1000000000
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dudley.core.boundary import limits
from dudley.core.constraint import size_of
from dudley.core.errors import InputError


def expect_extent(tables: dict) -> None:
    """Refuse tables of too many layers or heads, or with numbers near the ends of the floats."""
    for name, value in _numbers(tables):
        if isinstance(value, float) and value and not abs(value) >= 1 / limits.NUMBER:
            raise InputError(name, f"0, or a number of at least {1 / limits.NUMBER:g}", value)
        if abs(value) > limits.NUMBER:
            raise InputError(name, f"a number of at most {limits.NUMBER:g}", value)
        if name.endswith(".H") and value > limits.HEADS:
            raise InputError(name, f"at most {limits.HEADS} heads", value)
    layers = tables.get("layer")
    if not isinstance(layers, list):
        return
    total = separate = 0
    for i, layer in enumerate(layers, 1):
        repeat = layer.get("repeat", 1) if isinstance(layer, dict) else 1
        total += (count := size_of(f"repeat of layer {i}", repeat))
        separate += count if has_lists(layer) else 1
    if total > limits.LAYERS:
        raise InputError("layers", f"at most {limits.LAYERS}, repeats counted", total)
    if separate > limits.SEPARATE_LAYERS:
        expected = f"at most {limits.SEPARATE_LAYERS} that differ"
        raise InputError("layers", expected, separate, "equal ones: one table with repeat")


def has_lists(table: Any) -> bool:
    """Whether some value differs from repeat to repeat."""
    return isinstance(table, list) or (
        isinstance(table, dict) and any(map(has_lists, table.values()))
    )


def _numbers(part: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """Every number with the last two keys that it stands under."""
    if isinstance(part, dict):
        for key, value in part.items():
            yield from _numbers(value, f"{name.rpartition('.')[2]}.{key}" if name else str(key))
    elif isinstance(part, list):
        for value in part:
            yield from _numbers(value, name)
    elif isinstance(part, int | float) and not isinstance(part, bool):
        yield name, part
