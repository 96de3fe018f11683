"""What the studies beyond the papers share: train, measure the end, sum up cells.

Two things are taken of the last weights: every norm that a bound reads, in float64, and the mean of
a bounded loss on training and held-out examples, so that what is measured is what the bounds speak
of: ``ramp`` is 1 at margin ≤ 0 and 0 at margin ≥ `MARGIN`, ``clipped`` is cross-entropy cut at
`CLIP`. Margin and clip are fixed beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dudley.core.backend import torch
from dudley.lab import TrialGrid
from dudley.lab.experiment import Bench
from dudley.lab.finding import Finding
from dudley.lab.shared.training_table import write
from dudley.lab.statistics.goodness import p_value, rejects
from dudley.lab.statistics.trend import Slope, equivalence, estimate, slope, welch
from dudley.lab.training import Ending, memory_of, pack, train_batch, train_grid, trainings
from dudley.train.ensemble.base import WeightTensors
from dudley.train.losses import loss_of
from dudley.train.optimise.magnitudes import structure
from dudley.train.problem import Problem
from dudley.train.trainer import Trainer

MARGIN, CLIP = 1.0, 4.0
SHARES = ("train", "holdout", "bayes")
NORMS = ("op", "fro", "l11", "row1inf", "col1inf", "col2inf", "row2inf", "linf")
SPLITS = ("train", "holdout")
KEEP = [{"metric": "train_loss"}]  # what a plan says to keep the weights of the least loss, too
BEST = "result.at best train_loss.holdout_accuracy"


def norms(weights: WeightTensors, names: Sequence[str] = NORMS) -> dict[str, torch.Tensor]:
    """Norms of every weight, (E,) each, as ``norms.0.W_QK.l11``."""
    sizes = {}
    for name, W in weights.items():
        X = W.detach().double()
        for norm in names:
            unit = structure(norm)
            sizes[f"norms.{name.removeprefix('weights.')}.{norm}"] = unit.norm(unit.sizes(X))
    return sizes


def ramp(outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """(E, N): 1 at margin ≤ 0, 0 at margin ≥ `MARGIN`, where a margin is own logit − largest other.

    >>> ramp(torch.tensor([[[0.0, 0.25], [3.0, 0.0]]]), torch.tensor([[1, 0]]))
    tensor([[0.7500, 0.0000]])
    """
    label = labels[..., None]
    others = outputs.scatter(-1, label, -math.inf).amax(-1)
    return (1 - (outputs.gather(-1, label)[..., 0] - others) / MARGIN).clamp(0, 1)


def clipped(outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """(E, N): cross-entropy cut at `CLIP`."""
    return loss_of("cross-entropy")(outputs, labels).clamp(max=CLIP)


BOUNDED = {"ramp": ramp, "clipped": clipped}


@torch.no_grad()
def at_the_end(problem: Problem, weights: WeightTensors, bounded: str) -> dict[str, torch.Tensor]:
    """Norms and bounded losses of the last weights."""
    flat = norms(weights)
    for split in SPLITS:
        data = problem.split(split)
        outputs = problem.ensemble.evaluate(weights, data.inputs)
        losses = BOUNDED[bounded](outputs, data.labels).double()
        flat[f"{split}_bounded"] = (losses * data.weights).sum(1)
    return flat


def measure_the_end(trainer: Trainer, results: list[dict[str, Any]], bounded: str) -> None:
    """Add to every result what is measured of its last weights."""
    columns = at_the_end(trainer.problem, trainer.whole.weights, bounded)
    ends = {name: values.tolist() for name, values in columns.items()}
    for e, result in enumerate(results):
        result["end"] = {name: values[e] for name, values in ends.items()}


def train_parts(
    name: str, config: Mapping[str, Any], folder: Path, bench: Bench, ending: Ending
) -> list[dict[str, Any]]:
    """Train every part of a config; rows of what was set, and what became of it at the end.

    ``ending`` looks at the last weights, and adds to every result what it saw, as ``end``.
    """
    seed, trials = config["seed"], config["trials"]
    by_part = [trainings(name, seed, part, trials).trials for part in config["parts"]]
    grid = TrialGrid([trial for some in by_part for trial in some], name, seed)
    table = train_grid(
        grid,
        bench.location(folder),
        bench.device,
        bench.workers,
        pack(grid, memory_of(bench.device, bench.memory), bench.workers, spread=1.01),
        work=partial(train_batch, ending=ending),
        on=bench.on,
        progress=bench.progress,
    )
    rows = []
    for trial, row in zip(grid.trials, table, strict=True):
        columns = {"config": trial.config, "steps": row["result.steps"]}
        for prefix in ("result.final.", "result.end."):
            columns |= {k.removeprefix(prefix): v for k, v in row.items() if k.startswith(prefix)}
        if BEST in row:  # of the weights of the least training loss, where a plan keeps them
            columns["holdout_best"] = row[BEST]
        rows.append(columns)
    return rows


def tabulate(
    name: str,
    config: Mapping[str, Any],
    folder: Path,
    bench: Bench,
    row_of: Callable[[Mapping[str, Any]], Mapping[str, Any]],
    bounded: str = "ramp",
) -> None:
    """Train what the config says, and write ``trials.parquet``.

    ``row_of(row)`` gives the columns that only this study has: a trial's setting and its bound.
    """
    ending = partial(measure_the_end, bounded=bounded)
    rows = train_parts(name, config, folder, bench, ending)
    table = [{"trial": row["config"]["trial"], **row_of(row), **summed(row)} for row in rows]
    write(folder / "trials.parquet", columns_of(table))


def summed(row: Mapping[str, Any]) -> dict[str, Any]:
    """The plain columns of a trial: what is reported of every study."""
    columns = {name: row[f"{name}_accuracy"] for name in SPLITS}
    columns |= {"steps": row["steps"], "train_loss": row["train_loss"]}
    columns |= {name: row[name] for name in ("holdout_best",) if name in row}
    columns |= {f"{split}_bounded": row[f"{split}_bounded"] for split in SPLITS}
    columns["gap"] = row["holdout_bounded"] - row["train_bounded"]
    return columns | {name: value for name, value in row.items() if name.startswith("norms.")}


def columns_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list]:
    """Rows as columns; what a row lacks is empty."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def mean(values: Any) -> dict[str, Any]:
    """The mean over trials, with Student's 95 % interval."""
    x = np.asarray(values, float)
    error = float(x.std(ddof=1) / math.sqrt(len(x))) if len(x) > 1 else math.inf
    interval = estimate(float(x.mean()), error, max(1, len(x) - 1))
    return {
        "mean": interval.slope,
        "interval": [interval.lowest, interval.highest],
        "trials": len(x),
    }


