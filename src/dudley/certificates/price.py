"""Prices: what a choice costs that was made after seeing the data.

A choice is one entry of a list fixed beforehand whose entries have weights w ≥ 0 with Σw ≤ 1. Entry
i is claimed at confidence δ·w_i, so it costs ln(1/w_i) nats, and a bit costs ln 2. A bound that
holds with probability 1 − δ′ for every entry alone then holds for the chosen one at

    ln(1/δ′) = ln(1/δ) + Σ nats.

>>> bill = Bill(0.05, (Price("margin", 3.0), bits("code", 82, "8 weights")))
>>> round(bill.nats, 3), round(bill.log_confidence, 3)
(59.838, 62.834)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dudley.core.errors import InputError
from dudley.core.rounding import up


@dataclass(frozen=True)
class Price:
    """One choice and its nats."""

    name: str
    nats: float
    note: str = ""

    def __post_init__(self):
        if not isinstance(self.nats, int | float) or not 0 <= self.nats < math.inf:
            raise InputError(f"price of {self.name}", "a finite number of nats ≥ 0", self.nats)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"name": self.name, "nats": self.nats, "note": self.note}


def bits(name: str, count: float, note: str = "") -> Price:
    """The price of a prefix code word of so many bits."""
    return Price(name, float(up(count * math.log(2))), note)


def one_of(name: str, count: int, note: str = "") -> Price:
    """The price of one of ``count`` entries of equal weight."""
    if count < 1:
        raise InputError(f"entries of {name}", "at least one", count)
    return Price(name, float(up(math.log(count))), note or f"one of {count}")


@dataclass(frozen=True)
class Bill:
    """The confidence asked for, and every price paid."""

    delta: float
    prices: tuple[Price, ...] = ()

    def __post_init__(self):
        if not isinstance(self.delta, int | float) or not 0 < self.delta < 1:
            raise InputError("delta", "a number in (0, 1)", self.delta)

    @property
    def nats(self) -> float:
        """What all choices cost, rounded up."""
        return float(up(math.fsum(price.nats for price in self.prices)))

    @property
    def log_confidence(self) -> float:
        """ln(1/δ′), rounded up: what a bound for one fixed entry must be evaluated at."""
        return float(up(-math.log(self.delta) + self.nats))
