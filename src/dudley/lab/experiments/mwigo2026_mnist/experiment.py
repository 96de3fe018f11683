"""MNIST, 0 against 1: full-batch descent of a shallow encoder (mwigo2026, appendix B).

Tokens of dimension 64, cut in two ways and their pixels scaled in three, since the paper does not
say how; d_m ∈ {64, 1024, 4096}; N ∈ {400, 1200, 10000} training images, a subset of its own for
every trial; LeCun initialisation; gradient descent with rate .1; the 2,115 test images after every
epoch. The paper's Table 1 gives the lowest test loss over epochs: that selects on the test images,
a leak which is reproduced here, named, and printed beside the loss after the last epoch.

Tables: ``trials`` (one row a training), ``curves`` (some epochs of each), ``starts`` (one row a
trial: what Lemma 4 asks of the first weights).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dudley.lab.experiment import Bench, Experiment, experiment
from dudley.lab.experiments.mwigo2026_mnist import (
    bounds as mwigo2026_bounds,
    choices as mwigo2026_choices,
    losses as mwigo2026_losses,
)
from dudley.lab.experiments.mwigo2026_mnist.protocol import SCALED, of_scale, split
from dudley.lab.shared.training_table import read, write

MOVED = {"Q": "moved.0.W_Q", "K": "moved.0.W_K", "V": "moved.0.W_v", "O": "moved.1.w"}
SPREAD = 1.5  # in one batch no trial takes that many times the work of another


@experiment
class MnistDescent(Experiment):
    """Test loss against N and d_m; distances from the start; Lemma 4 and Theorem 5 in each cell."""

    name: ClassVar[str] = "mwigo2026-mnist"
    source: ClassVar[str] = "mwigo2026, appendix B, figures 1–3, table 1"
    question: ClassVar[str] = (
        "Does the test loss of a shallow encoder on MNIST 0/1 fall with N, and do the theorem's "
        "hypotheses hold where it was trained?"
    )

    def config(self, scale: str) -> dict[str, Any]:
        return of_scale(scale)

    def caveat(self, config: dict[str, Any]) -> str:
        scaled = any(split(grid["reading"])[0] in SCALED for grid in config["grids"])
        text = "all of it with pixels x/255; the other scalings of pixels were not yet run"
        return "" if scaled else text

    def run(self, config: dict[str, Any], folder: Path, bench: Bench) -> None:
        from dudley.lab import TrialGrid, curves
        from dudley.lab.experiments.mwigo2026_mnist.start import inputs_of, start_of
        from dudley.lab.training import memory_of, pack, train_grid, trainings

        seed, store = config["seed"], bench.location(folder)
        trials = []
        for grid in config["grids"]:
            protocol = {name: value for name, value in grid.items() if name != "trials"}
            trials += trainings(self.name, seed, protocol, grid["trials"]).trials
        whole = TrialGrid(trials, self.name, seed)
        limit = memory_of(bench.device, bench.memory)
        batches = pack(whole, limit, bench.workers, config["together"], SPREAD)
        table = train_grid(
            whole, store, bench.device, bench.workers, batches,
            on=bench.on, progress=bench.progress,
        )  # fmt: skip
        metrics = {
            name: curves(store, full)
            for name, full in {"test": "holdout_loss", "batch": "loss", **MOVED}.items()
        }
        metrics["train"] = metrics.pop("batch")
        for index, curve in enumerate(curves(store, "train_loss") if _mini(config) else []):
            if len(curve[0]):  # with mini-batches the loss on all images is known
                metrics["train"][index] = curve
        rows, lines = [], []
        for index, row in enumerate(table):
            steps = metrics["test"][index][0] // row["steps_of_epoch"]
            named = {
                "reading": row["reading"],
                "tokens": row["task.tokens"],
                "d_m": row["model.d_m"],
                "N": row["task.m"],
                "trial": row["trial"],
            }
            values = {name: np.asarray(start[index][1]) for name, start in metrics.items()}
            rows.append(named | summary(steps, values) | accuracies(row))
            chosen = np.unique(np.linspace(0, len(steps) - 1, config["points"]).round().astype(int))
            lines.append(named | {"epoch": steps[chosen].astype(np.int32)})
            lines[-1] |= {_column(name): curve[chosen] for name, curve in values.items()}
        write(folder / "trials.parquet", _columns(rows))
        write(folder / "curves.parquet", _columns(lines))
        starts = {}
        for trial in trials:
            settings = trial.config
            task = settings["task"]
            named = {
                "tokens": task["tokens"],
                "pixels": task.get("pixels", "unit"),
                "d_m": settings["model"]["d_m"],
                "N": task["m"],
                "trial": settings["trial"],
            }
            name = tuple(named.values())
            if name not in starts:
                start = start_of(settings, bench.device)
                starts[name] = named | start | inputs_of(named["tokens"], named["pixels"])
        write(folder / "starts.parquet", _columns([*starts.values()]))

    def analyse(self, config: dict[str, Any], folder: Path):
        trials, starts = (read(folder / f"{name}.parquet") for name in ("trials", "starts"))
        return [
            *mwigo2026_losses.findings(config, trials),
            *mwigo2026_choices.findings(config, trials),
            *mwigo2026_bounds.findings(config, trials, starts),
        ]


def summary(epochs: np.ndarray, values: dict[str, np.ndarray]) -> dict[str, Any]:
    """The lowest test loss, its epoch, the last loss, the farthest that every block went."""
    test = np.where(np.isnan(values["test"]), np.inf, values["test"])
    lowest = int(test.argmin())
    columns = {
        "epochs": int(epochs[-1]),
        "best": float(test[lowest]),
        "best_epoch": int(epochs[lowest]),
        "last": float(values["test"][-1]),
        "train_last": float(values["train"][-1]),
    }
    return columns | {f"moved_{block}": float(values[block].max()) for block in MOVED}


def accuracies(row: dict[str, Any]) -> dict[str, float]:
    """The largest accuracy on the test images, and the last."""
    return {
        "best_accuracy": row["result.extremes.holdout_accuracy"],
        "last_accuracy": row["result.metrics.holdout_accuracy"],
    }


def _mini(config: dict[str, Any]) -> bool:
    return any("train" in grid["training"]["evaluate"] for grid in config["grids"])


def _column(name: str) -> str:
    return f"moved_{name}" if name in MOVED else name


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}
