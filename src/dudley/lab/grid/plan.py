"""The planner: a grid cut into batches that fit the memory.

Trials of one group may share a batch, which runs in step: E trials take E times the memory and
the work of the largest (`together`). Within a group trials are sorted by size, so that like sits
with like, and cut into consecutive runs: as few as memory, ``largest``, ``spread`` and a fair
share for each worker allow, and among the ways to cut into that few, the one whose heaviest batch
is lightest. (For runs of a sorted list, filling each as far as it goes gives the fewest, since a
part of a run that fits also fits; bisection over the permitted work finds the lightest.) Batches
come heaviest first, the order in which workers take them, so that they end together.

The result depends on the arguments alone: the same trials in the same order give the same packing.

>>> trials = [Trial({"m": m, "trial": i}, key=i) for m in (50, 200) for i in range(3)]
>>> size = lambda trial: Cost(bytes=trial.config["m"], work=float(trial.config["m"]))
>>> [[t.config["m"] for t in b.trials] for b in plan(trials, lambda trial: "and", size, 600)]
[[200, 200, 200], [50, 50, 50]]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence

from dudley.core.errors import InputError
from dudley.lab.grid.batch import Batch, Cost, together
from dudley.lab.grid.trial import Trial


def plan(
    trials: Sequence[Trial],
    group: Callable[[Trial], Hashable],
    cost: Callable[[Trial], Cost],
    limit_bytes: int,
    largest: int | None = None,
    workers: int = 1,
    spread: float = math.inf,
) -> tuple[Batch, ...]:
    """Batches of at most ``largest`` trials and ``limit_bytes`` memory, each trial in one.

    The work of a batch's largest trial is at most ``spread`` times that of its smallest, which
    bounds what is wasted by running in step.
    """
    limits = {"largest batch": largest, "number of workers": workers, "spread": spread}
    for what, value in limits.items():
        if value is not None and not value >= 1:
            raise InputError(what, "a number ≥ 1", value)
    costs = [cost(trial) for trial in trials]
    for number, (trial, cost_of_trial) in enumerate(zip(trials, costs, strict=True)):
        if cost_of_trial.bytes > limit_bytes:
            raise InputError(
                f"memory of trial {number} alone, {trial.config}",
                f"at most {limit_bytes:,} bytes",
                f"{cost_of_trial.bytes:,} bytes",
                "make the trial smaller or raise the limit",
            )
    groups: dict[Hashable, list[int]] = {}
    for number, trial in enumerate(trials):
        groups.setdefault(group(trial), []).append(number)

    # One worker does everything anyway; several are not to wait for one heavy batch.
    share = (
        math.inf if workers == 1 else sum(cost_of_trial.work for cost_of_trial in costs) / workers
    )
    packs: list[tuple[Cost, list[int]]] = []
    for members in groups.values():
        members.sort(key=lambda number: (-costs[number].bytes, -costs[number].work))
        sizes = [costs[number] for number in members]
        start = 0
        for end in _even_cuts(sizes, limit_bytes, largest or len(members), spread, share):
            packs.append((together(sizes[start:end]), members[start:end]))
            start = end
    packs.sort(key=lambda pack: -pack[0].work)
    return tuple(
        Batch(number, tuple(trials[i] for i in members), whole)
        for number, (whole, members) in enumerate(packs)
    )


def _cuts(
    sizes: list[Cost], limit_bytes: int, largest: int, spread: float, limit_work: float
) -> list[int]:
    """Ends of the fewest runs within the limits; a trial alone may exceed the work."""
    ends: list[int] = []
    start, heavy, most, least = 0, 0, 0.0, math.inf
    for i, size in enumerate(sizes):
        E = i - start + 1
        heavy, most, least = max(heavy, size.bytes), max(most, size.work), min(least, size.work)
        fits = largest >= E and E * heavy <= limit_bytes and most <= spread * least
        if E > 1 and not (fits and E * most <= limit_work):
            ends.append(i)
            start, heavy, most, least = i, size.bytes, size.work, size.work
    return [*ends, len(sizes)]


def _even_cuts(
    sizes: list[Cost], limit_bytes: int, largest: int, spread: float, share: float
) -> list[int]:
    """As few runs as the limits allow, the heaviest as light as it can be."""
    best = _cuts(sizes, limit_bytes, largest, spread, share)
    low, high = 0.0, min(share, together(sizes).work)
    for _ in range(50):
        middle = (low + high) / 2
        ends = _cuts(sizes, limit_bytes, largest, spread, middle)
        if len(ends) <= len(best):
            best, high = ends, middle
        else:
            low = middle
    return best
