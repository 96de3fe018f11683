"""Train the grid, and measure every model once, at its end.

A worker trains a batch, measures its last weights and keeps numbers, not weights. From the norms
among them the bounds are computed afterwards, by as many processes as there are: what a GPU has
trained in minutes is bounded on processors.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from dudley.core.backend import torch
from dudley.lab import TrialGrid
from dudley.lab.experiment import Bench
from dudley.lab.experiments.which_bound import bounds
from dudley.lab.experiments.which_bound.grid import TARGET, parts, setting
from dudley.lab.experiments.which_bound.outputs import of_outputs, outcomes
from dudley.lab.experiments.which_bound.weights import of_weights
from dudley.lab.training import memory_of, pack, train_batch, train_grid, trainings
from dudley.train.trainer import Trainer

ModelRow = dict[str, Any]
KEPT = ("gap", "error_gap", "holdout_ramp", "holdout_error", "train_loss", "reached")


def trained(name: str, config: Mapping[str, Any], folder: Path, bench: Bench) -> list[ModelRow]:
    """A row for each model: config, what was measured, norms."""
    grid = grid_of(name, config)
    table = train_grid(
        grid,
        bench.location(folder),
        bench.device,
        bench.workers,
        pack(grid, memory_of(bench.device, bench.memory), bench.workers),
        work=partial(train_batch, ending=partial(at_the_end, noises=config["noises"])),
        on=bench.on,
        progress=bench.progress,
    )
    rows = []
    for trial, row in zip(grid.trials, table, strict=True):
        ends = [k for k in row if k.startswith("result.end.")]
        numbers = {k.removeprefix("result.end."): row[k] for k in ends}
        rows.append({"config": trial.config, "steps": row["result.steps"], **numbers})
    return rows


def grid_of(name: str, config: Mapping[str, Any]) -> TrialGrid:
    """Every part has a seed of its own, so that no two cells share data or first weights."""
    seed, trials = config["seed"], config["trials"]
    some = [
        trainings(name, seed + i, part, trials) for i, part in enumerate(parts(config["sizes"]))
    ]
    return TrialGrid([trial for one in some for trial in one.trials], name, seed)


def at_the_end(trainer: Trainer, results: list[ModelRow], noises: int) -> None:
    """Add to every result what is measured of its last weights."""
    problem, whole = trainer.problem, trainer.whole
    weights, first = whole.weights, whole.first
    # A GPU takes singular values of small matrices one by one: a processor is faster.
    here, start = ({n: W.detach().cpu() for n, W in some.items()} for some in (weights, first))
    m = torch.tensor([config["task"]["m"] for config in problem.configs], dtype=torch.float64)
    train, holdout = (outcomes(problem, weights, split) for split in ("train", "holdout"))
    loss = torch.tensor([result["metrics"]["train_loss"] for result in results])
    ends = {
        "gap": holdout["ramp"] - train["ramp"],
        "error_gap": holdout["error"] - train["error"],
        "holdout_ramp": holdout["ramp"],
        "holdout_error": holdout["error"],
        "train_loss": loss,
        "reached": (loss <= TARGET).double(),
        "least_margin": train["margins"].nan_to_num(torch.inf).amin(1),
    }
    measures = of_weights(here, start, m)
    measures |= of_outputs(problem, weights, first, m.to(problem.device), noises)
    ends |= {f"measure.{name}": values for name, values in measures.items()}
    ends |= bounds.measured_norms(here)
    columns = {name: values.double().tolist() for name, values in ends.items()}
    for e, result in enumerate(results):
        result["end"] = {name: values[e] for name, values in columns.items()}


def tabulated(rows: Sequence[ModelRow], bench: Bench) -> tuple[list[ModelRow], list[ModelRow]]:
    """A row of the table for each model, and of each statement why it has no number."""
    workers = bench.workers if bench.device == "cpu" else os.cpu_count() or 1
    if workers > 1:
        with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
            bounded = list(pool.map(bounded_row, rows, chunksize=16))
    else:
        bounded = [bounded_row(row) for row in rows]
    reasons: dict[tuple[str, str, str], int] = {}
    for row, (_, refused) in zip(rows, bounded, strict=True):
        for id, reason in refused.items():
            key = (setting(row["config"])["family"], id, reason)
            reasons[key] = reasons.get(key, 0) + 1
    refusals = [
        {"family": family, "statement": id, "reason": reason, "models": count}
        for (family, id, reason), count in reasons.items()
    ]
    return [row for row, _ in bounded], refusals


def bounded_row(row: ModelRow) -> tuple[ModelRow, dict[str, str]]:
    """The plain columns of a model with its bounds; and why statements have none."""
    values, reasons = bounds.statements(row)
    measures = {k: v for k, v in row.items() if k.startswith("measure.")}
    measures |= {"measure.steps": float(row["steps"]), "measure.calculus": bounds.calculus(row)}
    measures |= {"measure.training loss": row["train_loss"]}
    measures |= {f"measure.{name}": value for name, value in values.items()}
    plain = setting(row["config"]) | {"trial": row["config"]["trial"]}
    plain |= {"holdout": held_out(row["config"])} | {name: row[name] for name in KEPT}
    return plain | measures, reasons


def held_out(config: Mapping[str, Any]) -> int:
    """How many examples the gap was measured on."""
    if "holdout" in config["task"]:
        return config["task"]["holdout"]
    from dudley.train.tasks.registry import task_of

    return task_of(json.loads(json.dumps(config["task"]))).holdout  # pyright: ignore
