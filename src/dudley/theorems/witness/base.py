"""Witnesses: concrete instances with a lower bound that is provably true of them.

A witness belongs to a statement. Its ``inputs`` satisfy the printed hypotheses; ``lower_bound``
is proved (in the docstring) or computed exactly; so a printed value below it is refuted, and a
derived value below it would be a bug of ours. Where the paper hides a constant, one instance
refutes nothing: a :class:`Family` shows that the ratio diverges, with the fitted exponent.

That the instance satisfies the hypotheses is not a matter of trust: every witness lists them as
premises (:mod:`dudley.theorems.witness.premises`), each with a check that looks at the instance.
For a few of them the refutation is a theorem in ``proof/``, which the Coq kernel has checked.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dudley.core.binding import arguments
from dudley.core.registry import Registry
from dudley.theorems.witness.premises import Premise


@dataclass(frozen=True)
class FormalProof:
    """A theorem of ``proof/``, closed under the global context: it rests on no axiom.

    Its instance need not be the one whose numbers are shown, so ``says`` has the sizes.

    >>> print(FormalProof("LabelNoise.v", "label_noise", "false at n = 201"))
    checked by the Coq kernel: proof/LabelNoise.v, theorem label_noise (false at n = 201)
    """

    file: str
    theorem: str
    says: str

    @property
    def path(self) -> str:
        """From the root of the repository."""
        return f"proof/{self.file}"

    def to_json(self) -> dict[str, str]:
        """Plain data."""
        return {"file": self.path, "theorem": self.theorem, "says": self.says}

    def __str__(self) -> str:
        return f"checked by the Coq kernel: {self.path}, theorem {self.theorem} ({self.says})"


class Witness(ABC):
    """Abstract: an instance against one or more statements."""

    refutes: ClassVar[tuple[str, ...]]  # ids of statements
    story: ClassVar[str]  # one sentence for the errata
    formal: ClassVar[Mapping[str, FormalProof]] = {}  # by the statement that it refutes
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
