"""Worker processes: each is a fresh interpreter with one thread, and ends when its parent ends.

They take batches from the store by themselves; the parent sees to it that there are enough of
them. A worker that dies (out of memory, killed) is replaced and its batch taken up again from its
latest checkpoint; a batch that costs `DEATHS` workers their lives is noted as failed.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from dudley.core.errors import DudleyError, InputError
from dudley.grid.claims import held
from dudley.grid.schema import WAITING
from dudley.grid.serve import Work, log, serve
from dudley.grid.store import Store

DEATHS = 3
POLL = 0.2  # seconds


def oversee(
    store: Store,
    work: Work,
    start: int,
    workers: int,
    stop,
    heard: Callable[[], None],
    environment: Mapping[str, str],
) -> None:
    """Keep ``workers`` processes at it until no batch waits; ``stop`` is a shared flag."""
    try:
        pickle.dumps(work)
    except Exception as error:
        told = f"{work!r} ({error})"
        raise InputError("work of a run", "a function of a module", told) from None
    context = multiprocessing.get_context("spawn")
    alive: dict[int, BaseProcess] = {}
    deaths: Counter[int | None] = Counter()
    try:
        while True:
            waiting = sum(one.status == WAITING for one in store.standing())
            for slot in range(workers):
                if slot not in alive and waiting > 0 and not stop.value:
                    args = (store.folder, work, start, slot, stop)
                    process = context.Process(target=_worker, args=args)
                    with _birth(environment):
                        process.start()
                    alive[slot] = process
                    waiting -= 1
            if not alive:
                return
            wait([process.sentinel for process in alive.values()], timeout=POLL)
            for slot, process in list(alive.items()):
                if process.exitcode is not None:
                    del alive[slot]
                    _bury(store, process, deaths)
            heard()
    finally:
        for process in alive.values():
            process.kill()
            process.join()
            _bury(store, process, Counter())


def _bury(store: Store, process: BaseProcess, deaths: Counter[int | None]) -> None:
    """What a process that ended still held goes back, or is given up."""
    theirs = [one for one, owner in held(store) if owner.pid == process.pid]
    if not theirs and process.exitcode:
        deaths[None] += 1
        if deaths[None] >= DEATHS:
            raise DudleyError(
                f"{DEATHS} workers died outside a batch, the last with exit code "
                f"{process.exitcode}; their standard error says why"
            )
    for one in theirs:
        deaths[one.id] += 1
        told = f"its worker died with exit code {process.exitcode}"
        log.warning("batch %d: %s (%d of %d)", one.id, told, deaths[one.id], DEATHS)
        one.fail(f"{told}, {DEATHS} times") if deaths[one.id] >= DEATHS else one.release()


def _worker(folder: Path, work: Work, start: int, slot: int, stop) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it and sets the flag
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    store = Store.open(folder)
    serve(store, work, start, slot, lambda: bool(stop.value))
    store.close()


def _end_with_the_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


@contextmanager
def _birth(values: Mapping[str, str]) -> Iterator[None]:
    """A process started here and now has these variables, and hears no SIGINT from the first on."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
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
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
