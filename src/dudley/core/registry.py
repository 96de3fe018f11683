"""Units are registered by decorator; a missed look-up raises and names the nearest keys.

A registry knows the modules that fill it by a pattern, and imports them when it is first read: a
unit is added by a file in the right place, and no list of files is kept by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module, util
from pkgutil import iter_modules
from threading import get_ident
from typing import Generic, TypeVar, cast

from dudley.core.errors import UnknownName

Unit = TypeVar("Unit")
Registered = TypeVar("Registered")
_FILLING: set[tuple[int, int]] = set()  # registries, and the threads that fill them


class Registry(Generic[Unit]):
    """A named collection of units of one kind, in the order of registration or by ``order``.

    ``modules`` is a pattern such as ``dudley.classes.covers.*``: these modules are imported, in
    the order of their names, before the first look-up. With ``{name}`` in place of ``*``, as in
    ``dudley.certificates.methods.{name}.method``, a look-up imports the module of that name alone
    (``-`` stands for ``_``), and a listing imports all. ``changes`` counts how often the
    collection changed, for caches of what follows from it.

    >>> animals = Registry("animal")
    >>> @animals.register("cat")
    ... class Cat: ...
    >>> animals["cot"]
    Traceback (most recent call last):
    dudley.core.errors.UnknownName: unknown animal 'cot'; did you mean cat?
    """

    def __init__(
        self,
        kind: str,
        modules: str | None = None,
        order: Callable[[Unit], float] | None = None,
    ) -> None:
        self.kind = kind
        self.changes = 0
        self._units: dict[str, Unit] = {}
        self._pending = modules
        self._order = order

    def register(self, name: str) -> Callable[[Registered], Registered]:
        def add(unit: Registered) -> Registered:
            if name in self._units:
                raise ValueError(f"{self.kind} {name!r} is registered twice")
            self._units[name] = cast(Unit, unit)
            self.changes += 1
            order = self._order
            if order is not None:
                units = sorted(self._units.items(), key=lambda entry: order(entry[1]))
                self._units = dict(units)
            return unit

        return add

    def remove(self, name: str) -> Unit:
        """Take a unit out; the look-up of one that is not there raises."""
        unit = self[name]
        del self._units[name]
        self.changes += 1
        return unit

    def __getitem__(self, name: str) -> Unit:
        if name not in self:
            raise UnknownName(self.kind, name, self._filled())
        return self._units[name]

    def __contains__(self, name: object) -> bool:
        if name not in self._units and self._pending is not None:
            if "{name}" not in self._pending:
                return name in self._filled()
            self._import_named(str(name).replace("-", "_"))
        return name in self._units

    def __iter__(self) -> Iterator[str]:
        return iter(self._filled())

    def __len__(self) -> int:
        return len(self._filled())

    def items(self) -> list[tuple[str, Unit]]:
        return list(self._filled().items())

    def _import_named(self, part: str) -> None:
        """Import the module that the pattern has for one name, if there is one."""
        module = str(self._pending).replace("{name}", part)
        try:
            known = part.isidentifier() and util.find_spec(module) is not None
        except ModuleNotFoundError:  # of the package that would hold it
            known = False
        if known:
            import_module(module)

    def _filled(self) -> dict[str, Unit]:
        """The units, once the modules that register them are imported."""
        pattern, reader = self._pending, (id(self), get_ident())
        if pattern is not None and reader not in _FILLING:  # else a module among them reads
            # No lock: a second thread imports too, and waits for each module that the first is
            # importing. The import system sees when two threads wait for each other.
            _FILLING.add(reader)
            try:
                for module in modules_of(pattern.replace("{name}", "*")):
                    import_module(module)
                self._pending = None
            finally:
                _FILLING.discard(reader)
        return self._units


def modules_of(pattern: str) -> list[str]:
    """The modules whose dotted names fit a pattern.

    ``*`` stands for one name, in alphabetical order; ``a|b`` for either, in this order.

    >>> modules_of("dudley.core.reg*")
    Traceback (most recent call last):
    ValueError: a part of a pattern of modules is a name, names or *, not 'reg*'
    >>> "dudley.core.registry" in modules_of("dudley.core.*")
    True
    """
    names = [""]
    for part in pattern.split("."):
        if part == "*":
            names = [f"{package}.{name}" for package in names for name in _inside(package)]
        elif all(name.isidentifier() for name in part.split("|")):
            either = part.split("|")
            names = [f"{package}.{name}".lstrip(".") for package in names for name in either]
        else:
            raise ValueError(f"a part of a pattern of modules is a name, names or *, not {part!r}")
    return [name for name in names if "*" not in pattern or util.find_spec(name)]


def _inside(package: str) -> list[str]:
    """Names of the modules in a package; none where it is a module."""
    paths = getattr(import_module(package), "__path__", [])
    return sorted(module.name for module in iter_modules(paths))
