"""Inputs that a family of near-twins shares, gathered into one object.

A form names its inputs as arguments. Where a theorem and its corollaries share ten of them, they
are the fields of a dataclass, and ``bundled`` lets a function take that object first and its own
inputs after it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields


def bundled(kind: type) -> Callable[[Callable], Callable]:
    """A decorator: ``value(kind(…), own, …)`` becomes a function of all the names, one by one.

    >>> from dataclasses import make_dataclass
    >>> Pair = make_dataclass("Pair", ["a", "b"])
    >>> bundled(Pair)(lambda pair, c: pair.a + pair.b + c)(a=1, b=2, c=3)
    6
    """
    shared = [field.name for field in fields(kind)]

    def take_apart(value: Callable) -> Callable:
        own = list(inspect.signature(value).parameters)[1:]

        def call(**given):
            return value(kind(**{n: given[n] for n in shared}), **{n: given[n] for n in own})

        named = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY) for n in (*shared, *own)]
        call.__signature__ = inspect.Signature(named)  # pyright: ignore[reportFunctionMemberAccess]
        return call

    return take_apart
