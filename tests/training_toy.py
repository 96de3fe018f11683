"""Tiny trainings of the AND classifier, for the trainer's tests.

As a program it trains the grid of `toy_grid` in a folder, slowly enough to be killed:
``python training_toy.py FOLDER WORKERS``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from dudley.lab import TrialGrid, TrialTable
from dudley.lab.training import pack, train_grid, trainings
from dudley.train.problem import Problem
from dudley.train.state import State
from dudley.train.trainer import Memory, Pace, Trainer

ADAM = {"name": "adam", "lr": 0.01}
RULES = {
    "stop": {"metric": "train_accuracy", "at_least": 1.0},
    "keep": [{"metric": "holdout_loss"}, {"metric": "holdout_accuracy"}],
    "measures": ["l1"],
}


def config(trial: int = 0, seed: int = 0, task=(), model=(), **training) -> dict[str, Any]:
    return {
        "task": {"name": "and", "T": 12, "s": 2, "m": 24, "holdout": 200, **dict(task)},
        "model": {"name": "and-classifier", "d": 8, "H": 2, **dict(model)},
        "training": {"optimiser": ADAM, "steps": 30, "evaluate_every": 5, **training},
        "trial": trial,
        "seed": seed,
    }


def problem(sizes: Sequence[int] = (24, 24, 24), **more) -> Problem:
    """Trials 0, 1, … with so many examples."""
    task = dict(more.pop("task", ()))
    return Problem([config(e, task=task | {"m": m}, **more) for e, m in enumerate(sizes)])


@dataclass
class Snapshots(Memory):
    """Keeps a checkpoint of every evaluation in a folder; begins at ``first`` if it is given."""

    folder: Path = Path()
    first: int | None = None
    files: dict[int, Path] = field(default_factory=dict)

    def latest(self):
        return None if self.first is None else (self.first, self.path(self.first))

    def path(self, step: int) -> Path:
        return self.folder / f"{step:06d}"

    def checkpoint(self, step, write):
        self.files[step] = self.path(step)
        write(self.files[step])

    def state(self, step: int) -> State:
        return State.load(self.files[step], "cpu")[0]


ALWAYS = Pace(append=-1.0, checkpoint=-1.0)


def train(problem: Problem, folder: Path | None = None) -> tuple[Trainer, list[dict], Memory]:
    """A training to its end: the trainer, its results and its sink."""
    sink = Memory() if folder is None else Snapshots(folder=folder)
    trainer = Trainer(problem, sink, ALWAYS)
    results = trainer.run()
    assert results is not None
    return trainer, results, sink


def toy_grid(steps: int = 76) -> TrialGrid:
    """A batch trained plainly and one with a rule to stop and weights to keep; dropout in both."""
    trials = []
    for rules in ({}, RULES):
        settings = config(steps=steps, evaluate_every=2, **rules)
        settings["task"]["m"] = [16, 24]
        trials += trainings("toy", 0, settings, trials=4).trials
    return TrialGrid(trials, "toy", 0)


def train_toy(folder: Path | str, workers: int = 1, pace: Pace | None = None) -> TrialTable:
    """The grid in its two batches, however many workers there are."""
    grid = toy_grid()
    return train_grid(grid, folder, workers=workers, batches=pack(grid, 1 << 30), pace=pace)


_checks = count()


def slow_clock() -> float:
    """Asked at every evaluation: most of the time of a training.

    Slower still when a process has lived for as long as those live that are killed at once: none
    comes to its end before it is killed, however late that is.
    """
    time.sleep(0.03 if next(_checks) < 24 else 2.0)
    return time.monotonic()


if __name__ == "__main__":
    try:
        train_toy(sys.argv[1], int(sys.argv[2]), Pace(0.05, 0.2, slow_clock))
    except KeyboardInterrupt:
        sys.exit(130)
