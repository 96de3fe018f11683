"""What is declared for a retrained model, and the counts."""

from __future__ import annotations

from dataclasses import dataclass, field

from dudley.certificates.base import MethodDeclared
from dudley.certificates.methods.pick_to_learn.declared import PickDeclared
from dudley.certificates.records import omitted
from dudley.core.errors import InputError


@dataclass(frozen=True)
class RetrainedDeclared(MethodDeclared):
    """``share`` of δ goes to the disagreements, the rest to the bound of the picks.

    ``picking`` is what pick-to-learn declared; its own ``delta`` and ``among`` do not enter.
    """

    share: float = 0.2
    picking: PickDeclared = field(default_factory=PickDeclared)

    def __post_init__(self):
        super().__post_init__()
        if not 0 < self.share < 1:
            raise InputError("share of delta for disagreements", "a number in (0, 1)", self.share)
        if self.picking.event != "wrong":
            fix = "disagreements bound errors; pick with the event wrong"
            raise InputError("event", "wrong", self.picking.event, fix)


@dataclass(frozen=True)
class RetrainedFacts:
    """Counts of the picks and of the disagreements, and what each of both bounds says."""

    n: int
    N: int
    picks: int
    failures: int
    k: int
    picked_error_at_most: float
    unlabelled: int
    disagreements: int
    disagreement_at_most: float
    errors_of_the_sample: int
    undrawn_error_at_most: float | None = omitted()
