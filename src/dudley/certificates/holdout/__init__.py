"""Hold-out: the risk of a fixed model from examples that no choice saw."""

from dudley.certificates.holdout import bernstein, betting, clopper_pearson, hoeffding
from dudley.certificates.holdout.intervals import INTERVALS, upper
from dudley.certificates.holdout.method import HoldOut

__all__ = [
    "INTERVALS",
    "HoldOut",
    "bernstein",
    "betting",
    "clopper_pearson",
    "hoeffding",
    "upper",
]
