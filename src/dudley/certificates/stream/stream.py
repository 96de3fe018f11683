"""A stream of outcomes: what is known of its error after every outcome, however often one looks.

**Number.** With R_t = E[X_t | everything before outcome t], the running mean of the conditional
error, R̄_m = (R_1 + … + R_m)/m, is at most the bound of the form ``mixture`` (fixed bets, see
`methods.prequential.form`), with probability at least 1 − δ at all m at once.

Nothing is assumed of the order in which R_t moves: under drift the number bounds the *mean* of the
conditional error so far, not the error now. Where nothing moves, all R_t are the error.

**Alarm.** Where a level is declared, δ is split: half is for the bound, half for the alarm
(`alarm`). Then both hold together with probability at least 1 − δ.

>>> stream = OutcomeStream(StreamDeclared(0.05, alarm_at=0.05))
>>> stream.add(np.tile([0.0] * 49 + [1.0], 100))
>>> look = stream.look()
>>> look.n, look.total, round(look.upper, 4), look.alarm
(5000, 100.0, 0.028, None)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dudley.certificates.methods.prequential.form import expect_losses
from dudley.certificates.methods.prequential.forms.mixture import MixtureTally
from dudley.certificates.methods.prequential.grid import BETS
from dudley.certificates.records import omitted
from dudley.certificates.stream.alarm import ALARMS, StreamAlarm
from dudley.core.errors import InputError, UnknownName
from dudley.core.rounding import up

QUANTITY = (
    "running mean of the conditional error: the mean, over the outcomes so far, of the probability "
    "of an error given everything before it"
)
DECLARATIONS = (
    "an outcome is counted whether it is good or bad, once, in the order in which it came",
    "what is listed under declared was fixed before the first outcome",
    "under drift the bound is on the mean so far, not on the error now or later",
)
FIRST, GROWTH = 16, 1.2  # the curve has a point at so many outcomes, and at so many times as many
LOSSES = "a list of numbers in [0, 1]: 1 is an error, 0 is none"


@dataclass(frozen=True)
class StreamDeclared:
    """What is fixed before the first outcome."""

    delta: float = 0.05
    alarm_at: float | None = omitted()
    alarm: str = "ever"

    def __post_init__(self) -> None:
        if not 1e-300 <= self.delta < 1:  # below, 1/δ and the stakes are no floats
            raise InputError("delta", "a number in (0, 1), at least 1e-300", self.delta)
        if self.alarm not in ALARMS:
            raise UnknownName("alarm", self.alarm, ALARMS)
        if self.alarm_at is not None:
            ALARMS[self.alarm](self.alarm_at, 2.0)  # refuses a level outside (0, 1)

    @property
    def share(self) -> float:
        """δ of each statement: all of it, or half where there are two."""
        return self.delta if self.alarm_at is None else self.delta / 2

    def new_alarm(self) -> StreamAlarm | None:
        """The alarm, before the first outcome."""
        if self.alarm_at is None:
            return None
        return ALARMS[self.alarm](self.alarm_at, float(up(1 / self.share)))


@dataclass(frozen=True)
class StreamLook:
    """What is known after n outcomes: ``alarm`` is the outcome at which the alarm came."""

    n: int
    total: float
    upper: float
    alarm: int | None = None
    statement: str = ""

    @property
    def mean(self) -> float:
        """The observed mean of the losses."""
        return self.total / self.n if self.n else 0.0

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "outcomes": self.n, "losses": self.total, "mean": self.mean, "upper": self.upper,
            "alarm": self.alarm, "statement": self.statement,
        }  # fmt: skip


@dataclass(frozen=True)
class StreamSums:
    """All that is kept of a stream; floats are written so that they are read as they were."""

    outcomes: int
    total: float
    logs: tuple[float, ...]
    worth: tuple[float, ...] = ()
    seen: int = 0  # outcomes that the alarm has seen: none after it came
    alarm: int | None = None
    curve_outcomes: tuple[int, ...] = ()
    curve_means: tuple[float, ...] = ()
    curve_uppers: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        n, curve = self.outcomes, len(self.curve_outcomes)
        fits = (
            n >= 0 and 0 <= self.total <= n and len(self.logs) == len(BETS)
            and max(self.logs) <= 0 and len(self.worth) in (0, len(BETS))
            and 0 <= self.seen <= n and 0 <= (self.alarm or 0) <= self.seen
            and len(self.curve_means) == len(self.curve_uppers) == curve
        )  # fmt: skip
        if not fits:
            raise InputError("sums of a stream", "those that a watch wrote", "others")


class OutcomeStream:
    """Final: the sums that the number and the alarm are made of; a look changes nothing."""

    def __init__(self, declared: StreamDeclared | None = None) -> None:
        self.declared = declared or StreamDeclared()
        self.tally = MixtureTally()
        self.alarm = self.declared.new_alarm()
        self.total = 0.0
        self.curve: list[tuple[int, float, float]] = []  # outcomes, mean, bound

    @staticmethod
    def of(declared: StreamDeclared, sums: StreamSums) -> OutcomeStream:
        """The stream as it was when its sums were taken."""
        stream = OutcomeStream(declared)
        if (stream.alarm is None) != (not sums.worth):
            raise InputError("sums of a stream", "those of what was declared", "others")
        stream.tally.m, stream.tally.sums = sums.outcomes, np.array(sums.logs)
        stream.total = sums.total
        if stream.alarm is not None:
            stream.alarm.worth = np.array(sums.worth)
            stream.alarm.n, stream.alarm.at = sums.seen, sums.alarm
        stream.curve = list(
            zip(sums.curve_outcomes, sums.curve_means, sums.curve_uppers, strict=True)
        )
        return stream

    def sums(self) -> StreamSums:
        """All that is needed to go on later."""
        alarm = self.alarm
        ns, means, uppers = zip(*self.curve, strict=True) if self.curve else ((), (), ())
        bets = ((), 0, None) if alarm is None else (tuple(alarm.worth.tolist()), alarm.n, alarm.at)
        logs = tuple(self.tally.sums.tolist())
        return StreamSums(self.tally.m, self.total, logs, *bets, ns, means, uppers)

    def add(self, losses: np.ndarray | list[float]) -> None:
        """Count more outcomes, in the order in which they came."""
        x = expect_losses(_plain(losses))
        while len(x):
            room = max(1, self._next_point() - self.tally.m)
            self._count(x[:room])
            x = x[room:]

    def _count(self, x: np.ndarray) -> None:
        self.tally.add(x)
        self.total += math.fsum(x.tolist())
        if self.alarm is not None:
            self.alarm.add(x)
        if self.tally.m >= self._next_point():
            look = self.look()
            self.curve.append((look.n, look.mean, look.upper))

    def _next_point(self) -> int:
        """At which outcome the curve has its next point."""
        return math.ceil(GROWTH * self.curve[-1][0]) if self.curve else FIRST

    def look(self) -> StreamLook:
        """What is known now."""
        upper = self.tally.upper(float(up(-math.log(self.declared.share))))
        alarm = self.alarm
        if alarm is None or alarm.at is None:
            return StreamLook(self.tally.m, self.total, upper)
        return StreamLook(self.tally.m, self.total, upper, alarm.at, alarm.statement())


def _plain(losses: Any) -> np.ndarray:
    """The losses as an array; a tensor, texts or a table are refused in words."""
    try:
        return np.asarray(losses, np.float64)
    except (TypeError, ValueError):
        raise InputError("outcomes", LOSSES, type(losses).__name__) from None
