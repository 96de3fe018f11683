"""What a cover is, and what is to be covered.

A :class:`CoverProblem` is a family of maps {x ↦ xW : W − W₀ ∈ ball} on inputs of ℓ2 norm ≤ 1, in
one of three forms: *linear* (error: ℓ2 norm of the output row), *bilinear* (scores xWzᵀ, error:
absolute value), *logits* (error: largest output coordinate). Adding a cover means adding one
file here: a frozen dataclass, registered, whose ``of`` yields the covers it knows for a problem.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dudley.classes.ratio import Ratio
from dudley.core.constraint import Constraint
from dudley.core.entropy import Scope
from dudley.core.registry import Registry


@dataclass(frozen=True)
class CoverProblem:
    """A family of linear maps that is to be covered on unit inputs."""

    shape: tuple[int, int]
    constraint: Constraint
    form: str  # "linear", "bilinear" or "logits"
    radius: float  # sup of the map's norm over the deviations W − W₀
    deviation: dict[str, float]  # bounds on every norm of W − W₀
    centered: bool  # is W₀ ≠ 0?
    l1: float  # inputs have ℓ1 norm ≤ l1 (√a when nothing else is known)
    rows: float  # evaluation points per example
    pairs: float  # evaluation pairs per example (bilinear)
    together: int = 0  # how many blocks decide its points together, itself included; 0: none


@dataclass(frozen=True)
class Cover(ABC):
    """Abstract: one way to cover, with its declared facts.

    ``bound`` is the numerator of the ratio bound/ε; ``proper`` says that the centres are members
    of the class (so they obey its norm bounds); ``scope`` whether one cover serves all inputs.
    """

    bound: float
    proper: bool

    name: ClassVar[str]
    scope: ClassVar[Scope]
    latex: ClassVar[str]
    citation: ClassVar[str]
    dominated: ClassVar[bool] = False  # another cover is never larger: listed, not minimised over

    @classmethod
    @abstractmethod
    def of(cls, problem: CoverProblem) -> Iterator[Cover]:
        """The covers of this kind that apply to the problem (often one, sometimes none)."""

    def on_fewest_points(self) -> Cover:
        """The same cover where each example has one point: nowhere larger than this one."""
        counts = {f.name: 1.0 for f in fields(self) if f.name in ("rows", "evaluations")}
        return replace(self, **counts) if self.scope is not Scope.UNIFORM else self

    @abstractmethod
    def log_entropy(self, ratio: Ratio, log_n: float) -> np.ndarray:
        """log log N at the given bound/ε; ``log_n``, of the number of examples, if on points."""


COVERS: Registry[type[Cover]] = Registry("cover", "dudley.classes.covers.*")


def log_of(x: ArrayLike) -> np.ndarray:
    """log x, −∞ at zero."""
    with np.errstate(divide="ignore"):
        return np.log(x)
