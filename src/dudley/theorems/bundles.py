"""Inputs that a family of near-twins shares, gathered into one object.

A form names its inputs as arguments. Where a theorem and its corollaries share ten of them, they
are the fields of a dataclass, and ``bundled`` lets a function take that object first (or several
such objects) and its own inputs after it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from itertools import chain


def bundled(*kinds: type, **fixed: float) -> Callable[[Callable], Callable]:
    """A decorator: ``value(kind(…), …, own, …)`` becomes a function of all the names, one by one.

    Kinds may share names. ``fixed`` fields are no inputs, nor are arguments of ``value`` that have
    a default.

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
    taken = [[field.name for field in fields(kind)] for kind in kinds]
    shared = [name for name in dict.fromkeys(chain(*taken)) if name not in fixed]

    def take_apart(value: Callable) -> Callable:
        parameters = list(inspect.signature(value).parameters.values())[len(kinds) :]
        own = [p.name for p in parameters if p.default is inspect.Parameter.empty]

        def call(**given):
            known = given | fixed
            parts = [
                kind(**{name: known[name] for name in names})
                for kind, names in zip(kinds, taken, strict=True)
            ]
            return value(*parts, **{name: given[name] for name in own})

        named = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY) for n in (*shared, *own)]
        call.__signature__ = inspect.Signature(named)  # pyright: ignore[reportFunctionMemberAccess]
        return call

    return take_apart