def difference(a: Any, b: Any, level: float = 0.95) -> dict[str, Any]:
    """mean(a) − mean(b) of independent trials, with Welch's interval."""
    welch_test = welch(a, b, level)
    return {"difference": welch_test.slope, "interval": [welch_test.lowest, welch_test.highest]}


def cells(columns: Mapping[str, np.ndarray], by: Sequence[str], of: Sequence[str]) -> list[dict]:
    """For each cell of equal ``by``, the means of some columns; those of shares stay in [0, 1]."""
    keys = list(zip(*(columns[name].tolist() for name in by), strict=True))
    rows = []
    for key in dict.fromkeys(keys):
        of_key = np.array([other == key for other in keys])
        cell = dict(zip(by, key, strict=True))
        for name in of:
            cell[name] = mean(columns[name][of_key])
            if name in SHARES:
                cell[name]["interval"] = [min(1.0, max(0.0, end)) for end in cell[name]["interval"]]
        rows.append(cell)
    return rows


def trend(x: Any, y: Any, margin: float, alpha: float = 0.05) -> dict[str, Any]:
    """The slope with its interval, and whether it lies inside ±margin by two one-sided tests."""
    line: Slope = slope(x, y)
    same = equivalence(line, margin, alpha)
    up, down = line.lowest > 0, line.highest < 0
    direction = "grows" if up else "falls" if down else "no trend shown"
    if same.equivalent:
        direction = (
            "flat within the margin" if not (up or down) else f"{direction}, but within the margin"
        )
    return {
        "slope": line.slope,
        "interval": [line.lowest, line.highest],
        "margin": margin,
        "equivalent": same.equivalent,
        "equivalence_p": same.p,
        "interval_equivalence": [same.lowest, same.highest],
        "told": direction,
        "goodness": line.goodness.as_json(),
    }


def in_words(line: Mapping[str, Any], digits: int = 4) -> str:
    """A `trend`: both intervals, what they say, and whether there is a line at all."""
    low, high, lower, upper = (
        f"{end:+.{digits}f}" for end in (*line["interval"], *line["interval_equivalence"])
    )
    words = (
        f"{line['slope']:+.{digits}f} [{low}, {high}] (90 %, for equivalence: [{lower}, {upper}]), "
        f"{line['told']} (±{line['margin']})"
    )
    if rejects(line["goodness"]["p"]):
        test = p_value(line["goodness"])
        words += f"; a line does not fit ({test}), so that is the mean slope of this range"
    return words


def flat(line: Mapping[str, Any]) -> str:
    """The answer to "does not depend on it", from a `trend`."""
    low, high = line["interval"]
    if line["equivalent"]:
        return "confirmed"
    return "refuted" if low > 0 or high < 0 else "undecided"


def dead(columns: Mapping[str, np.ndarray]) -> np.ndarray:
    """Which networks of two logits end with equal logits on every example.

    Equal logits count as errors, so that both accuracies are 0, and the loss is log 2. Such a
    network decides nothing and never moves again: its accuracy is no number to average.
    """
    none = (columns["train"] == 0) & (columns["holdout"] == 0)
    return none & (np.abs(columns["train_loss"] - math.log(2)) < 1e-5)


def holds(
    columns: Mapping[str, np.ndarray], bound: str = "gap_bound", trivial: float = 1.0
) -> dict[str, Any]:
    """In how many trials the measured gap exceeds the bound, and the least room between them.

    ``telling`` counts the bounds below the trivial one: the others cannot be violated.
    """
    bounds = np.asarray(columns[bound], float)
    room = bounds - np.asarray(columns["gap"], float)
    return {
        "trials": len(room),
        "telling": int((bounds < trivial * (1 - 1e-9)).sum()),
        "violations": int((room < 0).sum()),
        "least_room": float(room.min()),
    }


def validity(
    columns: Mapping[str, np.ndarray], bound: str = "gap_bound", trivial: float = 1.0
) -> Finding:
    """The hypothesis that no gap exceeds its bound: untested where all bounds are trivial."""
    numbers = holds(columns, bound, trivial)
    text = "{telling} of {trials} bounds are below the trivial one".format(**numbers)
    if numbers["violations"]:
        answer, end = "refuted", f"{numbers['violations']} are violated"
    elif numbers["telling"]:
        answer, end = "confirmed", "none is violated"
    else:
        answer, end = "undecided", "nothing was tested"
    hypothesis = "The measured gap stays below the derived bound"
    return Finding.of_hypothesis(hypothesis, answer, f"{text}: {end}", numbers)
