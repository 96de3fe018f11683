"""Worker processes: each is a fresh interpreter with one thread, and ends when its parent ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess

from dudley.lab.runners.freed_memory import keep_freed_memory
from dudley.lab.runners.packed_work import PackedWork
from dudley.lab.runners.runner import Order
from dudley.lab.runners.supervisor import supervise, variables
from dudley.lab.runners.worker import work_batches
from dudley.lab.store.location import RunLocation
from dudley.lab.store.owner import Owner
from dudley.lab.store.store import Store

POLL = 0.2  # seconds


@dataclass(frozen=True)
class Process:
    """A worker process."""

    process: BaseProcess

    def ended(self) -> str | None:
        code = self.process.exitcode
        return None if code is None else f"exit code {code}" if code else ""

    def holds(self, owner: Owner) -> bool:
        return owner.pid == self.process.pid

    def kill(self) -> None:
        self.process.kill()
        self.process.join()


def oversee(order: Order) -> None:
    """Keep the requested number of worker processes running until no batch waits."""
    work = PackedWork.of(order.work)
    # A forked child would inherit torch's threads, locks and CUDA context, which do not survive a
    # fork; a spawned process starts clean on every platform.
    context = multiprocessing.get_context("spawn")

    def begin(slots: list[int]) -> list[Process]:
        begun = []
        for slot in slots:
            args = (order.store.location, work, order.start, slot, order.stop)
            process = context.Process(target=_worker, args=args)
            with variables(order.environment), _deaf():
                process.start()
            begun.append(Process(process))
        return begun

    def pause(workers: Sequence[Process]) -> None:
        wait([worker.process.sentinel for worker in workers], timeout=POLL)

    supervise(order, begin, pause)


def _worker(location: RunLocation, work: PackedWork, start: int, slot: int, stop) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it and sets the flag
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    keep_freed_memory()
    store = Store.open(location)
    if _parent().is_alive():  # else the next run may be under way: leave its batches to it
        work_batches(store, work.unpack(), start, slot, lambda: bool(stop.value))
    store.close()


def _end_with_the_parent() -> None:
    wait([_parent().sentinel])
    os._exit(1)


def _parent() -> BaseProcess:
    parent = multiprocessing.parent_process()
    assert parent is not None
    return parent


@contextmanager
def _deaf() -> Iterator[None]:
    """A context in which SIGINT is blocked: a process that is started in it inherits that.

    Ctrl-C reaches the whole group of processes. Only the parent is to act on it, and a child could
    hear it before it has set its own handler.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
