"""The plan of a hold-out: what was declared, checked, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dudley.certificates.methods.hold_out.declared import HoldOutDeclared
from dudley.certificates.methods.hold_out.interval import INTERVALS, upper
from dudley.certificates.methods.hold_out.losses import BoundedLoss, declared_loss
from dudley.certificates.pool import hypergeometric_upper, share_up
from dudley.certificates.price import Bill, Price, one_of
from dudley.core.errors import InputError

POOL = "hypergeometric"
ORDERED = "betting"  # for numbers whose order is independent of them: `around.draws`


@dataclass(frozen=True)
class HoldOutPlan:
    """What was declared, checked."""

    loss: BoundedLoss
    intervals: tuple[str, ...]
    looks: int
    pool: int | None
    among: int
    delta: float

    @property
    def bill(self) -> Bill:
        """Every list with more than one entry pays."""
        lists = (
            ("looks", self.looks, "models or checkpoints compared on these examples"),
            ("interval", len(self.intervals), "the smallest of several"),
            ("method", self.among, "the best of several"),
        )
        paid: list[Price] = [
            one_of(name, k, f"one of {k}: {why}") for name, k, why in lists if k > 1
        ]
        return Bill(self.delta, tuple(paid))

    def bound(self, interval: str, z: np.ndarray, c: float) -> float:
        """One interval on losses z at c = ln(1/δ)."""
        if self.pool is None:
            return upper(interval, z, c)
        return share_up(hypergeometric_upper(int(z.sum()), len(z), self.pool, c), self.pool)


def plan_of(declared: HoldOutDeclared, n: int) -> HoldOutPlan:
    """The plan, or a refusal."""
    loss, pool = declared_loss(declared), declared.pool
    if pool is not None:
        if pool < n:
            raise InputError("pool", f"its number of examples, at least n = {n}", pool)
        if loss.name != "error" or declared.interval not in (None, POOL, (POOL,)):
            got = f"loss {loss.name}, interval {declared.interval}"
            raise InputError("pool", f"the loss error, and no interval but {POOL}", got)
        intervals = (POOL,)
    else:
        intervals = _intervals(declared, loss)
    if declared.looks < 1:
        raise InputError("looks", "an integer ≥ 1", declared.looks)
    return HoldOutPlan(loss, intervals, declared.looks, pool, declared.among, declared.delta)


def _intervals(declared: HoldOutDeclared, loss: BoundedLoss) -> tuple[str, ...]:
    """The intervals among which the smallest bound may be shown."""
    default = "clopper-pearson" if loss.name == "error" else "fixed-bets"
    named = default if declared.interval is None else declared.interval
    intervals = (named,) if isinstance(named, str) else named
    if not intervals or len(set(intervals)) < len(intervals):
        raise InputError("interval", "a name, or a list of different names", list(intervals))
    for name in intervals:
        INTERVALS[name]
    if ORDERED in intervals:
        fix = "take fixed-bets: no order of a table is independent of its rows"
        raise InputError("interval", "one that needs no order of the examples", ORDERED, fix)
    if loss.name != "error" and "clopper-pearson" in intervals:
        raise InputError("interval", f"one for the loss {loss.name}", "clopper-pearson")
    return intervals
