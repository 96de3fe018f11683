"""Programs that take their inputs by name: the one place that looks at their arguments.

A form names its inputs as arguments. Where a theorem and its corollaries share ten of them, they
are the fields of a dataclass, and ``bundled`` lets a function take that object first (or several
such objects) and its further inputs after it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

Program = Callable[..., Any]  # that takes its inputs by name
Bundling = Callable[[Program], "Bundled"]


def arguments(program: Program) -> dict[str, bool]:
    """The arguments that a program takes by name, and of each whether a call must give it.

    >>> arguments(lambda n, W_l11, c=1.0: c * W_l11 / n)
    {'n': True, 'W_l11': True, 'c': False}
    """
    program = inspect.unwrap(program)
    if isinstance(program, Bundled):
        return program.arguments
    parameters = inspect.signature(program).parameters.values()
    return {p.name: p.default is inspect.Parameter.empty for p in parameters}


@dataclass(frozen=True)
class Bundled:
    """A program whose first arguments are objects, called with the names of all their fields."""

    program: Program
    kinds: tuple[type, ...]
    fixed: dict[str, float]

    @cached_property
    def further(self) -> dict[str, bool]:
        """The arguments after the objects."""
        return dict(list(arguments(self.program).items())[len(self.kinds) :])

    @cached_property
    def arguments(self) -> dict[str, bool]:
        names = {field.name: True for kind in self.kinds for field in fields(kind)}
        return {name: names[name] for name in names if name not in self.fixed} | self.further

    def __call__(self, **inputs: float) -> Any:
        values = inputs | self.fixed
        objects = [kind(**{f.name: values[f.name] for f in fields(kind)}) for kind in self.kinds]
        further = {name: inputs[name] for name in self.further if name in inputs}
        return self.program(*objects, **further)


def bundled(*kinds: type, **fixed: float) -> Bundling:
    """A decorator: ``program(kind(…), …, c, …)`` becomes a program of all the names, one by one.

    Kinds may share names. ``fixed`` fields are no inputs.

    >>> from dataclasses import make_dataclass
    >>> Pair = make_dataclass("Pair", ["a", "b"])
    >>> bundled(Pair)(lambda pair, c: pair.a + pair.b + c)(a=1, b=2, c=3)
    6
    >>> bundled(Pair, b=2)(lambda pair: pair.a + pair.b)(a=1)
    3
    >>> Other = make_dataclass("Other", ["b", "c"])
    >>> bundled(Pair, Other)(lambda pair, other: pair.a * other.c)(a=2, b=0, c=4)
    8
    """
    return lambda program: Bundled(program, kinds, fixed)
