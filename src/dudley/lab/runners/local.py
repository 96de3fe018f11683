"""The runner of this machine: in this process, or in several that it starts (`processes`)."""

from __future__ import annotations

from dataclasses import dataclass

from dudley.lab.runners.processes import oversee
from dudley.lab.runners.runner import Order, Runner
from dudley.lab.runners.worker import work_batches
from dudley.lab.store.location import RunLocation


@dataclass(frozen=True)
class Local(Runner):
    """One worker is this process; several are processes of one thread each."""

    def expect(self, location: RunLocation) -> None:
        pass

    def work_off(self, order: Order) -> None:
        if order.workers > 1:
            oversee(order)
            return
        stop = order.stop
        work_batches(
            order.store, order.work, order.start, 0, lambda: bool(stop.value), order.on_progress
        )
