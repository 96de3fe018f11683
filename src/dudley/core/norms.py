"""Matrix norms by unmistakable names, and what a bound on one implies for the others.

A matrix acts on token rows, x ↦ xW with W ∈ R^{a×b}: *columns* are output coordinates, *rows*
belong to input coordinates. The orientation is part of the name: ``col21`` is the sum of the ℓ2
norms of the columns (the papers' ‖W‖_{2,1}), ``row21`` the sum of the ℓ2 norms of the rows
(‖Wᵀ‖_{2,1}). Two printed lemmas are false because these were confused.

A vector is a matrix with one column; ``l1``, ``l2`` and ``linf`` are its usual names.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dudley.core.errors import UnknownName
from dudley.core.rounding import up


@dataclass(frozen=True)
class Norm:
    """A norm: its name, how it is written, what it means, how it is computed."""

    name: str
    latex: str
    meaning: str

    def __call__(self, W) -> float:
        """The norm of a concrete matrix, in float64 (not certified)."""
        W = np.atleast_2d(np.asarray(W, dtype=float).T).T  # a vector is one column
        return float(_COMPUTE[self.name](W))


def _columns(p):
    return lambda W: np.linalg.norm(W, ord=p, axis=0)


def _rows(p):
    return lambda W: np.linalg.norm(W, ord=p, axis=1)


_COMPUTE = {
    "op": lambda W: np.linalg.norm(W, 2),
    "fro": lambda W: np.linalg.norm(W),
    "nuc": lambda W: np.linalg.norm(W, "nuc"),
    "l11": lambda W: np.abs(W).sum(),
    "linf": lambda W: np.abs(W).max(),
    "col21": lambda W: _columns(2)(W).sum(),
    "row21": lambda W: _rows(2)(W).sum(),
    "col2inf": lambda W: _columns(2)(W).max(),
    "row2inf": lambda W: _rows(2)(W).max(),
    "col1inf": lambda W: _columns(1)(W).max(),
    "row1inf": lambda W: _rows(1)(W).max(),
}

NORMS: dict[str, Norm] = {
    norm.name: norm
    for norm in (
        Norm("op", r"\|W\|_2", "spectral norm"),
        Norm("fro", r"\|W\|_F", "Frobenius norm"),
        Norm("nuc", r"\|W\|_*", "nuclear norm"),
        Norm("l11", r"\|W\|_{1,1}", "sum of absolute entries"),
        Norm("linf", r"\|W\|_{\max}", "largest absolute entry"),
        Norm("col21", r"\sum_j\|W_{:,j}\|_2", "sum of the ℓ2 norms of the columns"),
        Norm("row21", r"\sum_i\|W_{i,:}\|_2", "sum of the ℓ2 norms of the rows"),
        Norm("col2inf", r"\max_j\|W_{:,j}\|_2", "largest ℓ2 norm of a column"),
        Norm("row2inf", r"\max_i\|W_{i,:}\|_2", "largest ℓ2 norm of a row"),
        Norm("col1inf", r"\max_j\|W_{:,j}\|_1", "largest ℓ1 norm of a column"),
        Norm("row1inf", r"\max_i\|W_{i,:}\|_1", "largest ℓ1 norm of a row"),
    )
}

ALIASES = {"l1": "l11", "l2": "fro", "spectral": "op", "frobenius": "fro", "nuclear": "nuc"}


def norm_named(name: str) -> Norm:
    """Look a norm up by its name; a vector's ``l1`` and ``l2`` are accepted.

    >>> norm_named("col21")(np.array([[3.0, 0.0], [4.0, 1.0]]))
    6.0
    >>> norm_named("row21")(np.array([[3.0, 0.0], [4.0, 0.0]]))
    7.0
    """
    name = ALIASES.get(name, name)
    if name not in NORMS:
        raise UnknownName("norm", name, [*NORMS, *ALIASES])
    return NORMS[name]


def _implications(a: int, b: int, rank: int) -> list[tuple[str, str, float]]:
    """Edges (weaker, stronger, c) with weaker(W) ≤ c · stronger(W) for W ∈ R^{a×b} of rank ≤ r."""
    ra, rb, rr, rab = math.sqrt(a), math.sqrt(b), math.sqrt(rank), math.sqrt(a * b)
    return [
        *((weaker, "l11", 1.0) for weaker in ("col21", "row21", "col1inf", "row1inf", "nuc")),
        *((weaker, "nuc", 1.0) for weaker in ("fro",)),
        *((weaker, "fro", 1.0) for weaker in ("op", "col2inf", "row2inf")),
        ("col21", "fro", rb), ("row21", "fro", ra), ("l11", "fro", rab), ("nuc", "fro", rr),
        ("fro", "col21", 1.0), ("col2inf", "col21", 1.0), ("nuc", "col21", 1.0),
        ("l11", "col21", ra),
        ("fro", "row21", 1.0), ("row2inf", "row21", 1.0), ("nuc", "row21", 1.0),
        ("l11", "row21", rb),
        ("col2inf", "op", 1.0), ("row2inf", "op", 1.0), ("fro", "op", rr), ("nuc", "op", rank),
        ("col21", "col2inf", b), ("fro", "col2inf", rb), ("col1inf", "col2inf", ra),
        ("row21", "row2inf", a), ("fro", "row2inf", ra), ("row1inf", "row2inf", rb),
        ("col2inf", "col1inf", 1.0), ("l11", "col1inf", b),
        ("row2inf", "row1inf", 1.0), ("l11", "row1inf", a),
        ("linf", "col2inf", 1.0), ("linf", "row2inf", 1.0),
        ("col1inf", "linf", a), ("row1inf", "linf", b), ("col2inf", "linf", ra),
        ("row2inf", "linf", rb),
    ]  # fmt: skip


@lru_cache(maxsize=4096)
def implied(bounds: tuple[tuple[str, float], ...], shape: tuple[int, int], rank: int | None):
    """The best bound on every norm that follows from bounds on some, as a dictionary.

    A relaxation over the inequalities between norms (and the Schur test,
    op² ≤ row1inf · col1inf); a bound that was given is returned untouched.

    >>> implied((("l11", 2.0),), (3, 3), None)["op"]
    2.0
    """
    a, b = shape
    full = min(a, b)
    edges = _implications(a, b, min(full, rank) if rank is not None else full)
    best = dict.fromkeys(NORMS, math.inf)
    for name, value in bounds:
        best[name] = min(best[name], value)
    changed = True
    while changed:
        changed = False
        schur = up(math.sqrt(best["row1inf"]) * math.sqrt(best["col1inf"]))
        for weaker, value in [
            *((w, best[s] if c == 1.0 else up(c * best[s])) for w, s, c in edges),
            ("op", schur),
        ]:
            if value < best[weaker]:
                best[weaker] = float(value)
                changed = True
    return best
