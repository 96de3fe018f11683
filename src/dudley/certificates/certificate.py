"""The certificate: a number, and all that is needed to compute it again.

In the file, numbers have ten digits: the value and the prices rounded up, the rest to the nearest.
``declared`` was fixed before the data and cannot be checked by anyone; ``choices`` were made after,
each from a list fixed before, and stand in ``prices``; ``facts`` are what was measured on the model
and the data. ``declarations`` says in words what the number rests on.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, ClassVar, Generic, TypeVar

from dudley.certificates import digits
from dudley.certificates.data import Dataset
from dudley.certificates.price import Bill, Price
from dudley.certificates.records import to_json
from dudley.core.errors import InputError
from dudley.core.provenance import provenance
from dudley.core.rounding import ceiling
from dudley.core.shown import Shown

SCHEMA = "dudley.certificate/2"
OLDER = {
    "dudley.certificate/1": "made before copies were refused and before the order of a file had "
    "lost its say: certify again"
}
RISK = "probability that the model errs on a new example"
ASSUMED = (
    "the examples are independent draws from the population the number is about",
    "new examples come from that population, labelled in the same way (no shift)",
    "what is listed under declared was fixed before the data were seen",
)


DeclaredRecord = TypeVar("DeclaredRecord")
ChosenRecord = TypeVar("ChosenRecord")
FactsRecord = TypeVar("FactsRecord")


@dataclass(frozen=True)
class Certificate(Shown, Generic[DeclaredRecord, ChosenRecord, FactsRecord]):
    """An upper bound on a risk, with probability at least 1 − δ over the data.

    ``declared``, ``choices`` and ``facts`` are records of the method's own classes.
    """

    method: str
    value: float
    bill: Bill
    declared: DeclaredRecord
    choices: ChosenRecord
    facts: FactsRecord
    model: dict[str, Any]
    data: dict[str, Any]
    baseline: dict[str, Any]
    declarations: tuple[str, ...] = ASSUMED
    quantity: str = RISK
    advice: tuple[str, ...] = ()
    made: dict[str, Any] = field(default_factory=provenance)
    shown_as: ClassVar[str] = "certificate"

    def __post_init__(self) -> None:
        if not 0 <= self.value < math.inf:
            raise InputError("certificate", "a finite number ≥ 0", self.value)

    @property
    def delta(self) -> float:
        return self.bill.delta

    @property
    def prices(self) -> tuple[Price, ...]:
        return self.bill.prices

    @property
    def at_most(self) -> str:
        """The value in four digits that are not below it, for a text or a page."""
        return ceiling(Decimal(repr(digits.up(self.value))), 4)

    @property
    def vacuous(self) -> bool:
        """Does guessing the most frequent class do as well, for all that is known?"""
        return self.value >= min(self.baseline.get("worst", 1.0), self.baseline["error_at_least"])

    def to_json(self) -> dict[str, Any]:
        """Plain data, as the file holds it."""
        prices = [price.to_json() | {"nats": digits.up(price.nats)} for price in self.prices]
        least = digits.down(self.baseline["error_at_least"])
        return {
            "schema": SCHEMA,
            "method": self.method,
            "quantity": self.quantity,
            "value": digits.up(self.value),
            "vacuous": self.vacuous,
            "delta": self.delta,
            "declared": to_json(self.declared),
            "choices": to_json(self.choices),
            "prices": prices,
            "nats": digits.up(self.bill.nats),
            "facts": digits.plain(to_json(self.facts)),
            "model": digits.plain(self.model),
            "data": digits.plain(self.data),
            "baseline": self.baseline | {"error_at_least": least},
            "advice": list(self.advice),
            "declarations": list(self.declarations),
            "provenance": self.made,
        }

    def text(self) -> str:
        """The file."""
        return json.dumps(self.to_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def data_facts(data: Dataset) -> dict[str, Any]:
    """What a certificate says about the data."""
    repeated = {"repeated": data.repeated} if data.repeated else {}
    return {"sha256": data.sha256, "n": data.n, "classes": data.classes} | repeated


def equal_rows(data: Dataset) -> tuple[str, ...]:
    """What is declared of rows that come more than once."""
    if not data.repeated:
        return ()
    return (f"{data.repeated} rows that equal an earlier one are draws of their own",)


def assumed(data: Dataset, pool: int | None) -> tuple[str, ...]:
    """What is assumed of the examples: independent draws, or a random subset of a finite pool."""
    if pool is None:
        return ASSUMED
    drawn = (
        f"the {data.n} examples are a random subset, drawn without replacement, of a pool of "
        f"{pool}; the number is about that pool, not about where it came from"
    )
    return (drawn, *ASSUMED[2:])


def baseline(
    data: Dataset, delta: float, pool: int | None = None, classes: int = 1
) -> dict[str, Any]:
    """How often guessing the most frequent class errs at least, at confidence 1 − δ.

    A certificate at or above this number says nothing that a constant would not have. For a finite
    pool it is the share of the pool. Where one constant answer may be right for several ``classes``
    (a loss below a level), these are the most frequent ones.
    """
    import numpy as np

    from dudley.calculus.inversion import binomial_lower
    from dudley.certificates.pool import hypergeometric_lower, share_down

    labels, counts = np.unique(data.y, return_counts=True)
    errors = int(data.n - np.sort(counts)[::-1][:classes].sum())
    c = Bill(delta).log_confidence
    if pool is None:
        least = binomial_lower(errors, data.n, c)
    else:
        least = share_down(hypergeometric_lower(errors, data.n, pool, c), pool)
    return {"class": int(labels[counts.argmax()]), "errors": errors, "error_at_least": least}
