"""What bounds on some norms imply for all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

from dudley.core.norms.base import NORMS, ByNorm
from dudley.core.rounding import up

NormBounds = tuple[tuple[str, float], ...]


def edges(a: float, b: float, rank: float) -> Iterator[tuple[str, str, float]]:
    """(weaker, stronger, c) with weaker(W) ≤ c · stronger(W) for W ∈ R^{a×b} of rank ≤ r."""
    for name, norm in NORMS.items():
        yield from ((weaker, name, c) for weaker, c in norm.implies(a, b, rank).items())
        yield from ((name, stronger, c) for stronger, c in norm.follows(a, b, rank).items())


def implied(bounds: NormBounds, shape: tuple[int, int], rank: int | None) -> ByNorm:
    """The best bound on every norm that follows from bounds on some, by name.

    This is a relaxation over the inequalities between norms (and the Schur test,
    op² ≤ row1inf · col1inf). A bound that was put in is returned untouched.

    >>> implied((("l11", 2.0),), (3, 3), None)["op"]
    2.0
    """
    return _implied(bounds, shape, rank, NORMS.changes)


@lru_cache(maxsize=4096)
def _implied(bounds: NormBounds, shape: tuple[int, int], rank: int | None, changes: int) -> ByNorm:
    """``changes``, of the table of norms, is there for the cache alone."""
    a, b = shape
    full = min(a, b)
    known = list(edges(a, b, min(full, rank) if rank is not None else full))
    best = ByNorm(dict.fromkeys(NORMS, math.inf))
    for name, value in bounds:
        best[name] = min(best[name], value)
    changed = True
    while changed:
        changed = False
        for weaker, value in [
            *((w, best[s] if c == 1.0 else up(c * best[s])) for w, s, c in known),
            *((name, norm.jointly(best)) for name, norm in NORMS.items()),
        ]:
            if value < best[weaker]:
                best[weaker] = float(value)
                changed = True
    return best
