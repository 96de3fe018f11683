"""Workers that take batches from the store by themselves: enough of them, until none waits.

A worker is a process of this machine (`processes`) or a job of a queue (`slurm`). One that dies is
replaced, and its batch taken up again from its latest checkpoint (`RetryLimit`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

from dudley.lab.runners.retry_limit import RetryLimit
from dudley.lab.runners.runner import Order
from dudley.lab.store.claims import claims
from dudley.lab.store.owner import Owner
from dudley.lab.store.schema import WAITING
from dudley.lab.store.store import Store


class WorkerHandle(Protocol):
    """A worker, as the process that started it sees it."""

    def ended(self) -> str | None:
        """None while it lives, an empty text if it ended well, else how it died."""
        ...

    def holds(self, owner: Owner) -> bool:
        """Is it, or was it, this owner of a batch?"""
        ...

    def kill(self) -> None: ...


Handle = TypeVar("Handle", bound=WorkerHandle)


def supervise(
    order: Order,
    begin: Callable[[list[int]], Sequence[Handle]],
    pause: Callable[[Sequence[Handle]], None],
) -> None:
    """Keep workers alive until no batch waits.

    ``begin`` starts some by number, ``pause`` waits a while.
    """
    alive: dict[int, Handle] = {}
    limit = RetryLimit()
    try:
        while True:
            waiting = sum(batch.status == WAITING for batch in order.store.standing())
            free = [slot for slot in range(order.workers) if slot not in alive][:waiting]
            if free and not order.stop.value:
                alive |= zip(free, begin(free), strict=True)
            if not alive:
                return
            pause(list(alive.values()))
            for slot, worker in list(alive.items()):
                if (reason := worker.ended()) is not None:
                    del alive[slot]
                    _return_batches(order.store, worker, reason, limit)
            order.on_progress()
    finally:
        for worker in alive.values():
            worker.kill()
            # With a limit of its own: a worker that we killed says nothing against its batch.
            _return_batches(order.store, worker, "", RetryLimit())


def _return_batches(store: Store, worker: WorkerHandle, reason: str, limit: RetryLimit) -> None:
    """What a worker that ended still held goes back to waiting, or is failed."""
    theirs = [claim for claim, owner in claims(store) if worker.holds(owner)]
    for claim in theirs:
        limit.died(claim, f"its worker died{' with ' if reason else ''}{reason}")
    if reason and not theirs:
        limit.died_without_batch(reason)


@contextmanager
def variables(values: Mapping[str, str]) -> Iterator[None]:
    """What is started here and now has these variables of the environment."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
