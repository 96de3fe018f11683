"""What is known of a norm; the table of all norms; and norms by their names.

>>> norm_named("col21")(np.array([[3.0, 0.0], [4.0, 1.0]]))
6.0
>>> norm_named("row21")(np.array([[3.0, 0.0], [4.0, 0.0]]))
7.0
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from dudley.core.errors import UnknownName
from dudley.core.registry import Registry

if TYPE_CHECKING:
    from torch import Tensor

TINY = 1e-300  # added to a divisor that may be 0
Kind = Literal["entries", "rows", "columns", "whole", "singular"]
Group = Literal["each", "row", "column", "all"]


@dataclass(frozen=True)
class Sums:
    """Sums over the rows and over the columns of a matrix, and its largest absolute entry.

    ``rows1`` and ``columns1`` are sums of absolute entries, ``rows2`` and ``columns2`` of squares.
    """

    rows1: Tensor
    rows2: Tensor
    columns1: Tensor
    columns2: Tensor
    largest: float


class Norm(ABC):
    """Abstract: a norm of matrices W ∈ R^{a×b}.

    A file must supply what stands before ``value``, and ``value``. The rest is supplied where it
    is known; asking for it where it is not raises :class:`UnknownName`.
    """

    name: ClassVar[str]
    latex: ClassVar[str]
    meaning: ClassVar[str]
    transposed: ClassVar[str]  # the name of the norm of W that this one is of Wᵀ

    place: ClassVar[int] = 100  # in tables
    aliases: ClassVar[tuple[str, ...]] = ()
    constructors: ClassVar[tuple[tuple[str, str], ...]] = ()
    """The public functions that make a ball of this norm: their names and docstrings."""
    dual_name: ClassVar[str | None] = None  # of the dual norm, where it has a name here
    parts: ClassVar[tuple[Kind, Group] | None] = None
    """The norm is the largest, over groups, of the sum of the sizes of parts in the group."""

    def __call__(self, W: ArrayLike) -> float:
        """The norm of a concrete matrix, in float64 (not certified)."""
        return float(self.value(np.atleast_2d(np.asarray(W, dtype=float).T).T))  # one column

    @abstractmethod
    def value(self, W: np.ndarray) -> float:
        """The norm of a matrix."""

    def batch(self, W: Tensor) -> Tensor:
        """The norms of matrices (…, a, b), with gradients."""
        raise self.lacks("batch")

    def dual(self, M: np.ndarray) -> np.ndarray:
        """sup ⟨M, W⟩ over the unit ball, for matrices (…, a, b)."""
        raise self.lacks("dual")

    def maximiser(self, G: Tensor) -> Tensor:
        """A W of the unit ball with the largest ⟨G, W⟩, for matrices (…, a, b)."""
        raise self.lacks("maximiser")

    def draw_extreme(self, a: int, b: int, rng: np.random.Generator) -> np.ndarray:
        """An extreme point of a ball around 0, drawn at random; its norm is arbitrary."""
        raise self.lacks("draw_extreme")

    def log_volume(self, a: int, b: int) -> float:
        """log of the volume of the unit ball in R^{a×b}."""
        raise self.lacks("log_volume")

    def from_sums(self, sums: Sums) -> float:
        """The norm from sums: by further sums, maxima and one square root of each number.

        Then its relative rounding error is small, and both ends of the norm can be certified.
        """
        raise self.lacks("from_sums")

    def from_others(self, upper: Mapping[str, float], rank: int) -> float:
        """An upper end of this norm from upper ends of others, where there is no better one."""
        raise self.lacks("from_others")

    def implies(self, a: float, b: float, rank: float) -> Mapping[str, float]:
        """{other: c} with other(W) ≤ c · this(W) for every W ∈ R^{a×b} of at most this rank."""
        return {}

    def follows(self, a: float, b: float, rank: float) -> Mapping[str, float]:
        """{other: c} with this(W) ≤ c · other(W), beyond what the others imply themselves."""
        return {}

    def jointly(self, bounds: Mapping[str, float]) -> float:
        """A bound that follows from several others at once."""
        return math.inf

    def supplies(self, fact: str) -> bool:
        """Is this fact known of this norm?"""
        return getattr(type(self), fact) is not getattr(Norm, fact)

    def lacks(self, fact: str) -> UnknownName:
        """The refusal of a fact that is not known."""
        known = [name for name, norm in NORMS.items() if norm.supplies(fact)]
        return UnknownName(f"norm with a {WORDS.get(fact, fact)}", self.name, known)


WORDS = {
    "batch": "value for batches",
    "dual": "dual norm",
    "maximiser": "maximiser of linear functions",
    "draw_extreme": "way to draw extreme points",
    "log_volume": "volume",
    "from_sums": "value from sums",
    "from_others": "bound from other norms",
    "parts": "projection",
}
NORMS: Registry[Norm] = Registry("norm", "dudley.core.norms.*", order=lambda norm: norm.place)
Class = TypeVar("Class", bound=type[Norm])


def register(norm: Class) -> Class:
    """Put a norm into the table."""
    NORMS.register(norm.name)(norm())
    return norm


class ByNorm(dict[str, float]):
    """Numbers by the names of norms; a norm that is not among them is refused by name."""

    def __missing__(self, name: str) -> float:
        raise UnknownName("norm", name, self)


def aliases() -> dict[str, str]:
    """Other names of norms, each with the name in the table."""
    return {alias: name for name, norm in NORMS.items() for alias in norm.aliases}


def canonical(name: str) -> str:
    """The name in the table, if this is another one; else the same.

    >>> canonical("l2"), canonical("rank")
    ('fro', 'rank')
    """
    return name if name in NORMS else aliases().get(name, name)


def norm_named(name: str) -> Norm:
    """The norm of this name; a vector's ``l1`` and ``l2`` are accepted."""
    known = canonical(name)
    if known not in NORMS:
        raise UnknownName("norm", name, [*NORMS, *aliases()])
    return NORMS[known]
