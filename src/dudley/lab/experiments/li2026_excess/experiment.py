"""li2026: excess risk against n, printed rates against true ones (the paper has no experiments).

Part one, `li2026_classes`: minimisers over the constants and over one-hot inputs, with and without
label noise, whose excess risk is known exactly. Part two, `li2026_heads`: attention heads taught by
a head, on bounded, sub-Gaussian and heavy-tailed inputs, with truncation and robust losses,
regression and classification. Both beside the printed bounds (hidden constants c = 1, flagged) and
the derived ones.

The paper scale is ours: more trials and sizes on one GPU. Tables: ``classes``, ``heads``,
``bounds``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dudley.core.extras import missing
from dudley.lab import RunLocation, TrialGrid
from dudley.lab.experiment import Experiment, experiment
from dudley.lab.experiments.li2026_excess.classes import bounds_of, measured_classes
from dudley.lab.experiments.li2026_excess.findings import findings
from dudley.lab.experiments.li2026_excess.heads import (
    train_heads,  # registers the task, losses and measure
)

D, T = 4, 6
GAUSSIAN, HEAVY = 0.5, 0.2887  # scales of entries: variance ¼
LAWS = {
    "sign": {"law": "sign", "scale": GAUSSIAN},
    "gaussian": {"law": "gaussian", "scale": GAUSSIAN},
    "student": {"law": "student", "scale": HEAVY, "tail": 3},
    "pareto": {"law": "pareto", "scale": HEAVY, "tail": 3.0},
}
STRONG = 3.0  # cuts about one pareto input in fourteen
# (law, noise of regression, losses, truncations)
REGRESSION = (
    ("sign", 0.0, ("square",), (None,)),
    ("gaussian", 0.0, ("square",), (None, "tail")),
    ("student", 0.0, ("square", "catoni-square"), ("tail",)),
    ("pareto", 0.0, ("square",), (None, "tail", STRONG)),
    ("pareto", 0.0, ("catoni-square",), ("tail",)),
    ("gaussian", 0.3, ("square", "catoni-square", "log-truncated-square"), (None,)),
    ("pareto", 0.3, ("square", "catoni-square", "log-truncated-square"), (None, "tail")),
)
CLASSIFICATION = (
    ("sign", 0.0, ("logistic",), (None,)),
    ("gaussian", 0.0, ("logistic",), (None, "tail")),
    ("student", 0.0, ("logistic",), ("tail",)),
    ("pareto", 0.0, ("logistic",), (None, "tail", STRONG)),
    ("pareto", 0.0, ("catoni-logistic", "log-truncated-logistic"), ("tail",)),
)
SMOKE = (  # one for each statement
    "regression, sign, noise-free, square, whole",
    "regression, gaussian, noise-free, square, cut at tail",
    "regression, pareto, noisy, square, whole",
    "regression, pareto, noisy, catoni-square, whole",
    "regression, pareto, noisy, catoni-square, cut at tail",
    "classification, sign, noisy, logistic, whole",
)
READOUT = {"regression": 1.0, "classification": 3.0}
RADIUS = 8.0
SIZES = {
    "smoke": [32, 128],
    "laptop": [32, 64, 128, 256, 512, 1024],
    "paper": [32, 64, 128, 256, 512, 1024, 2048, 4096, 8192],
}
TRIALS = {"smoke": 3, "laptop": 12, "paper": 50}
STEPS = {"smoke": 20, "laptop": 600, "paper": 4000}
LONG = [11, 33, 101, 317, 1001, 3163, 10_001, 31_623, 100_001, 316_229, 1_000_001, 10_000_001]
POINTS = {"smoke": LONG[:6], "laptop": LONG, "paper": [*LONG, 100_000_001]}


@experiment
class Excess(Experiment):
    """E5: measured excess risk, printed bound, derived bound."""

    name = "li2026-excess"
    source = "li2026, sections 4 to 6 (the paper has no experiments)"
    question = "Does the excess risk of a minimiser fall like 1/n, as printed?"

    def config(self, scale):
        smoke = scale == "smoke"
        return {
            "classes": classes_config(scale),
            "heads": {"seed": 5, "trials": TRIALS[scale], "arms": arms(scale)},
            "analysis": {
                "seed": 8,
                "draws": 200 if smoke else 4000,
                "level": 0.95,
                "from": 100,  # rates of the exact classes are fitted from this n on
                "slope_margin": 0.1,  # a rate agrees with another up to this
                "ratio_margin": 0.25,  # |log ratio| of two losses that counts as no difference
                "least_trials": 8,  # a size; below, intervals by resampling are too short
                "floor": 0.5,  # training loss over excess at the largest n: above, no rate is told
            },
        }

    def run(self, config, folder, bench):
        risks, bounds = measured_classes(config["classes"])
        rows = heads_rows(config["heads"], bench.location(folder), bench)
        bounds += heads_bounds(config["heads"])
        for name, table in (("classes", risks), ("heads", rows), ("bounds", bounds)):
            write(folder / f"{name}.parquet", table)

    def analyse(self, config, folder):
        tables = (read(folder / f"{name}.parquet") for name in ("classes", "heads", "bounds"))
        return findings(config["analysis"], *tables)


def classes_config(scale: str) -> dict[str, Any]:
    """Which problems at which n; how many samples are drawn beside the exact sums."""
    points = POINTS[scale]
    narrow = [n for n in points if n <= 10_001]
    sizes = {
        "noisy constants": points,
        "clear constants": [n for n in points if n <= 100_001],
        "one-hot": points,
        "narrow one-hot": narrow,
        "noisy one-hot": points,
        "two points": [25, 50] if scale == "smoke" else [25, 50, 100, 200],
    }
    draws = {"smoke": 200, "laptop": 2000, "paper": 20_000}[scale]
    return {"sizes": sizes, "seed": 12, "draws": draws, "drawn_examples": 2000 * draws}


def arms(scale: str) -> list[dict[str, Any]]:
    """Every way to learn, as a grid over n each."""
    trials = []
    for kind, some in (("regression", REGRESSION), ("classification", CLASSIFICATION)):
        for law, noise, losses, truncations in some:
            for loss in losses:
                for truncation in truncations:
                    trials.append(arm(scale, kind, law, noise, loss, truncation))
    return [one for one in trials if scale != "smoke" or one["arm"] in SMOKE]


def arm(scale, kind, law, noise, loss, truncation) -> dict[str, Any]:
    """One law of inputs, noise, loss and truncation; adam inside the balls of the class."""
    cut = "whole" if truncation is None else f"cut at {truncation}"
    noisiness = "noise-free" if kind == "regression" and not noise else "noisy"
    readout, steps = READOUT[kind], STEPS[scale]
    task = {"name": "taught", "T": T, "d": D, **LAWS[law], "kind": kind, "readout": readout}
    task |= {"radius": RADIUS, "m": SIZES[scale], "holdout": 500 if scale == "smoke" else 4000}
    task |= {"noise": noise} if noise else {}
    task |= {"truncation": truncation} if truncation is not None else {}
    balls = [
        {"norm": "l11", "radius": RADIUS, "weights": "W_*"},
        {"norm": "fro", "radius": readout, "weights": "w"},
    ]
    optimiser = {"name": "adam", "lr": 0.1}
    return {
        "arm": f"{kind}, {law}, {noisiness}, {loss}, {cut}",
        "task": task,
        "model": {"name": "layers", "d": D, "L": 1, "block": "li", "sigma": "tanh"},
        "training": {
            "optimiser": {"name": "constrained", "optimiser": optimiser, "balls": balls},
            "schedule": {"name": "cosine", "steps": steps},
            "steps": steps,
            "evaluate_every": steps,
            "evaluate": ["train"],
            "measures": ["li2026-excess"],
            "loss": loss,
            "precision": "ieee",
        },
    }


def heads_rows(config: dict[str, Any], folder: RunLocation, bench) -> list[dict[str, Any]]:
    """Train all arms; one row a trial."""
    from dudley.lab.training import trainings

    trials, names = [], []
    for arm in config["arms"]:
        protocol = {part: arm[part] for part in ("task", "model", "training")}
        grid = trainings("li2026-excess", config["seed"], protocol, config["trials"])
        trials += grid.trials
        names += [arm["arm"]] * len(grid)
    grid = TrialGrid(trials, "li2026-excess", config["seed"])
    trained = train_heads(grid, folder, bench)
    rows = []
    for name, row in zip(names, trained, strict=True):
        metrics = {key: row[f"result.metrics.{key}"] for key in ("excess", "own", "wrong", "cut")}
        metrics["train_loss"] = row["result.metrics.train_loss"]
        about = {"arm": name, "kind": row["task.kind"], "law": row["task.law"]}
        about |= {"noise": float(row.get("task.noise") or 0.0), "loss": row["training.loss"]}
        about |= {"truncation": str(row.get("task.truncation", "whole"))}
        rows.append(about | {"n": row["task.m"], "trial": row["trial"]} | metrics)
    return rows


def heads_bounds(config: dict[str, Any]) -> list[dict[str, Any]]:
    """The bounds of every arm at every n."""
    from dudley.lab.experiments.li2026_excess.bounds import questions
    from dudley.train.tasks.registry import task_of

    rows = []
    for arm in config["arms"]:
        for n in arm["task"]["m"]:
            task = task_of(arm["task"] | {"m": n})
            for id, values, forms in questions(task, arm["training"]["loss"]):  # pyright: ignore[reportArgumentType]
                rows += bounds_of(arm["arm"], n, {id: values}, forms)
    return rows


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """Rows as a Parquet file."""
    pyarrow, parquet = _pyarrow()
    parquet.write_table(pyarrow.Table.from_pylist(rows), path)


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of a Parquet file."""
    return _pyarrow()[1].read_table(path).to_pylist()


def _pyarrow():
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise missing("pyarrow", "tables of an experiment", "lab") from None
    return pyarrow, pyarrow.parquet
