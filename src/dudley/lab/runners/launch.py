"""Run a grid, here or on a cluster, so that nothing finished is lost.

Killed at any moment, the same call goes on where the store stands, with the packing of the first
start, and ends with the table of an unbroken run, provided the work is a function of its batch and
its checkpoint. Ctrl-C asks the work to stop at its next checkpoint and ends in KeyboardInterrupt;
a second Ctrl-C interrupts at once, which costs no more than a kill.

>>> from tempfile import TemporaryDirectory
>>> from dudley.lab import Batch, Cost, TrialGrid, Trial, run
>>> grid = TrialGrid([Trial({"m": m}, key=m) for m in (50, 60)], name="squares", seed=0)
>>> def work(session):
...     session.finish([{"square": trial.config["m"] ** 2} for trial in session.batch.trials])
>>> with TemporaryDirectory() as folder:
...     run(grid, [Batch(0, grid.trials, Cost(1, 1.0))], work, folder)["result.square"]
array([2500, 3600])
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.sharedctypes import RawValue
from pathlib import Path
from typing import Any

from dudley.core.errors import DudleyError, InputError
from dudley.core.sources import code_digest
from dudley.lab.grid.batch import Batch
from dudley.lab.grid.trial import TrialGrid
from dudley.lab.runners.progress import Display
from dudley.lab.runners.run_lock import run_lock
from dudley.lab.runners.runner import Order, Runner, runner_of
from dudley.lab.runners.worker import Work, log
from dudley.lab.store.checkpoints import sweep
from dudley.lab.store.claims import take_over
from dudley.lab.store.location import RunLocation
from dudley.lab.store.schema import DONE, FAILED, WAITING
from dudley.lab.store.store import Store
from dudley.lab.store.table import TrialTable, table

ONE_THREAD = {"OMP_NUM_THREADS": "1"}


class BatchFailed(DudleyError):
    """Some batches of a run failed; the others are done and stored."""


def run(
    grid: TrialGrid,
    batches: Sequence[Batch],
    work: Work,
    location: RunLocation | Path | str,
    *,
    on: str | Runner = "local",
    workers: int = 1,
    resume: bool = True,
    progress: bool | None = None,
    about: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] = ONE_THREAD,
    noun: str = "trial",
) -> TrialTable:
    """Work off every batch that is not done, and return the table of all trials.

    ``location`` is a folder, or a run of a PostgreSQL database (`RunLocation`).
    ``work(session)`` runs one batch; with several workers it must be importable (a module's
    function, or a `functools.partial` of one). ``on`` says where: ``local``, ``ray``,
    ``ray://host:port``, ``slurm`` (`runner`), and ``workers`` how many batches are worked off at a
    time: processes here, tasks of Ray, jobs of Slurm. The packing stands before a runner is
    chosen, so that the table is the same on each. ``resume=False`` refuses a location with a run.
    ``progress``: None shows it on a terminal only, True anywhere, False nowhere. ``about`` is JSON
    to be stored with this start (device, precision, versions). ``environment`` is set in worker
    processes. ``noun`` is what progress calls a trial: ``training``, where something is trained.
    """
    location, runner = RunLocation.of(location), runner_of(on)
    if workers < 1:
        raise InputError("number of workers", "an integer ≥ 1", workers)
    if not noun.strip():
        raise InputError("noun for a trial", "a word whose plural ends in s", repr(noun))
    runner.expect(location)
    with run_lock(location):
        store = Store.prepare(location, grid, batches, resume)
        if [batch.hash for batch in batches] != [batch.hash for batch in store.packing]:
            log.warning("%s goes on with the packing it was started with", location)
        take_over(store)
        sweep(store)
        start, before = store.begin(code_digest(), about or {})
        if before - {code_digest()}:
            log.warning("%s was begun with other code than this", location)
        stop = RawValue("b", 0)
        shown = Display(grid.name, workers, progress, noun=noun)
        with shown as display, _interrupts(stop):
            show = _shower(store, display)
            show()
            order = Order(store, work, start, workers, stop, show, environment)
            runner.work_off(order)
            while not stop.value and any(one.status == WAITING for one in store.standing()):
                runner.work_off(order)  # somebody let what had failed wait again
            show(last=True)
        sweep(store)
        standing = store.standing()
        store.close()
    failed = [one for one in standing if one.status == FAILED]
    if stop.value and not all(one.status == DONE for one in standing):
        raise KeyboardInterrupt(f"stopped; the same call with {location} goes on")
    if failed:
        last = (failed[0].error or "").strip().splitlines()[-1]
        raise BatchFailed(
            f"{len(failed)} of {len(standing)} batches failed, first batch {failed[0].number}: "
            f"{last}; the tracebacks are in {location}; the same call tries them again"
        )
    left = [one for one in standing if one.status != DONE]
    if left:
        raise DudleyError(
            f"{len(left)} of {len(standing)} batches are held by somebody else, first batch "
            f"{left[0].number}; a table without them would be wrong: once they have ended, the "
            f"same call with {location} goes on"
        )
    return table(location)


def _shower(store: Store, display: Display) -> Callable[..., None]:
    """Shows where the store stands, which is not asked where nobody looks."""

    def show(last: bool = False) -> None:
        if not display.silent:
            display.show(store.standing(), last)

    return show


@contextmanager
def _interrupts(stop) -> Iterator[None]:
    """The first SIGINT sets the flag, the second does what it did before."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def ask(number, frame) -> None:
        stop.value = 1
        signal.signal(signal.SIGINT, before)
        log.warning("stopping at the next checkpoint; interrupt again to stop at once")

    signal.signal(signal.SIGINT, ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
