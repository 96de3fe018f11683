"""What an experiment would train: its grids of trials, and how much of each it may use.

A part of a config that has ``task``, ``model`` and ``training`` is a grid of trainings. Its number
of trials a cell stands beside it, or further out, as ``trials``, ``seeds`` or ``runs``: a number,
or a list with one entry a trial. An experiment whose config says its grids in another way says here
what they are (`Experiment.planned`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dudley.lab.grid.trial import TrialGrid

PROTOCOL = {"task", "model", "training"}
COUNTS = ("trials", "seeds", "runs")


@dataclass(frozen=True)
class Limit:
    """What a sequential design uses of a grid at most: trials, rounds, and share of its work."""

    trials: int
    rounds: int
    share: float


@dataclass(frozen=True, eq=False)
class PlannedGrid:
    """One grid, by its place in the config; all of it is trained where there is no limit."""

    part: str
    grid: TrialGrid
    limit: Limit | None = None

    @property
    def steps(self) -> int:
        """Of the longest training."""
        return max(int(trial.config["training"]["steps"]) for trial in self.grid.trials)


def planned_in(config: Mapping[str, Any]) -> list[PlannedGrid]:
    """The grids that a config names.

    >>> task = {"name": "and", "T": [10, 20], "s": 3, "m": [50, 60], "holdout": 9}
    >>> how = {"optimiser": {"name": "adam"}, "steps": 9}
    >>> model = {"name": "and-classifier", "d": 16}
    >>> [grid] = planned_in({"task": task, "model": model, "training": how, "trials": 5})
    >>> len(grid.grid), grid.steps, grid.limit
    (20, 9, None)
    """
    from dudley.lab.shared.sequential import at_most
    from dudley.lab.training import trainings

    limit = at_most(config) if "design" in config else None
    return [
        PlannedGrid(where, trainings(where or "grid", 0, protocol, trials), limit)
        for where, protocol, trials in protocols(config)
    ]


def protocols(value: Any, where: str = "", trials: int = 1) -> Iterator[tuple[str, dict, int]]:
    """Every grid inside a config, with its place and its trials a cell."""
    if isinstance(value, list | tuple):
        for i, entry in enumerate(value):
            yield from protocols(entry, f"{where}.{i}" if where else str(i), trials)
    if not isinstance(value, Mapping):
        return
    for name in COUNTS:
        if name in value:
            trials = count_of(value[name], trials)
    if set(value) >= PROTOCOL:
        yield where, {name: value[name] for name in sorted(PROTOCOL)}, trials
        return
    for key, entry in value.items():
        yield from protocols(entry, f"{where}.{key}" if where else key, trials)


def count_of(count: Any, otherwise: int) -> int:
    """A number of trials, told as a number or as a list of them."""
    if isinstance(count, int) and not isinstance(count, bool):
        return count
    return len(count) if isinstance(count, list | tuple) and count else otherwise
