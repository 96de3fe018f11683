"""Progress of a long command, on stderr: a live line on a terminal, else a line now and then.

Without a terminal nothing is said for the first seconds, so that short commands stay quiet.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from dudley.core.errors import InputError
from dudley.core.watch import Watch

EVERY = 10.0  # seconds between two lines
MARK = "… "  # a line that begins with it is no complaint


def _seconds(budget: float | None) -> float | None:
    if budget is not None and not budget >= 0:
        raise InputError("--budget", "seconds ≥ 0 (0 for no end)", budget)
    return budget


Budget = Annotated[
    float,
    typer.Option(
        callback=_seconds,
        help="Seconds for each part that may be left out; what is left out is named. 0 for no end.",
    ),
]
TrainingBudget = Annotated[
    float | None,
    typer.Option(
        callback=_seconds,
        help="Seconds for each search (600 without it). For pick-to-learn none without it: its "
        "rounds are declared, so a budget ends the run, and the same command goes on later.",
    ),
]
ReplayBudget = Annotated[
    float,
    typer.Option(callback=_seconds, help="With --replay: seconds to train again; 0 for no end."),
]


@contextmanager
def watch_steps(seconds: float = 0, every: float = EVERY) -> Iterator[Watch]:
    """A watch whose steps are shown while the block runs; 0 seconds mean no end."""
    show = _live if sys.stderr.isatty() else _lines
    with show(every) as say:
        yield Watch(seconds or math.inf, say)


@contextmanager
def _lines(every: float):
    """What is being done and since when, every few seconds, from a thread of its own."""
    start, doing, ended = time.monotonic(), ["starting"], threading.Event()
    stream = sys.stderr

    def tell() -> None:
        while not ended.wait(every):
            print(f"{MARK}{doing[0]} ({time.monotonic() - start:.0f} s)", file=stream, flush=True)

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield lambda words: doing.__setitem__(0, words)
    finally:
        ended.set()
        thread.join()


@contextmanager
def _live(every: float):
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    words = TextColumn("{task.description}", markup=False)
    console = Console(stderr=True)
    with Progress(
        SpinnerColumn(), words, TimeElapsedColumn(), console=console, transient=True
    ) as bar:
        task = bar.add_task("starting")
        yield lambda words: bar.update(task, description=words)
