"""What a run would do, from its config alone: trials, batches, work.

A part of a config that has ``task``, ``model`` and ``training`` is a grid of trainings. Its number
of trials a cell stands beside it, or further out, as ``trials``, ``seeds`` or ``runs``: a number,
or a list with one entry a trial.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from dudley.experiments.base import Bench

PROTOCOL = {"task", "model", "training"}
COUNTS = ("trials", "seeds", "runs")


@dataclass(frozen=True)
class Part:
    """One grid of trainings; work is counted in examples × tokens × steps."""

    part: str
    trials: int
    batches: int
    work: float
    steps: int

    def __str__(self) -> str:
        where = f"{self.part}: " if self.part else ""
        return (
            f"{where}{self.trials:,} trials of at most {self.steps:,} steps in {self.batches} "
            f"batches, {self.work:.2g} examples × tokens × steps"
        )

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def forecast(config: dict[str, Any], bench: Bench | None = None) -> list[Part]:
    """The grids of a config.

    >>> task = {"name": "and", "T": [100, 200], "s": 3, "m": [50, 60]}
    >>> how = {"optimiser": {"name": "adam"}, "steps": 10}
    >>> config = {"task": task, "model": {"name": "and-classifier"}, "training": how, "trials": 5}
    >>> print(*forecast(config))
    20 trials of at most 10 steps in 2 batches, 1.8e+06 examples × tokens × steps
    """
    from dudley.train.work import memory_of, packed, trainings

    bench = bench or Bench()
    limit = memory_of(bench.device, bench.memory)
    found = []
    for where, protocol, trials in protocols(config):
        grid = trainings(where or "grid", 0, protocol, trials)
        batches = packed(grid, limit, bench.workers)
        work = sum(batch.cost.work for batch in batches)
        steps = int(protocol["training"]["steps"])
        found.append(Part(where, len(grid), len(batches), work, steps))
    return found


def protocols(value: Any, where: str = "", trials: int = 1) -> Iterator[tuple[str, dict, int]]:
    """Every grid inside a config, with its place and its trials a cell."""
    if isinstance(value, list | tuple):
        for i, one in enumerate(value):
            yield from protocols(one, f"{where}.{i}" if where else str(i), trials)
    if not isinstance(value, dict):
        return
    for name in COUNTS:
        if name in value:
            trials = count_of(value[name], trials)
    if set(value) >= PROTOCOL:
        yield where, {name: value[name] for name in sorted(PROTOCOL)}, trials
        return
    for key, one in value.items():
        yield from protocols(one, f"{where}.{key}" if where else key, trials)


def count_of(told: Any, otherwise: int) -> int:
    """A number of trials, told as a number or as a list of them."""
    if isinstance(told, int) and not isinstance(told, bool):
        return told
    return len(told) if isinstance(told, list | tuple) and told else otherwise
