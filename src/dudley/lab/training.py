"""Grids of trainings: what may share a batch, what a trial costs, how a batch is worked off.

>>> grid = trainings("and", 0, {
...     "task": {"name": "and", "T": [100, 200], "s": 3, "m": [50, 60]},
...     "model": {"name": "and-classifier"},
...     "training": {"optimiser": {"name": "adam"}, "steps": 1000},
... }, trials=5)
>>> len(grid)
20
>>> [len(batch) for batch in pack(grid, limit_bytes=4 << 30)]
[10, 10]
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from dudley.core.backend import torch
from dudley.core.canonical import canonical
from dudley.core.errors import InputError
from dudley.core.philox import keys_tensor
from dudley.lab import (
    Batch,
    Cost,
    RunLocation,
    Runner,
    Session,
    Trial,
    TrialGrid,
    TrialTable,
    plan,
    run,
)
from dudley.lab.runners.runner import runner_of
from dudley.train.ensemble.registry import ensemble_of
from dudley.train.problem import Problem, settings_of_batch, trial_key
from dudley.train.tasks.registry import task_of
from dudley.train.trainer import Pace, Trainer
from dudley.train.training import Training

Ending = Callable[[Trainer, list[dict[str, Any]]], None]


def trainings(name: str, seed: int, config: Mapping[str, Any], trials: int) -> TrialGrid:
    """The grid of all combinations of what is given as a list in ``task``, so many trials each.

    A field that is a list itself, a truth table, is given as a tuple.
    """
    task = config["task"]
    axes = {field: value for field, value in task.items() if isinstance(value, list)}
    cells = [
        dict(task) | dict(zip(axes, values, strict=True))
        for values in itertools.product(*axes.values())
    ]
    configs = [
        {**config, "task": cell, "trial": trial, "seed": seed}
        for cell in cells
        for trial in range(trials)
    ]
    return TrialGrid([Trial(one, trial_key(one)) for one in configs], name, seed)


def shares(trial: Trial) -> str:
    """Trials of one such word may share a batch; trained by parts, they have one m, or one task."""
    config, how = trial.config, trial.config["training"]
    by_parts = how.get("batch") is not None
    size = config["task"] if how.get("online") else config["task"].get("m") if by_parts else None
    return canonical([settings_of_batch(config), size], "config")


def cost(trial: Trial) -> Cost:
    """Memory of one trial in training, and its work: examples × tokens × steps × a token's."""
    shared = {name: trial.config[name] for name in ("task", "model", "training")}
    return _cost(canonical(shared, "config"))


@cache
def _cost(shared: str) -> Cost:
    config = json.loads(shared)
    task_of(config["task"])  # refuses what cannot be drawn before anything is trained
    ensemble = ensemble_of(config["model"], [config["task"]], keys_tensor([0]))
    how = Training.of(config["training"])
    m = how.batch or config["task"].get("m") or 1
    T = config["task"].get("T", 16)
    copies = 9 + 2 * len(how.keep)  # weights, first ones and Adam's memory twice, gradients
    numbers = sum(a * b for a, b in ensemble.shapes.values()) * copies
    numbers += m * ensemble.numbers_of_example(T) + ensemble.numbers_of_member(T)
    return Cost(4 * numbers, float(how.steps) * m * (T + 1) * ensemble.work_of_token)


def pack(
    grid: TrialGrid,
    limit_bytes: int,
    workers: int = 1,
    largest: int | None = None,
    spread: float = math.inf,
) -> tuple[Batch, ...]:
    """The grid's batches, for a device of that memory; see `dudley.lab.grid.plan`."""
    return plan(grid.trials, shares, cost, limit_bytes, largest, workers, spread)


def memory_of(device: str, limit: int | None = None) -> int:
    """Bytes that a batch may take of a device: those asked for, or a share of what is there.

    The share is 70 % of what is free on a GPU, and 2 GiB on a processor.
    """
    if limit is not None:
        return limit
    if torch.device(device).type == "cuda":
        return int(0.7 * torch.cuda.mem_get_info(device)[0])
    return 2 << 30


def train_batch(
    session: Session,
    device: str = "cpu",
    pace: Pace | None = None,
    ending: Ending | None = None,
) -> None:
    """Work off one batch: what a run of `dudley.lab` calls.

    ``ending`` looks at the trained weights before they are gone, and adds to the results.
    """
    problem = Problem([trial.config for trial in session.batch.trials], device)
    trainer = Trainer(problem, session, pace, session.batch.cost.work)
    results = trainer.run()
    if results is not None:
        if ending is not None:
            ending(trainer, results)
        session.finish(results)


def train_grid(
    grid: TrialGrid,
    folder: RunLocation | Path | str,
    device: str = "cpu",
    workers: int = 1,
    batches: tuple[Batch, ...] | None = None,
    pace: Pace | None = None,
    work: Callable[..., None] = train_batch,
    memory: int | None = None,
    on: str | Runner = "local",
    **options: Any,
) -> TrialTable:
    """Train every trial of a grid, into a folder; the same call goes on where it was broken off.

    ``work`` is `train_batch`, or a function around it: its module is what a worker imports.
    Batches that are not given are packed into ``memory`` bytes, or into what the device has.
    ``on`` is the runner (`dudley.lab.runners.runner`); options are those of `dudley.lab.run`.
    """
    if on == "local" and torch.device(device).type == "cuda" and workers > 1:
        raise InputError("workers on a GPU", "one: a batch fills it", workers)
    if torch.device(device).type == "cuda" and getattr(runner_of(on), "gpus", 1) == 0:
        fix = "tell the runner, as in ray?gpus=1"
        raise InputError("gpus of a batch", "a number > 0 for the device cuda", 0, fix)
    batches = batches or pack(grid, memory_of(device, memory), workers)
    bound_work = partial(work, device=device, pace=pace)
    options = {"about": {"device": device}, "noun": "training"} | options
    return run(grid, batches, bound_work, folder, on=on, workers=workers, **options)
