"""Situation: one description by the names of the vocabulary, and what follows from it.

What is given are sizes, accuracies and upper bounds on norms. Whatever a statement wants beyond
that is derived, upwards only: a derived number is an upper bound that every matrix (or input) as
described obeys, so a statement about the class it names holds for the smaller class described.
Sizes, margins, accuracies and anything else that is no upper bound are never derived.

* a matrix: every norm from the others (``core.norms``), by its shape where d and k are known;
  W_QK is d×d, W_Q, W_K and W_v are d×k, W_c is k×d, w is d×1; its rank by its shape;
* W_QK = W_Q W_Kᵀ: ‖W_Q W_Kᵀ‖ ≤ ‖W_Q‖·‖W_K‖ in the pairs of norms for which this holds;
* tokens: row2inf ≤ op ≤ fro ≤ √T·row2inf and row2inf ≤ row1inf ≤ √d·row2inf, X being T×d;
* ``W.NORM``, the largest over all matrices, from W_QK, W_v, W_c and w if all four are known and
  nothing is given for W (``W.col2inf`` over both sides of W_QK: statements differ in which);
* ``query.norm2`` ≤ ``X.row2inf``: the query is a token.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from dudley.core.constraint import Observed
from dudley.core.errors import InputError, NotYetPaid
from dudley.core.norms import NORMS, canonical as canonical_norm, implied
from dudley.core.rounding import up
from dudley.core.vocabulary import check_value, expect_known, known

SHAPES = {
    "X": ("T", "d"),
    "W_QK": ("d", "d"),
    "W_Q": ("d", "k"),
    "W_K": ("d", "k"),
    "W_v": ("d", "k"),
    "W_c": ("k", "d"),
    "w": ("d", "1"),
}
RANKS = {"r_QK": "W_QK.rank", "r_v": "W_v.rank", "r_c": "W_c.rank"}
EVERY = ("W_QK", "W_v", "W_c", "w")  # what W stands for
# ‖W_Q W_Kᵀ‖ in the first norm ≤ ‖W_Q‖ in the second times ‖W_K‖ in the third.
PRODUCTS = (
    ("op", "op", "op"), ("fro", "fro", "op"), ("fro", "op", "fro"), ("nuc", "fro", "fro"),
    ("nuc", "nuc", "op"), ("nuc", "op", "nuc"), ("linf", "row2inf", "row2inf"),
    ("row2inf", "row2inf", "op"), ("col2inf", "op", "row2inf"), ("row21", "row21", "op"),
    ("col21", "op", "row21"), ("l11", "l11", "col1inf"), ("l11", "col1inf", "l11"),
    ("row1inf", "row1inf", "col1inf"), ("col1inf", "col1inf", "row1inf"),
)  # fmt: skip


def canonical(name: str) -> str:
    """One name for what has several: ``r_QK`` is ``W_QK.rank``, ``w.l1`` is ``w.l11``.

    >>> canonical("r_QK"), canonical("w.l2"), canonical("n")
    ('W_QK.rank', 'w.fro', 'n')
    """
    owner, dot, norm = RANKS.get(name, name).partition(".")
    is_matrix = dot and (owner in SHAPES or known(f"{owner}.fro"))
    return f"{owner}.{canonical_norm(norm)}" if is_matrix else name


@dataclass(frozen=True)
class Derived:
    """An upper bound that follows, and the given names it follows from.

    >>> print(Derived("W_v.op", 1.0, ("W_v.l11",)))
    W_v.op ≤ 1 from W_v.l11
    """

    name: str
    value: float
    sources: tuple[str, ...]

    def __str__(self) -> str:
        *first, last = self.sources
        named = f"{', '.join(first)} and {last}" if first else last
        return f"{self.name} ≤ {self.value:.6g} from {named}"


@dataclass(frozen=True)
class Situation:
    """Numbers by the names of the vocabulary, checked, and closed under what follows.

    >>> here = Situation({"d": 64, "k": 16, "W_v.l11": 1.0, "W_v.fro": 0.5, "X.row2inf": 2.0})
    >>> here.find("W_v.op"), here.find("W_v.col21"), here.find("W_c.op")
    (0.5, 1.0, None)
    >>> print(here.derivation("X.row1inf"))
    X.row1inf ≤ 16 from X.row2inf and d
    >>> Situation({"r_QK": 128, "d": 64})
    Traceback (most recent call last):
    dudley.core.errors.InputError: r_QK: expected a rank of at most 64 for a 64×64 matrix, got 128
    """

    values: Mapping[str, float]

    def __post_init__(self) -> None:
        checked: dict[str, float] = {}
        for name, value in self.values.items():
            expect_known(name)
            if isinstance(value, Observed):
                raise NotYetPaid(
                    f"{name} = {float(value):g} was read off after seeing the data; a comparison "
                    "takes numbers fixed before (du.capacity(…).gap(…, union=…) pays for others)"
                )
            checked[name] = check_value(name, value)
        object.__setattr__(self, "values", checked)
        names = [canonical(name) for name in checked]
        for name, once in zip(checked, names, strict=True):
            if names.count(once) > 1:
                raise InputError(name, "one value", "another under a second name")
        self._expect_no_contradiction()

    def _expect_no_contradiction(self) -> None:
        for name, value in self.values.items():
            owner, _, norm = canonical(name).partition(".")
            if norm == "rank" and owner in SHAPES:
                a, b = _shape(owner, self.values)
                if value > min(a, b):
                    limit = f"a rank of at most {min(a, b):g} for a {a:g}×{b:g} matrix"
                    raise InputError(name, limit, f"{value:g}")
        if self.values.get("s", 1) > self.values.get("T", math.inf):
            raise InputError("s", "at most T", f"{self.values['s']:g} of {self.values['T']:g}")

    @cached_property
    def _canonical(self) -> dict[str, float]:
        return {canonical(name): value for name, value in self.values.items()}

    @cached_property
    def _closed(self) -> dict[str, float]:
        return closed(self._canonical)

    def find(self, name: str) -> float | None:
        """What is given for a name or follows for it; ``None`` where nothing does."""
        return self._closed.get(canonical(name))

    def gives(self, name: str) -> bool:
        """Is the name given, and not bettered by what else is given?"""
        once = canonical(name)
        return once in self._canonical and self._canonical[once] == self._closed[once]

    def derivation(self, name: str) -> Derived:
        """Where a derived number comes from: given names none of which can be left out."""
        once = canonical(name)
        value = self._closed[once]
        needed = {source: v for source, v in self._canonical.items() if _bears_on(once, source)}
        for source in sorted(needed, key=lambda s: (s not in ("d", "k", "T"), s), reverse=True):
            fewer = {s: v for s, v in needed.items() if s != source}
            if closed(fewer).get(once) == value:
                needed = fewer
        spelt = {canonical(given): given for given in self.values}
        order = sorted(needed, key=lambda s: s in ("d", "k", "T"))
        return Derived(name, value, tuple(spelt[source] for source in order))

    def but(self, name: str, value: float) -> Situation:
        """The same with another value of one name."""
        return Situation({**self.values, name: value})


def _bears_on(name: str, source: str) -> bool:
    """May a given name help to derive another?"""
    owner, prefix = name.partition(".")[0], source.partition(".")[0]
    helpers = {"W": (*EVERY, "W", "W_Q", "W_K"), "W_QK": ("W_Q", "W_K"), "query": ("X",)}
    return prefix in (owner, "d", "k", "T", *helpers.get(owner, ()))


def _shape(owner: str, values: Mapping[str, float]) -> tuple[float, float]:
    """The shape of a matrix; infinite where it is not known."""
    sizes = {"1": 1.0, **values}
    a, b = SHAPES.get(owner, ("", ""))
    return sizes.get(a, math.inf), sizes.get(b, math.inf)


def closed(numbers: Mapping[str, float]) -> dict[str, float]:
    """Canonical names with everything that follows for them.

    >>> closed({"W_Q.op": 2.0, "W_K.op": 3.0, "k": 4.0})["W_QK.rank"]
    4.0
    """
    bounds = dict(numbers)
    owned: dict[str, dict[str, float]] = {}
    for name, value in numbers.items():
        owner, dot, norm = name.partition(".")
        if dot and (norm in NORMS or norm == "rank") and known(f"{owner}.fro"):
            owned.setdefault(owner, {})[norm] = value
    factors = {W: _norms(owned.pop(W), _shape(W, numbers)) for W in ("W_Q", "W_K") if W in owned}
    if factors:
        product, k = dict(owned.get("W_QK", {})), numbers.get("k", math.inf)
        Q, K = factors.get("W_Q", {}), factors.get("W_K", {})
        for norm, left, right in PRODUCTS:
            value = Q.get(left, math.inf) * K.get(right, math.inf)
            if value < math.inf:
                product[norm] = min(product.get(norm, math.inf), float(up(value)))
        ranks = (product.get("rank", math.inf), Q.get("rank", k), K.get("rank", k), k)
        if min(ranks) < math.inf:
            product["rank"] = min(ranks)
        owned["W_QK"] = product
    every = owned.pop("W", {})
    norms = factors | {W: _norms(by_norm, _shape(W, numbers)) for W, by_norm in owned.items()}
    norms["W"] = _largest(every, norms, numbers)
    for owner, by_norm in norms.items():
        bounds |= {f"{owner}.{n}": v for n, v in by_norm.items() if known(f"{owner}.{n}")}
    for owner in ("W_QK", "W_v", "W_c"):
        rank = min(_shape(owner, numbers))
        if rank < math.inf:
            bounds.setdefault(f"{owner}.rank", rank)
    if "X.row2inf" in bounds:
        bounds["query.norm2"] = min(numbers.get("query.norm2", math.inf), bounds["X.row2inf"])
    return bounds


def _norms(radii: Mapping[str, float], shape: tuple[float, float]) -> dict[str, float]:
    """The finite norms that follow for a matrix, and its rank."""
    rank = min(radii.get("rank", math.inf), *shape)
    bounds = tuple((norm, value) for norm, value in radii.items() if norm != "rank")
    every = implied(bounds, shape, rank)  # pyright: ignore[reportArgumentType]
    finite = {norm: value for norm, value in every.items() if value < math.inf}
    return finite | ({"rank": rank} if rank < math.inf else {})


def _largest(stated: Mapping[str, float], norms: Mapping, numbers: Mapping) -> dict[str, float]:
    """Bounds on W: from what is given for it, for each shape it may have; else the largest of all.

    A given W need not be one of the four: in the lemmas on linear maps it is that matrix.
    """
    each = [norms.get(W, {"rank": min(_shape(W, numbers))}) for W in EVERY]
    if stated:
        each = [_norms(stated, _shape(W, numbers)) for W in EVERY]
    largest = {}
    for norm in (*NORMS, "rank"):
        bounds = [one.get(norm, math.inf) for one in each]
        if norm == "col2inf":
            bounds.append(each[0].get("row2inf", math.inf))
        value = stated.get(norm, max(bounds))
        if value < math.inf:
            largest[norm] = value
    return largest
