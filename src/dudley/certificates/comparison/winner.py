"""Which of several numbers on one task is the least, and why, in a sentence.

The hold-out is always one of the two that are compared: it asks least, so whatever beats it shows
what training data can do, and whatever does not, what they cost.

>>> first, why = winner([Contender("hold-out", 0.0021, "2,000 fresh examples cost 4.1 nats"),
...                      Contender("occam", 0.135, "the code costs 812 bits")]).split(": ")
>>> first, why
('hold-out wins, 0.0021 against 0.135 of occam',
 '2,000 fresh examples cost 4.1 nats, and the code costs 812 bits')
>>> winner([Contender("occam", 0.135, "the code costs 812 bits")])
''
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from dudley.certificates.certificate import RISK
from dudley.certificates.comparison.cost import cost_of
from dudley.core.rounding import ceiling

HOLD_OUT = "hold-out"


@dataclass(frozen=True)
class Contender:
    """A number that bounds an error, and what it costs in words."""

    name: str
    value: float
    cost: str
    vacuous: bool = False


def winner(contenders: Sequence[Contender]) -> str:
    """The sentence; empty without a hold-out and something beside it."""
    ordered = sorted(contenders, key=lambda contender: contender.value)
    fresh = [contender for contender in ordered if contender.name == HOLD_OUT]
    others = [contender for contender in ordered if contender.name != HOLD_OUT]
    if not fresh or not others:
        return ""
    first, second = sorted((fresh[0], others[0]), key=lambda contender: contender.value)
    values = _three(first.value), _three(second.value)
    why = f"{first.cost}, and {second.cost}"
    if first.vacuous and second.vacuous:
        return f"neither {first.name} ({values[0]}) nor {second.name} says anything: {why}"
    if first.value == second.value:
        return f"{first.name} and {second.name} give the same, {values[0]}: {why}"
    return f"{first.name} wins, {values[0]} against {values[1]} of {second.name}: {why}"


def contenders_of(items: Iterable[Mapping[str, Any]]) -> list[Contender]:
    """Those certificates, as plain data, that bound the error on a new example."""
    return [
        Contender(item["method"], item["value"], cost_of(item).words, item["vacuous"])
        for item in items
        if item["quantity"] == RISK
    ]


def _three(value: float) -> str:
    """Three digits, none below the decimal that a file shows."""
    return ceiling(Decimal(repr(value)), 3)
