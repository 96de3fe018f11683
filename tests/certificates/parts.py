"""Toy methods for the best of several: Clopper and Pearson, each on its own part of the data."""

from __future__ import annotations

import dataclasses

from dudley.calculus.inversion import binomial_upper
from dudley.certificates.base import Method, MethodDeclared
from dudley.certificates.certificate import Certificate, baseline, data_facts
from dudley.certificates.price import Bill, one_of
from dudley.core.errors import InputError


@dataclasses.dataclass(frozen=True)
class PartDeclared(MethodDeclared):
    refuse: bool = False
    free: bool = False
    about: str = ""


@dataclasses.dataclass(frozen=True)
class PartChoices:
    """Nothing is chosen."""


class Part(Method[PartDeclared, PartChoices]):
    """Examples i, i + of, i + 2·of, …; ``free`` leaks: it does not pay for the choice."""

    declares = PartDeclared
    chooses = PartChoices

    def __init__(self, i: int, of: int = 4):
        self.i, self.of, self.name, self.seen = i, of, f"part-{i}", []

    def choose(self, model, data, declared):
        if declared.refuse:
            raise InputError("part", "another day", "today")
        return PartChoices()

    def certify(self, model, data, declared, choices):
        self.seen.append(data)
        mine = (model.margins(data) <= 0)[self.i :: self.of]
        paid = () if declared.free else (one_of("method", declared.among),)
        bill = Bill(declared.delta, paid)
        value = binomial_upper(int(mine.sum()), len(mine), bill.log_confidence)
        of = model.facts(), data_facts(data), baseline(data, declared.delta)
        made = Certificate(self.name, value, bill, declared, choices, {}, *of)
        return dataclasses.replace(made, quantity=declared.about) if declared.about else made
