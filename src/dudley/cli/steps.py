"""What a long command is at, on stderr: in place on a terminal, else a line where it takes long."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import TextIO

PATIENCE = 10.0  # seconds without a word where nobody sees a line change in place


class Steps:
    """Call it with each step; ``with`` takes the line on a terminal away at the end.

    >>> clock = iter([0.0, 1.0, 12.0, 13.0])
    >>> with Steps("a run", sys.stdout, lambda: next(clock)) as steps:
    ...     for step in ("packing", "measuring", "adding up"):
    ...         steps(step)
    a run: measuring
    """

    def __init__(
        self,
        name: str,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ):
        self.name, self.stream, self.clock = name, stream or sys.stderr, clock
        self._exits, self._status, self._last = ExitStack(), None, clock()

    def __enter__(self) -> Steps:
        if self.stream.isatty():
            from rich.console import Console

            console = Console(file=self.stream, highlight=False)
            self._status = self._exits.enter_context(console.status(f"{self.name} …"))
        return self

    def __exit__(self, *_) -> None:
        self._exits.close()

    def __call__(self, step: str) -> None:
        if self._status is not None:
            self._status.update(f"{self.name}: {step} …")
        elif (now := self.clock()) - self._last >= PATIENCE:
            print(f"{self.name}: {step}", file=self.stream, flush=True)
            self._last = now
