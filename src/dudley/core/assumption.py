"""Assumptions: what a number rests on, and how that is known."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Status(Enum):
    """How an assumption is known."""

    CHECKED = "checked"  # verified by this program
    DECLARED = "declared"  # the user says so, before seeing the data
    PAID = "paid"  # read off after training, and paid for by a union bound
    OBSERVED = "observed"  # seen on data only: supports no guarantee
    UNCHECKABLE = "not checkable"  # about the world


@dataclass(frozen=True)
class Assumption:
    """A hypothesis with its status.

    >>> print(Assumption("iid", "the examples are independent draws", Status.UNCHECKABLE))
    iid: the examples are independent draws [not checkable]
    """

    name: str
    statement: str
    status: Status

    def __str__(self) -> str:
        return f"{self.name}: {self.statement} [{self.status.value}]"

    def to_json(self) -> dict[str, str]:
        """Plain data."""
        return {"name": self.name, "statement": self.statement, "status": self.status.value}
