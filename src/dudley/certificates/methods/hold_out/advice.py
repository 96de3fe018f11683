"""What would lower a hold-out's number most, computed."""

from __future__ import annotations

import numpy as np

from dudley.certificates.methods.hold_out.plan import HoldOutPlan
from dudley.certificates.price import Bill


def advice(plan: HoldOutPlan, interval: str, z: np.ndarray, value: float) -> tuple[str, ...]:
    """Each thing that would lower the number, with the number it would give; the best first."""
    c, n = plan.bill.log_confidence, len(z)
    free = Bill(plan.delta).log_confidence
    gains: list[tuple[float, str]] = []

    def add(why: str, losses: np.ndarray, nats: float) -> None:
        number = plan.bound(interval, losses, nats)
        if number < value:
            gains.append((number, f"{why}: {number:.3g} in place of {value:.3g}"))

    if z.any():
        what = "errors" if plan.loss.name == "error" else "loss"
        add(f"no {what} on these {n} examples", np.zeros(n), c)
    if plan.pool is None or 2 * n <= plan.pool:
        add("twice the examples, with the same losses", np.tile(z, 2), c)
    if plan.bill.prices:
        paid = " and ".join(f"{price.note}" for price in plan.bill.prices)
        add(f"nothing to pay ({paid}; {plan.bill.nats:.3g} nats)", z, free)
    return tuple(text for _, text in sorted(gains))
