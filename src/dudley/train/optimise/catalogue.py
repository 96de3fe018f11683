"""Units by name, from JSON and back: what a configuration says, refused where it says nonsense.

A unit is a frozen dataclass that checks its own fields. ``{"name": "adam", "lr": 0.001}`` is the
unit registered as ``adam`` with that field and the defaults of the others; :func:`config_of` writes
every field, so that a stored configuration does not lean on today's defaults. A field that holds
units itself says in its metadata how they are read (:func:`read_by`).

>>> from dataclasses import dataclass
>>> shapes = Catalogue("shape")
>>> @shapes.register("box")
... @dataclass(frozen=True)
... class Box:
...     sides: tuple[float, ...]
...     open: bool = False
>>> box = shapes.of({"name": "box", "sides": [1.0, 2.0]})
>>> box.sides, config_of(box)
((1.0, 2.0), {'name': 'box', 'sides': [1.0, 2.0], 'open': False})
>>> shapes.of({"name": "box", "side": 1.0})
Traceback (most recent call last):
dudley.core.errors.UnknownName: unknown field of shape box 'side'; did you mean sides?
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar, cast

from dudley.core.errors import InputError, UnknownName
from dudley.core.registry import Registry

Unit = TypeVar("Unit")
UnitClass = TypeVar("UnitClass", bound=type)


class Catalogue(Generic[Unit]):
    """The units of one kind, by name; ``modules`` is the pattern of a `Registry`."""

    def __init__(self, kind: str, modules: str | None = None):
        self.units: Registry[type[Unit]] = Registry(kind, modules)

    def register(self, name: str) -> Callable[[UnitClass], UnitClass]:
        """Register a class under this name, which becomes its attribute ``name``."""

        def add(unit: UnitClass) -> UnitClass:
            unit.name = name  # pyright: ignore[reportAttributeAccessIssue]
            return self.units.register(name)(unit)

        return add

    def of(self, config: Mapping[str, Any]) -> Unit:
        """The unit that a configuration describes."""
        kind = self.units.kind
        if not isinstance(config, Mapping) or not isinstance(config.get("name"), str):
            raise InputError(kind, 'an object with a "name"', config)
        fields = {key: value for key, value in config.items() if key != "name"}
        return make_unit(self.units[config["name"]], fields, f"{kind} {config['name']}")


def make_unit(unit: type[Unit], fields: Mapping[str, Any], what: str) -> Unit:
    """A dataclass from the fields of a JSON object; unknown and missing ones are refused."""
    if not isinstance(fields, Mapping):
        raise InputError(what, "an object with fields", fields)
    known = {field.name: field for field in dataclasses.fields(cast(Any, unit))}
    for name in fields:
        if name not in known:
            raise UnknownName(f"field of {what}", name, known)
    for name, field in known.items():
        none = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if none and name not in fields:
            raise InputError(what, f"a field {name!r}", f"only {sorted(fields)}")
    return unit(**{name: _read(known[name], value) for name, value in fields.items()})


def read_by(of: Callable[[Mapping[str, Any]], Any]) -> dict[str, Any]:
    """The metadata of a field that holds one unit, or a tuple of units, read by ``of``."""
    return {"of": of}


def _read(field: dataclasses.Field, value: Any) -> Any:
    of = field.metadata.get("of", lambda part: part)
    return tuple(of(part) for part in value) if isinstance(value, list | tuple) else of(value)


def config_of(unit: Any) -> Any:
    """A unit as JSON, every field said."""
    if dataclasses.is_dataclass(unit):
        name = {"name": unit.name} if hasattr(unit, "name") else {}  # pyright: ignore
        fields = dataclasses.fields(unit)
        return name | {field.name: config_of(getattr(unit, field.name)) for field in fields}
    return [config_of(part) for part in unit] if isinstance(unit, tuple) else unit
