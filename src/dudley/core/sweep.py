"""Sweep: one name of the vocabulary along an axis, such as ``n=1e3:1e9:log40``."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from dudley.core.errors import InputError
from dudley.core.vocabulary import SIZES, check_value, expect_known

MOST = 10_000  # points
_TEXT = re.compile(r"([^=]+)=([^:]+):([^:]+):(log|lin)([0-9]+)")


@dataclass(frozen=True)
class Sweep:
    """A name and its increasing values; sizes are rounded to distinct integers.

    >>> Sweep.parse("n=1e3:1e6:log4").values
    (1000.0, 10000.0, 100000.0, 1000000.0)
    >>> Sweep.parse("L=1:4:lin20").values
    (1.0, 2.0, 3.0, 4.0)
    """

    name: str
    values: tuple[float, ...]
    log: bool = True

    def __post_init__(self) -> None:
        expect_known(self.name)
        for value in self.values:
            check_value(self.name, value)
        if len(self.values) < 2 or any(
            a >= b for a, b in zip(self.values, self.values[1:], strict=False)
        ):
            raise InputError(f"sweep of {self.name}", "two or more increasing values", self.values)

    def __str__(self) -> str:
        first, last = self.values[0], self.values[-1]
        return f"{self.name} from {first:g} to {last:g} in {len(self.values)} points"

    @classmethod
    def parse(cls, text: str) -> Sweep:
        """From NAME=FROM:TO:logCOUNT or NAME=FROM:TO:linCOUNT."""
        match = _TEXT.fullmatch(text.strip())
        how = "NAME=FROM:TO:logCOUNT or :linCOUNT, such as n=1e3:1e9:log40"
        if match is None:
            raise InputError("sweep", how, repr(text))
        name, kind, count = match[1].strip(), match[4], int(match[5])
        expect_known(name)
        try:
            start, stop = float(match[2]), float(match[3])
        except ValueError:
            raise InputError("sweep", how, repr(text)) from None
        if not 2 <= count <= MOST:
            raise InputError(f"sweep of {name}", f"2 to {MOST} points", count)
        for end in (start, stop):
            check_value(name, end)
        if not start < stop:
            raise InputError(f"sweep of {name}", "a start below its end", f"{start:g}:{stop:g}")
        if kind == "log" and start == 0:
            raise InputError(f"sweep of {name}", "a start > 0 on a log axis", start)
        steps = (np.geomspace if kind == "log" else np.linspace)(start, stop, count)
        if name in SIZES:
            steps = np.unique(np.round(steps))
        return cls(name, tuple(float(x) for x in steps), kind == "log")

    def to_json(self) -> dict:
        """Plain data."""
        return {"name": self.name, "values": list(self.values), "log": self.log}
