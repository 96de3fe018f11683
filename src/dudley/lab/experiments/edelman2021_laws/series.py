"""One series of the laws: grids of m that move with T, and the sequential design over them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dudley.lab.experiment import Bench
from dudley.lab.planned import PlannedGrid
from dudley.lab.shared.edelman2021_protocol import sparse_and
from dudley.lab.shared.sequential import most_of
from dudley.lab.shared.training_table import columns_of
from dudley.lab.statistics.sequential import Design, follow

COLLAPSED = (0.0, 0.0, 0.1)
STEP, AROUND = 1.3, 6  # of m, between neighbours; cells on either side of the expected m


def name_of(series: Mapping[str, Any]) -> str:
    """Such as s3-1000.

    >>> name_of({"s": 3, "steps": 1000, "T": [100]})
    's3-1000'
    """
    return f"s{series['s']}-{series['steps']}"


def grid_of(series: Mapping[str, Any]) -> np.ndarray:
    """All m, (lengths, cells), in the same ratios at every T.

    >>> grid_of({"s": 3, "steps": 1000, "T": [100]})[0, ::6]
    array([ 18,  87, 420])
    """
    T = np.array(series["T"], float)
    middle = 87 * 2.0 ** (series["s"] - 3) * (T / 100) ** 0.4
    return np.round(middle[:, None] * ratios()).astype(int)


def ratios() -> np.ndarray:
    return STEP ** np.arange(-AROUND, AROUND + 1.0)


def rounds(
    config: Mapping[str, Any], series: Mapping[str, Any], folder: Path, bench: Bench
) -> dict[str, Any]:
    """Train a series round after round; the columns of all trials."""
    parts: list[dict[str, Any]] = []
    m = grid_of(series)

    def ask(first: np.ndarray, last: np.ndarray) -> np.ndarray:
        grid = some_trials(config, series, m, first, last)
        store = bench.location(folder) / name_of(series) / f"round-{len(parts) + 1}"
        part = columns_of(grid, store, bench, ())
        parts.append(part)
        hits = np.zeros(first.shape, dtype=int)
        where = [(series["T"].index(T), int(np.flatnonzero(m[series["T"].index(T)] == size)[0]))
                 for T, size in zip(part["T"], part["m"], strict=True)]  # fmt: skip
        for place, best in zip(where, part["best"], strict=True):
            hits[place] += best > config["learnt"]
        return hits

    follow(ratios(), len(m), config["trials"], ask, Design(**config["design"]))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def planned_series(config: Mapping[str, Any], series: Mapping[str, Any]) -> PlannedGrid:
    """All trials of all cells, and what the design uses of them at most."""
    m, N = grid_of(series), config["trials"]
    grid = some_trials(config, series, m, np.zeros(m.shape, int), np.full(m.shape, N))
    limit = most_of(Design(**config["design"]), len(m), ratios().tolist(), N)
    return PlannedGrid(name_of(series), grid, limit)


def some_trials(config: Mapping[str, Any], series: Mapping[str, Any], m, first, last):
    """Trials first ≤ number < last of every cell, as a grid."""
    from dudley.lab import Trial, TrialGrid
    from dudley.train.problem import trial_key

    how = {"steps": series["steps"]} | {k: v for k, v in config["protocol"].items() if k != "steps"}
    configs = []
    for i, T in enumerate(series["T"]):
        for j, size in enumerate(m[i]):
            one_cell = sparse_and(T, int(size), COLLAPSED, s=series["s"], **how)
            for trial in range(first[i, j], last[i, j]):
                configs.append({**one_cell, "trial": trial, "seed": config["seed"]})
    return TrialGrid([Trial(one, trial_key(one)) for one in configs], "and", config["seed"])
