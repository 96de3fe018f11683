"""Sequential runs: a critical m for every T from a fraction of the full grid's trials.

Rounds are those of `statistics.sequential`, over all T at once. Every round is a grid of its own
with its own store, ``store/sequential/round-1``, …: what it proposes follows from the outcomes of
the rounds before, so that a broken run goes on by the same call. Trials have the numbers and the
keys that they have in the full grid; packed otherwise, they round otherwise.

The config is the experiment's with ``design``, what is chosen beforehand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from dudley.core.errors import InputError
from dudley.lab.experiment import Bench, Experiment, Finding
from dudley.lab.planned import Limit
from dudley.lab.shared.fast_mode import FAST, fast_mode, in_fast_mode
from dudley.lab.shared.growth import finite, information
from dudley.lab.shared.training_table import columns_of
from dudley.lab.statistics.critical import Cells
from dudley.lab.statistics.halfway import halfway
from dudley.lab.statistics.sequential import Design, DesignOutcome, follow


def designed(experiment: Experiment, scale: str, design: str = "full") -> dict[str, Any]:
    """An experiment's config at a scale, with the design where it is not the full grid's own."""
    if design not in experiment.designs:
        raise InputError(f"design of {experiment.name}", " | ".join(experiment.designs), design)
    config = experiment.config(scale)
    if design == FAST:
        return fast_mode(config)
    return config if design == "full" else config | {"design": asdict(Design())}


def design_of(experiment: Experiment, config: Mapping[str, Any]) -> str:
    """By which design of an experiment's was this config made?"""
    if in_fast_mode(config):
        return FAST
    return "sequential" if "sequential" in experiment.designs and "design" in config else "full"


def at_most(config: Mapping[str, Any]) -> Limit:
    """What the design uses at most of the full grid."""
    T, m = axes(config)
    return most_of(Design(**config["design"]), len(T), m, config["trials"])


def most_of(design: Design, lengths: int, m: Sequence[float], N: int) -> Limit:
    """What a design uses at most of N trials in every cell of ``lengths`` × m.

    A trial's work is proportional to its m: the share is that of a budget spent on the largest m,
    after the scan of all cells.
    """
    budget = design.budget(len(m), N)
    n = np.full(len(m), min(design.scan, budget // len(m), N))
    for i in reversed(range(len(m))):
        n[i] += min(N - n[i], budget - n.sum())
    return Limit(lengths * budget, design.rounds, float(n @ np.array(m) / (N * sum(m))))


def sequential(
    config: Mapping[str, Any], folder: Path, bench: Bench, curves: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Train round after round; columns as `training_table.trained` has them, and ``round``."""
    T, m = axes(config)
    parts: list[dict[str, Any]] = []

    def ask(first: np.ndarray, last: np.ndarray) -> np.ndarray:
        number = len(parts) + 1
        store = bench.location(folder) / "sequential" / f"round-{number}"
        part = columns_of(some_trials(config, first, last), store, bench, curves)
        parts.append(part | {"round": np.full(len(part["T"]), number)})
        hits = np.zeros(first.shape, dtype=int)
        where = np.searchsorted(T, part["T"]), np.searchsorted(m, part["m"])
        np.add.at(hits, where, part["best"] > config["learnt"])
        return hits

    follow(m, len(T), config["trials"], ask, Design(**config["design"]))
    joined = {name: [row for part in parts for row in part[name]] for name in parts[0]}
    order = np.lexsort([joined[name] for name in ("trial", "m", "T")])
    return {name: [column[i] for i in order] for name, column in joined.items()}


def some_trials(config: Mapping[str, Any], first: np.ndarray, last: np.ndarray):
    """The full grid's trials first ≤ number < last of every cell, as a grid."""
    from dudley.lab import Trial, TrialGrid
    from dudley.train.problem import trial_key

    protocol, seed = config["protocol"], config["seed"]
    task, (lengths, sizes) = protocol["task"], axes(config)
    configs = [
        {**protocol, "task": task | {"T": T, "m": m}, "trial": trial, "seed": seed}
        for i, T in enumerate(lengths)
        for j, m in enumerate(sizes)
        for trial in range(first[i, j], last[i, j])
    ]
    return TrialGrid([Trial(one, trial_key(one)) for one in configs], task["name"], seed)


def axes(config: Mapping[str, Any]) -> tuple[list[int], list[int]]:
    """All T and all m of the full grid, in increasing order."""
    task = config["protocol"]["task"]
    return sorted(task["T"]), sorted(task["m"])


def found_in(config: Mapping[str, Any], cells: Cells) -> DesignOutcome:
    """What the design found, from the trials of its table."""
    T, m = axes(config)
    k, n = (np.zeros((len(T), len(m)), dtype=int) for _ in range(2))
    where = np.searchsorted(T, cells.T), np.searchsorted(m, cells.m)
    k[where], n[where] = cells.successes, cells.trials
    return DesignOutcome(np.array(m), config["trials"], k, n, (), Design(**config["design"]))


def critical_sizes(config: Mapping[str, Any], cells: Cells) -> list[dict[str, Any]]:
    """A row for every T; None where it lies beyond the grid.

    ``critical`` estimates the full grid's, within ``full_interval``; ``interval`` is that of the
    curve's own, proved; ``logistic`` is m½ of a logistic curve with the error of its logarithm.
    """
    outcome, (lengths, sizes) = found_in(config, cells), axes(config)
    rows = []
    for i, T in enumerate(lengths):
        value, curve = float(outcome.critical[i]), halfway(outcome.m, outcome.k[i], outcome.n[i])
        rows.append({
            "T": T, "critical": finite(value), "largest": sizes[-1],
            "text": f"{value:.0f}" if np.isfinite(value) else f"> {sizes[-1]}",
            "error": None, "interval": [finite(end[i]) for end in outcome.interval],
            "full_interval": [finite(end[i]) for end in outcome.full_interval],
            "logistic": {
                "m": finite(curve.m), "error": finite(curve.error),
                "goodness": curve.goodness.as_json(),
            },
            "trials": int(outcome.n[i].sum()), "information": information(T),
        })  # fmt: skip
    return rows


def spent(config: Mapping[str, Any], trials: Mapping[str, np.ndarray]) -> Finding:
    """How many trials it took, and how sure the critical m are."""
    cells = Cells.of(trials["T"], trials["m"], trials["best"] > config["learnt"])
    rows, design = critical_sizes(config, cells), config["design"]
    T, m = axes(config)
    full, used = len(T) * len(m) * config["trials"], len(trials["T"])
    rounds = [int(count) for count in np.bincount(trials["round"])[1:]]

    def ends(row: dict[str, Any]) -> str:
        low, high = (f"> {m[-1]}" if end is None else f"{end:.0f}" for end in row["interval"])
        return f"{row['T']}: {low} to {high}"

    text = (
        f"{used:,} of {full:,} trials ({used / full:.0%}) in {len(rounds)} rounds; "
        f"{sum(None in row['interval'] for row in rows)} of {len(rows)} columns are open above. "
        f"{design['level']:.0%} intervals of the critical m, each by itself, by T, right for any "
        f"curve that passes ½ once, however trials were chosen: {', '.join(map(ends, rows))}."
    )
    numbers = {
        "trials": used, "full_grid": full, "share": used / full, "rounds": rounds,
        "design": dict(design), "columns": rows,
    }  # fmt: skip
    claim = "Which critical m do trials give that are spent where success crosses ½?"
    return Finding.of_question(claim, text, numbers)
