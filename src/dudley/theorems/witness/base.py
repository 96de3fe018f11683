"""Witnesses: concrete instances with a lower bound that is provably true of them.

A witness belongs to a statement. Its ``inputs`` satisfy the printed hypotheses; ``lower_bound``
is proved (in the docstring) or computed exactly; so a printed value below it is refuted, and a
derived value below it would be a bug of ours. Where the paper hides a constant, one instance
refutes nothing: a :class:`Family` shows that the ratio diverges, with the fitted exponent.

That the instance satisfies the hypotheses is not a matter of trust: every witness lists them as
premises (:mod:`dudley.theorems.witness.premises`), each with a check that looks at the instance.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dudley.core.binding import arguments
from dudley.core.registry import Registry
from dudley.theorems.witness.premises import Premise


class Witness(ABC):
    """Abstract: an instance against one or more statements."""

    refutes: ClassVar[tuple[str, ...]]  # ids of statements
    story: ClassVar[str]  # one sentence for the errata
    own_weights: ClassVar[bool] = False  # it runs the paper's weights; others might do better

    @abstractmethod
    def inputs(self, statement: str) -> dict[str, float]:
        """The statement's inputs for this instance."""

    @abstractmethod
    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        """The statement's hypotheses, each with a check on this instance."""

    @abstractmethod
    def lower_bound(self) -> float:
        """What the bounded quantity provably is at least, on this instance."""


WITNESSES: Registry[type[Witness]] = Registry(
    "witness", "dudley.theorems.witness.counterexamples.*"
)


@dataclass(frozen=True)
class Family:
    """Instances of growing size, for a printed bound with a hidden constant."""

    sizes: Sequence[float]
    lower_bounds: Sequence[float]
    printed: Sequence[float]
    grows: str = "size"  # the letter of what grows

    @property
    def exponent(self) -> float:
        """The slope of log(lower bound/printed) against log size: positive means refuted."""
        ratios = np.log(np.asarray(self.lower_bounds) / np.asarray(self.printed))
        return float(np.polyfit(np.log(np.asarray(self.sizes, dtype=float)), ratios, 1)[0])


def family_against(witness: Witness, statement: str) -> Family | None:
    """The instances of growing size against one statement, where the witness has them."""
    method = getattr(witness, "family", None)
    if method is None:
        return None
    return method(statement) if "statement" in arguments(method) else method()


def log_volume_ratio(dim: int, ratio: float) -> float:
    """log N ≥ dim·log(radius/ε): balls of radius ε must fill a ball of the same norm."""
    return dim * math.log(ratio)
