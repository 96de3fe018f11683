"""Attacks, by name: what each aims at, and what it finds.

An attack yields findings: a statement, inputs that satisfy its hypotheses, and a lower bound that
is true of the bounded quantity on that instance. Whoever runs it evaluates every form there: a
derived form below a lower bound is broken, a printed one below it is refuted. Where the paper hides
a constant, one instance refutes nothing; a witness's family does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dudley.core.registry import Registry
from dudley.witness.base import Family
from dudley.witness.lower import LowerBound


@dataclass(frozen=True)
class Finding:
    """On these inputs of this statement the bounded quantity is at least so large."""

    statement: str
    inputs: Mapping[str, float]
    lower: LowerBound
    family: Family | None = None  # growing instances, against a hidden constant


class Attack(ABC):
    """Abstract: one way to bound quantities of one or more statements from below."""

    targets: ClassVar[tuple[str, ...]]  # ids of statements
    quick: ClassVar[bool] = True  # belongs to the set that always completes

    @abstractmethod
    def run(self, rng: np.random.Generator) -> Iterable[Finding]:
        """What it finds, for each of its targets; the same for the same generator."""


ATTACKS: Registry[type[Attack]] = Registry("attack")
