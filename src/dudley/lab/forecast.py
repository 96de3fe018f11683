"""What a run would do: trials, batches, memory; and, from a short trial, how long it may take.

The speed of a part is measured on its heaviest and on its lightest batch (`dudley.lab.probe`), in
work a second, the parts with most work first, for `BUDGET` seconds in all; a part that is not
reached in that time is taken to be as fast as the others. With w_b the work of batch b, the longest
first, a part then takes about

    max(Σ_b w_b / workers, w_1) / speed

at either speed, if every worker is as fast as this device. Trials that end early take less; work
leaves evaluations out and is proportional to time only roughly: a forecast, not a bound.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from dudley.lab.experiment import Bench
from dudley.lab.grid.estimate import duration
from dudley.lab.planned import Limit, PlannedGrid

BUDGET = 20.0  # seconds of measuring, for all parts together; the last batch is not cut short


@dataclass(frozen=True)
class ForecastPart:
    """One grid of trainings; work is counted in examples × tokens × steps × a token's.

    A token's work tells models of one grid apart (`Ensemble.work_of_token`). ``bytes`` and
    ``longest`` are of the largest batch; ``speeds`` in work a second of a worker, the lower first,
    ``measured`` on this part or taken from the others. ``limit`` is what a sequential design uses
    at most of all that.
    """

    part: str
    trials: int
    batches: int
    work: float
    steps: int
    bytes: int
    longest: float
    speeds: tuple[float, float]
    measured: bool = True
    limit: Limit | None = None

    def seconds(self, workers: int) -> tuple[float, float]:
        """How long it may take, at the higher and at the lower speed."""
        load = max(self.work / workers, self.longest) * (self.limit.share if self.limit else 1)
        return load / self.speeds[1], load / self.speeds[0]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def forecast(
    grids: Sequence[PlannedGrid],
    bench: Bench | None = None,
    tell: Callable[[str], None] = lambda text: None,
    budget: float = BUDGET,
    clock: Callable[[], float] = time.monotonic,
) -> list[ForecastPart]:
    """Each grid tried for a moment; ``tell`` hears what is being done.

    >>> task = {"name": "and", "T": [10, 20], "s": 3, "m": [50, 60], "holdout": 9}
    >>> how = {"optimiser": {"name": "adam"}, "steps": 9}
    >>> model = {"name": "and-classifier", "d": 16}
    >>> from dudley.lab.planned import planned_in
    >>> config = {"task": task, "model": model, "training": how, "trials": 5}
    >>> [part] = forecast(planned_in(config))
    >>> part.trials, part.batches, part.work, min(part.speeds) > 0
    (20, 2, 172800.0, True)
    """
    from dudley.lab import probe
    from dudley.lab.training import memory_of, pack

    bench = bench or Bench()
    limit = memory_of(bench.device, bench.memory)
    threads = 1 if bench.workers > 1 or bench.on != "local" else None
    parts, tried = [], []
    for i, planned in enumerate(grids, 1):
        tell(f"packing part {i} of {len(grids)}")
        batches = pack(planned.grid, limit, bench.workers)
        costs = [batch.cost for batch in batches]
        tried.append(probe.ends(batches))
        parts.append(
            ForecastPart(
                planned.part,
                len(planned.grid),
                len(batches),
                sum(cost.work for cost in costs),
                planned.steps,
                max(cost.bytes for cost in costs),
                max(cost.work for cost in costs),
                (0.0, 0.0),
                False,
                planned.limit,
            )
        )
    seconds = min(probe.SECONDS, budget / (3 * max(1, sum(map(len, tried)))))
    end = clock() + budget
    heaviest_first = sorted(range(len(parts)), key=lambda i: -parts[i].work)
    for count, i in enumerate(heaviest_first, 1):
        if count > 1 and clock() >= end:
            break
        tell(f"measuring part {count} of {len(parts)}")
        forecasts = []
        for batch in tried[i]:
            if not forecasts or clock() < end:
                forecasts.append(probe.speed(batch, bench.device, threads, seconds))
        parts[i] = replace(parts[i], speeds=(min(forecasts), max(forecasts)), measured=True)
    known = [speed for part in parts if part.measured for speed in part.speeds]
    return [
        part if part.measured else replace(part, speeds=(min(known), max(known))) for part in parts
    ]


def whole(
    parts: Sequence[ForecastPart], bench: Bench, price: float | None = None
) -> dict[str, Any]:
    """Time and cost of all parts, one after another, with a sentence."""
    ends = [part.seconds(bench.workers) for part in parts]
    seconds = [sum(end[side] for end in ends) for side in (0, 1)]
    total: dict[str, Any] = {
        "device": bench.device, "on": bench.on, "workers": bench.workers, "seconds": seconds
    }  # fmt: skip
    workers = "1 worker" if bench.workers == 1 else f"{bench.workers} workers"
    text = f"about {between(*map(duration, seconds))} on {workers} ({bench.on}, {bench.device})"
    if price is not None:
        total["cost"] = [price * bench.workers * end / 3600 for end in seconds]
        costs = between(*(f"{cost:.2f}" for cost in total["cost"]))
        text += f", {costs} at {price:g} an hour of a worker"
    return total | {"text": f"{text}; trials that end early take less"}


def between(low: str, other: str) -> str:
    """A range in words.

    >>> between("3 s", "5 s"), between("3 s", "3 s")
    ('3 s to 5 s', '3 s')
    """
    return low if low == other else f"{low} to {other}"
