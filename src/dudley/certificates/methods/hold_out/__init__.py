"""Hold-out: the risk of a fixed model from examples that no choice saw."""

from dudley.certificates.methods.hold_out import bernstein, betting, clopper_pearson, hoeffding
from dudley.certificates.methods.hold_out.intervals import INTERVALS, upper
from dudley.certificates.methods.hold_out.method import HoldOut

__all__ = [
    "INTERVALS",
    "HoldOut",
    "bernstein",
    "betting",
    "clopper_pearson",
    "hoeffding",
    "upper",
]
