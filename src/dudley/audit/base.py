"""Attacks, by name: what each aims at, and what it finds.

An attack yields findings: a statement, inputs that satisfy its hypotheses, and a lower bound that
is true of the bounded quantity on that instance. Whoever runs it evaluates every form there: a
derived form below a lower bound is broken, a printed one below it is refuted. Where the paper hides
a constant, one instance refutes nothing; a witness's family does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from dudley.audit.aims import Aim
from dudley.core.registry import Registry
from dudley.theorems import registry
from dudley.theorems.witness.base import WITNESSES, Family, Witness, family_against
from dudley.theorems.witness.lower import LowerBound


@dataclass(frozen=True)
class AttackFinding:
    """On these inputs of this statement the bounded quantity is at least so large."""

    statement: str
    inputs: Mapping[str, float]
    lower: LowerBound
    family: Family | None = None  # growing instances, against a hidden constant


class Attack(ABC):
    """Abstract: one way to bound quantities of one or more statements from below.

    It lists the statements that it was made for, or has an aim: then it attacks every statement
    that no attack lists and that fits.
    """

    targets: ClassVar[tuple[str, ...]] = ()  # ids of statements
    aim: ClassVar[Aim | None] = None
    quick: ClassVar[bool] = True  # belongs to the set that always completes

    @abstractmethod
    def run(self, rng: np.random.Generator) -> Iterable[AttackFinding]:
        """What it finds, for each statement in reach; the same for the same generator."""


ATTACKS: Registry[type[Attack]] = Registry("attack", "dudley.audit.attacks.*")


def all_attacks() -> Registry[type[Attack]]:
    """The registered attacks, and each counterexample as an attack on what it refutes."""
    attacks: Registry[type[Attack]] = Registry("attack")
    for name, attack in ATTACKS.items():
        attacks.register(name)(attack)
    for name, witness in WITNESSES.items():
        attacks.register(f"witness {name}")(from_witness(witness))
    return attacks


@cache
def from_witness(witness: type[Witness]) -> type[Attack]:
    """A witness as an attack on the statements that it refutes."""

    class FromWitness(Attack):
        targets = witness.refutes

        def run(self, rng) -> Iterator[AttackFinding]:
            instance = witness()
            lower = LowerBound(instance.lower_bound(), witness.story)
            for statement in witness.refutes:
                family = family_against(instance, statement)
                yield AttackFinding(statement, instance.inputs(statement), lower, family)

    return FromWitness


def reach(attack: type[Attack]) -> tuple[str, ...]:
    """The statements that an attack is run against: those it lists, or those that fit its aim."""
    aim = attack.aim
    if aim is None:
        return attack.targets
    listed = {id for _, other in all_attacks().items() for id in other.targets}
    statements = registry.load().items()
    return tuple(id for id, s in statements if id not in listed and aim.fits(s))
