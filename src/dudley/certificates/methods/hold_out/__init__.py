"""Hold-out: the risk of a fixed model from examples that no choice saw."""

from dudley.certificates.methods.hold_out.interval import INTERVALS, upper
from dudley.certificates.methods.hold_out.intervals import (
    betting,
    clopper_pearson,
    empirical_bernstein,
    hoeffding,
)
from dudley.certificates.methods.hold_out.method import HoldOut

__all__ = [
    "INTERVALS",
    "HoldOut",
    "betting",
    "clopper_pearson",
    "empirical_bernstein",
    "hoeffding",
    "upper",
]
