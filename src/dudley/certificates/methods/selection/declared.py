"""What selection declares, chooses and finds."""

from __future__ import annotations

from dataclasses import dataclass

from dudley.certificates.base import MethodDeclared


@dataclass(frozen=True)
class SelectionDeclared(MethodDeclared):
    """The hash of the list of candidates with their prices."""

    candidates: str = ""


@dataclass(frozen=True)
class SelectionChoices:
    """The number of the candidate in the list."""

    candidate: int


@dataclass(frozen=True)
class SelectionFacts:
    """Errors of the chosen candidate, what it is called, and what it costs."""

    n: int
    errors: int
    train_error: float
    candidates: int
    chosen: dict[str, str]
    price_bits: float
