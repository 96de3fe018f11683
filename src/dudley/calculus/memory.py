"""What is remembered between evaluations, so that a sweep does not compute a thing twice.

Three kinds. :func:`remembered` keeps the results of a pure function of hashable arguments (tables,
compositions). Inside ``scanning(scales)`` an allocation that is asked for one of these scales is
solved for all of them, since many cost hardly more than one. :func:`along` serves sweeps over the
number of examples: inside ``sweeping(sizes)`` a function of (entropy, log A, log n, …) is evaluated
for all sizes when it is called again, and further calls look their size up. Each value is the one
that a call by itself gives, to the last digit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache, wraps

import numpy as np

from dudley.core.entropy import Entropy

_TABLES: list = []


def remembered(maxsize: int) -> Callable[[Callable], Callable]:
    """A decorator: keep the last ``maxsize`` results, until :func:`forget`.

    >>> @remembered(8)
    ... def twice(x):
    ...     print("computed")
    ...     return 2 * x
    >>> twice(3), twice(3)
    computed
    (6, 6)
    """

    def keep(function: Callable) -> Callable:
        table = lru_cache(maxsize)(function)
        _TABLES.append(table)
        return table

    return keep


def forget() -> None:
    """Empty all tables (for benchmarks, which must not be answered from memory)."""
    for table in _TABLES:
        table.cache_clear()


@dataclass(frozen=True)
class _Axis:
    """The log sizes of a sweep, increasing, and the tables of what was evaluated at all of them.

    A first call may be the only one with its entropy (a class can depend on n), so it is evaluated
    at its own sizes; a second call is evaluated at all sizes.
    """

    log_n: np.ndarray
    called: set[Hashable] = field(default_factory=set)
    tables: dict[Hashable, np.ndarray] = field(default_factory=dict)


_AXIS: ContextVar[_Axis | None] = ContextVar("axis", default=None)


@contextmanager
def sweeping(sizes: Iterable[float]) -> Iterator[None]:
    """Within it, functions marked by :func:`along` are evaluated for all these sizes at once."""
    sizes = list(sizes)
    logs = np.unique(np.array([*np.log(sizes), *map(math.log, sizes)]))  # they can differ
    before = _AXIS.set(_Axis(logs))
    try:
        yield
    finally:
        _AXIS.reset(before)


def along(function: Callable) -> Callable:
    """A decorator for functions of (entropy, log A, array of log n) that act on each n alone.

    Further arguments, if there are any, are hashable.
    """

    @wraps(function)
    def call(entropy: Entropy, log_A: float, log_n: np.ndarray, *more: Hashable) -> np.ndarray:
        axis = _AXIS.get()
        if axis is None:
            return function(entropy, log_A, log_n, *more)
        places = np.minimum(np.searchsorted(axis.log_n, log_n), len(axis.log_n) - 1)
        if not np.array_equal(axis.log_n[places], log_n):
            return function(entropy, log_A, log_n, *more)
        key = (function, entropy, log_A, *more)
        if key not in axis.called and len(axis.log_n) > 2:
            axis.called.add(key)
            return function(entropy, log_A, log_n, *more)
        if key not in axis.tables:
            axis.tables[key] = function(entropy, log_A, axis.log_n, *more)
        return axis.tables[key][places]

    return call


_SCALES: ContextVar[np.ndarray | None] = ContextVar("scales", default=None)


@contextmanager
def scanning(log_scales: Iterable[float]) -> Iterator[None]:
    """Within it, whoever is asked for one of these scales does well to look at all of them."""
    before = _SCALES.set(np.unique(np.fromiter(log_scales, float)))
    try:
        yield
    finally:
        _SCALES.reset(before)


def in_company(log_scale: np.ndarray) -> tuple[np.ndarray, int | slice]:
    """The scales to look at together where this is asked for, and the place of this among them.

    >>> with scanning([0.5, 0.25]):
    ...     in_company(np.array(0.5)), in_company(np.array(0.75))
    ((array([0.25, 0.5 ]), 1), (array([0.75]), slice(None, None, None)))
    """
    scales = _SCALES.get()
    if scales is not None and log_scale.size == 1:
        place = int(np.searchsorted(scales, log_scale.item()))
        if place < len(scales) and scales[place] == log_scale.item():
            return scales, place
    return np.atleast_1d(log_scale), slice(None)
