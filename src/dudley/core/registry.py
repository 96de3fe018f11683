"""Units are registered by decorator; a missed look-up raises and names the nearest keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar, cast

from dudley.core.errors import UnknownName

Unit = TypeVar("Unit")
Own = TypeVar("Own")


class Registry(Generic[Unit]):
    """A named collection of units of one kind, in the order of registration.

    >>> animals = Registry("animal")
    >>> @animals.register("cat")
    ... class Cat: ...
    >>> animals["cot"]
    Traceback (most recent call last):
    dudley.core.errors.UnknownName: unknown animal 'cot'; did you mean cat?
    """

    def __init__(self, kind: str):
        self.kind = kind
        self._units: dict[str, Unit] = {}

    def register(self, name: str) -> Callable[[Own], Own]:
        def add(unit: Own) -> Own:
            if name in self._units:
                raise ValueError(f"{self.kind} {name!r} is registered twice")
            self._units[name] = cast(Unit, unit)
            return unit

        return add

    def remove(self, name: str) -> Unit:
        """Take a unit out; the look-up of one that is not there raises."""
        unit = self[name]
        del self._units[name]
        return unit

    def __getitem__(self, name: str) -> Unit:
        try:
            return self._units[name]
        except KeyError:
            raise UnknownName(self.kind, name, self._units) from None

    def __contains__(self, name: object) -> bool:
        return name in self._units

    def __iter__(self) -> Iterator[str]:
        return iter(self._units)

    def __len__(self) -> int:
        return len(self._units)

    def items(self) -> list[tuple[str, Unit]]:
        return list(self._units.items())
