"""Progress, on standard error: a bar on a terminal, else, when asked for, a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from dudley.lab.grid.estimate import Estimate, duration
from dudley.lab.store.schema import DONE, FAILED, RUNNING
from dudley.lab.store.store import BatchStatus

BAR = 20  # letters: beside it a line fits most terminals


def progress_line(
    standing: Sequence[BatchStatus], estimate: Estimate, seconds: float, noun: str = "trial"
) -> str:
    """One line of a run at work: what is done, share of the work, time spent, time left.

    A trial is done when its batch is; ``noun`` is what a trial is called, and ``seconds`` were
    spent by this start.

    >>> half = BatchStatus(0, RUNNING, work=10.0, done=5.0, error=None, size=40)
    >>> progress_line([half], Estimate(workers=1), 100.0, "training")
    '0 of 40 trainings · 50.0 % · 1 min 40 s · time left not known yet'
    """
    words = [*_so_far(standing, noun), duration(seconds)]
    match estimate.remaining([one.left for one in standing if one.status != FAILED]):
        case None:
            words.append("time left not known yet")
        case (_, 0.0):
            pass  # steps are made, and results are not yet there
        case (low, high) if high == float("inf"):
            words.append(f"at least {duration(low)} left")
        case (low, high) if high <= 1.1 * low:
            words.append(f"about {duration((low + high) / 2)} left")
        case (low, high):
            words.append(f"{duration(low)} to {duration(high)} left")
    return " · ".join(words)


def last_line(
    standing: Sequence[BatchStatus], seconds: float, noun: str = "trial", before: int = 0
) -> str:
    """The line of a start that has ended; so many trials were done ``before`` it.

    >>> whole = BatchStatus(0, DONE, work=10.0, done=10.0, error=None, size=40)
    >>> last_line([whole], 158.0, "training")
    '40 trainings done · 2 min 38 s'
    >>> last_line([whole], 1.0, "training", before=40)
    '40 trainings done, all of them before'
    """
    total = sum(one.size for one in standing)
    if any(one.status != DONE for one in standing):
        return " · ".join([*_so_far(standing, noun), duration(seconds)])
    done = f"{_counted(total, noun)} done"
    if before == total:
        return f"{done}, all of them before"
    earlier = f", {before:,} of them before" if before else ""
    return f"{done}{earlier} · {duration(seconds)}"


def _so_far(standing: Sequence[BatchStatus], noun: str) -> list[str]:
    """How many trials are done, the share of the work, and what failed."""
    total, failed = sum(one.size for one in standing), [b for b in standing if b.status == FAILED]
    share = 100 * (1 - sum(one.left for one in standing) / sum(one.work for one in standing))
    if any(one.status != DONE for one in standing):
        share = min(share, 99.9)  # it is never rounded to the whole
    words = [f"{_done(standing):,} of {_counted(total, noun)}", f"{share:.1f} %"]
    if failed:
        batches = _counted(len(failed), "batch", "batches")
        words.append(f"{sum(one.size for one in failed):,} failed ({batches})")
    return words


def _done(standing: Sequence[BatchStatus]) -> int:
    """Trials of batches that are done."""
    return sum(one.size for one in standing if one.status == DONE)


def _counted(count: int, noun: str, plural: str | None = None) -> str:
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


class Display:
    """Shows where a run stands; ``wanted`` None means: only on a terminal.

    ``noun`` is what a trial is called. On a terminal the bar moves whenever it is asked to, else
    there is a line ``every`` so many seconds; the last line is always said.
    """

    def __init__(
        self,
        name: str,
        workers: int,
        wanted: bool | None = None,
        stream: TextIO | None = None,
        every: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
        noun: str = "trial",
    ):
        self.stream = sys.stderr if stream is None else stream
        terminal = self.stream.isatty()
        self.silent = not (terminal if wanted is None else wanted)
        self.name, self.every, self.clock = name, 0.0 if terminal else every, clock
        self.noun, self._began, self._before = noun, clock(), None
        self.estimate = Estimate(workers)
        self._bar = None
        if terminal and not self.silent:
            words = (
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=BAR),
                TextColumn("{task.fields[words]}", markup=False),
            )
            self._bar = Progress(*words, console=Console(file=self.stream))
        self._task = None if self._bar is None else self._bar.add_task(name, words="", total=1.0)
        self._shown = self._began

    def __enter__(self) -> Display:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, standing: Sequence[BatchStatus], last: bool = False) -> None:
        """Take note, and show it if it is time, or if it is the last that there is to show."""
        if self.silent:
            return
        now = self.clock()
        if self._before is None:
            self._before = _done(standing)
        done = sum(one.work - one.left for one in standing)
        self.estimate.observe(now, done, sum(one.status == RUNNING for one in standing))
        ended = all(one.status in (DONE, FAILED) for one in standing)  # the last line follows
        if not last and (ended or now - self._shown < self.every):
            return
        self._shown, spent = now, now - self._began
        words = (
            last_line(standing, spent, self.noun, self._before)
            if last
            else progress_line(standing, self.estimate, spent, self.noun)
        )
        if self._bar is None or self._task is None:
            print(f"{self.name}: {words}", file=self.stream, flush=True)
        else:
            total = sum(one.work for one in standing)
            self._bar.update(self._task, completed=done / total, words=words)
