"""Steps of a long computation: each is named as it begins, and is done or left out whole.

A step that has begun when the seconds are spent is given up at its next ``look``, and nothing of it
is used. So the clock decides which steps count, never what a step gives, and ``left_out`` has the
names of the others.

>>> now = iter([0.0, 1.0, 2.0, 9.0, 10.0])
>>> watch = Watch(seconds=5.0, clock=lambda: next(now))
>>> watch.do("first", lambda: 1), watch.do("second", watch.look), watch.do("third", lambda: 3)
(1, None, None)
>>> watch.left_out
['second', 'third']
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TypeVar

SHOWN = 4  # names of steps in a remark
Result = TypeVar("Result")


class Spent(Exception):
    """The seconds were spent within a step that can be left out."""


class Watch:
    """Without seconds nothing is left out; ``say`` is told what is being done."""

    def __init__(
        self,
        seconds: float = math.inf,
        say: Callable[[str], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.seconds, self._say, self._clock = seconds, say, clock
        self.begin("")

    def begin(self, part: str) -> None:
        """Begin another part, which has seconds of its own."""
        self.part, self._start, self._needed = part, self._clock(), False
        self.left_out: list[str] = []
        if part:
            self.say()

    def say(self, step: str = "") -> None:
        if self._say is not None:
            self._say(": ".join(filter(None, (self.part, step))))

    def do(self, step: str, work: Callable[[], Result], needed: bool = False) -> Result | None:
        """What the work gives, or None where it is left out; a needed step never is."""
        if not needed and self._spent():
            self.left_out.append(step)
            return None
        self.say(step)
        self._needed = needed
        try:
            return work()
        except Spent:
            self.left_out.append(step)
            return None
        finally:
            self._needed = False

    def look(self) -> None:
        """Called often within a step: gives it up where the seconds are spent."""
        if not self._needed and self._spent():
            raise Spent

    def _spent(self) -> bool:
        return self._clock() - self._start >= self.seconds

    @property
    def remark(self) -> str:
        """What was left out, and how to get it; empty where nothing was."""
        if not self.left_out:
            return ""
        steps = ", ".join(self.left_out[:SHOWN])
        if len(self.left_out) > SHOWN:
            steps += f" and {len(self.left_out) - SHOWN} more steps"
        return f"left out after {self.seconds:g} s: {steps}; --budget SECONDS gives more time"
