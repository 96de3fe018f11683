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


def progress_line(standing: Sequence[BatchStatus], estimate: Estimate) -> str:
    """One line: batches, share of the work, speed, remaining time.

    >>> half = BatchStatus(0, RUNNING, work=10.0, done=5.0, error=None)
    >>> progress_line([half], Estimate(workers=1))
    '0/1 batches · 50.0 % · measuring…'
    """
    done = sum(one.status == DONE for one in standing)
    failed = sum(one.status == FAILED for one in standing)
    total = sum(one.work for one in standing)
    left = [one.left for one in standing if one.status != FAILED]
    share = 1 - sum(one.left for one in standing) / total
    words = [f"{done}/{len(standing)} batches", f"{100 * share:.1f} %"]
    if failed:
        words.append(f"{failed} failed")
    if speed := estimate.throughput():
        words.append(f"{speed:.3g} units/s")
    match estimate.remaining(left):
        case None:
            words.append("measuring…")
        case (_, 0.0):
            words.append("done")
        case (low, high) if high == float("inf"):
            words.append(f"at least {duration(low)} left")
        case (low, high) if high <= 1.1 * low:
            words.append(f"about {duration((low + high) / 2)} left")
        case (low, high):
            words.append(f"{duration(low)} to {duration(high)} left")
    return " · ".join(words)


class Display:
    """Shows where a run stands; ``wanted`` None means: only on a terminal."""

    def __init__(
        self,
        name: str,
        workers: int,
        wanted: bool | None = None,
        stream: TextIO | None = None,
        every: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ):
        self.stream = sys.stderr if stream is None else stream
        terminal = self.stream.isatty()
        self.silent = not (terminal if wanted is None else wanted)
        self.name, self.every, self.clock = name, 0.0 if terminal else every, clock
        self.estimate = Estimate(workers)
        self._bar = None
        if terminal and not self.silent:
            words = (
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[words]}"),
            )
            self._bar = Progress(*words, console=Console(file=self.stream))
        self._task = None if self._bar is None else self._bar.add_task(name, words="", total=1.0)
        self._shown = clock()

    def __enter__(self) -> Display:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, standing: Sequence[BatchStatus]) -> None:
        """Take note, and show it if it is time."""
        if self.silent:
            return
        now = self.clock()
        done = sum(one.work - one.left for one in standing)
        self.estimate.observe(now, done, sum(one.status == RUNNING for one in standing))
        if now - self._shown < self.every:
            return
        self._shown = now
        words = progress_line(standing, self.estimate)
        if self._bar is None or self._task is None:
            print(f"{self.name}: {words}", file=self.stream, flush=True)
        else:
            total = sum(one.work for one in standing)
            self._bar.update(self._task, completed=done / total, words=words)
