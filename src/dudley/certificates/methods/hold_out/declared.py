"""What a hold-out declares, chooses and finds."""

from __future__ import annotations

from dataclasses import dataclass

from dudley.certificates.base import MethodDeclared
from dudley.certificates.order import declared_seed
from dudley.certificates.records import omitted


@dataclass(frozen=True)
class HoldOutDeclared(MethodDeclared):
    """The loss with its level, intervals, looks, the pool, the split (`.method` explains each)."""

    loss: str = "error"
    margin: float | None = None
    clip: float | None = None
    interval: str | tuple[str, ...] | None = None
    looks: int = 1
    pool: int | None = None
    split: int | None = omitted()

    def __post_init__(self):
        super().__post_init__()
        if self.split is not None:
            declared_seed(self.split)


@dataclass(frozen=True)
class HoldOutChoices:
    """The interval that gives the number."""

    interval: str


@dataclass(frozen=True)
class HoldOutFacts:
    """Counts and the mean loss; for a pool, the bound in whole numbers."""

    n: int
    errors: int
    ties: int
    mean_loss: float
    pool: int | None = omitted()
    pool_errors_at_most: int | None = omitted()
    undrawn_error_at_most: float | None = omitted()
