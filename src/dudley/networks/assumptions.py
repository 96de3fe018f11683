"""What a gap rests on: the sample, the inputs, the loss, and numbers fixed before or paid for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dudley.calculus.union import Payment
from dudley.core.assumption import Assumption, Status
from dudley.networks.alarms import levels

if TYPE_CHECKING:
    from dudley.networks.capacity import Capacity

MOST = 12  # payments that are listed one by one


def assumptions_of(capacity: Capacity, payments: Sequence[Payment]) -> tuple[Assumption, ...]:
    """The assumptions of a gap, each with its status."""
    inputs, loss = capacity.inputs, capacity.loss
    radius = f"every token has ℓ2 norm at most {float(inputs.row2inf):g}"
    clipped = Assumption("inputs", radius + " after clipping", Status.CHECKED)
    assumptions = [
        Assumption("sample", "the examples are independent draws", Status.UNCHECKABLE),
        clipped if inputs.clipped else Assumption("inputs", radius, Status.DECLARED),
        Assumption("loss", loss.name, Status.DECLARED),
    ]
    if capacity.alarmed:
        counts = f"an example counts {loss.range:g} if a norm layer reads a row below its"
        level = f"{counts} least_std ({levels(capacity.network)})"
        assumptions.append(Assumption("training loss", level, Status.DECLARED))
    if payments:
        read_off = f"read off and paid for: {_numbers(payments)}"
        assumptions.append(Assumption("weights", read_off, Status.PAID))
    name = "other weights" if payments else "weights"
    fixed = Assumption(name, "norm bounds fixed before seeing the data", Status.DECLARED)
    return (*assumptions, fixed)


def _numbers(payments: Sequence[Payment]) -> str:
    """The numbers that were paid for, the first three of many."""
    shown = payments if len(payments) <= MOST else payments[:3]
    names = ", ".join(f"{p.where} {p.observed:.4g} → {p.used:.4g}" for p in shown)
    if len(shown) == len(payments):
        return names
    return f"{len(payments)} numbers, each raised to its grid: {names}, …"
