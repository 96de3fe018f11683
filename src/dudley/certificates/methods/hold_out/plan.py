"""The plan of a hold-out: what was declared, checked, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dudley.certificates.methods.hold_out.interval import INTERVALS, upper
from dudley.certificates.methods.hold_out.losses import BoundedLoss, declared_loss
from dudley.certificates.pool import hypergeometric_upper, share_up
from dudley.certificates.price import Bill, Price, one_of
from dudley.core.errors import InputError

POOL = "hypergeometric"


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


def plan_of(declared: dict[str, Any], n: int) -> HoldOutPlan:
    """The plan, or a refusal."""
    loss, pool = declared_loss(declared), declared["pool"]
    if pool is not None:
        if not _whole(pool) or pool < n:
            raise InputError("pool", f"its number of examples, at least n = {n}", pool)
        if loss.name != "error" or declared["interval"] not in (None, POOL, [POOL]):
            got = f"loss {loss.name}, interval {declared['interval']}"
            raise InputError("pool", f"the loss error, and no interval but {POOL}", got)
        named: Any = [POOL]
    else:
        named = declared["interval"]
        if named is None:
            named = "clopper-pearson" if loss.name == "error" else "betting"
        named = [named] if isinstance(named, str) else named
        listed = isinstance(named, list | tuple) and len(named) > 0
        if not listed or len(set(map(str, named))) < len(named):
            raise InputError("interval", "a name, or a list of different names", named)
        for name in named:
            INTERVALS[str(name)]
        if loss.name != "error" and "clopper-pearson" in named:
            raise InputError("interval", f"one for the loss {loss.name}", "clopper-pearson")
    for name in ("looks", "among"):
        if not _whole(declared[name]) or declared[name] < 1:
            raise InputError(name, "an integer ≥ 1", declared[name])
    return HoldOutPlan(
        loss, tuple(named), declared["looks"], pool, declared["among"], declared["delta"]
    )


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
