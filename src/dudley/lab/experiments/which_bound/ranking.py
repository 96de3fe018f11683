"""How every measure ranks the gaps of one group of networks, with intervals over cells.

Groups are never mixed: *heads* are the papers' networks of depth 1, which most statements are for;
*blocks* are those of every depth, heads included; *pre-norm* are Transformers of practice.

All intervals are simultaneous over the measures and groups of a record: a bootstrap error times
the normal quantile at 1 − .05/2M, M the number of rankings. A measure that is the same for all, or
is missing for one model in ten, is not ranked; other models that lack it are left out of its row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import norm

from dudley.lab.experiments.which_bound.grid import AXES
from dudley.lab.statistics.information import Signs
from dudley.lab.statistics.pairs import CellSettings, PairSigns, draws_of

GROUPS = ("heads", "blocks", "pre-norm")
LEVEL = 0.05
MOST_MISSING = 0.1
LEAST_PAIRS = 8  # pairs of cells that an environment has at least
INFORMED = 20  # draws of the conditional mutual information
TableColumns = Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class RankedMeasure:
    """One measure in one group; ``draws`` of a statistic begin with its value on the data."""

    group: str
    name: str
    models: int
    draws: Mapping[str, np.ndarray]
    along: Mapping[str, np.ndarray] = field(default_factory=dict)  # ψ by axis
    worst: tuple[float, str] = (np.nan, "")  # sign error, environment
    known: tuple[str, ...] = ()  # the settings at which K is attained

    def value(self, statistic: str) -> float:
        return float(self.draws[statistic][0])

    def error(self, statistic: str) -> float:
        return spread(self.draws[statistic][1:])

    def interval(self, statistic: str, z: float) -> list[float]:
        half = z * self.error(statistic)
        return [self.value(statistic) - half, self.value(statistic) + half]

    def row(self, z: float) -> dict[str, Any]:
        """Plain numbers."""
        low, high = self.interval("τ", z)
        return {
            "group": self.group, "measure": self.name, "models": self.models,
            "τ": self.value("τ"), "error": self.error("τ"), "interval": [low, high],
            "within": self.value("within"), "ψ": self.value("ψ"),
            "ψ_interval": self.interval("ψ", z),
            "K": self.value("K"), "K_interval": self.interval("K", z),
            "known_settings": list(self.known),
            "worst": self.worst[0], "worst_interval": self.interval("worst", z),
            "where": self.worst[1],
            "along": {axis: float(draws[0]) for axis, draws in self.along.items()},
        }  # fmt: skip


def measured(table: TableColumns) -> list[str]:
    """The names of the measures of a table."""
    return [name.removeprefix("measure.") for name in table if name.startswith("measure.")]


def of_group(table: TableColumns, group: str) -> dict[str, np.ndarray]:
    """The models of a group that reached the training loss."""
    where = (table["family"] == ("blocks" if group == "heads" else group)) & (table["reached"] > 0)
    if group == "heads":
        where &= table["depth"] == 1
    return {name: column[where] for name, column in table.items()}


def settings_of(table: TableColumns) -> CellSettings:
    """The cells of a table, by the axes that vary in it."""
    return CellSettings.of({axis: table[axis] for axis in AXES if len(np.unique(table[axis])) > 1})


def ranked(table: TableColumns, group: str, draws: int, seed: int) -> list[RankedMeasure]:
    """Every measure that can be ranked."""
    rows = of_group(table, group)
    if len(rows["gap"]) < 4:
        return []
    settings = settings_of(rows)
    weights = draws_of(settings.cells, draws, seed)
    p = np.clip(rows["holdout_ramp"], 0, 1)
    noise = np.sqrt(p * (1 - p) / rows["holdout"])  # at least that of a mean of numbers in [0, 1]
    rankings = []
    for name in measured(rows):
        x = rows[f"measure.{name}"].astype(float)
        there = ~np.isnan(x)
        if there.mean() < 1 - MOST_MISSING or len(np.unique(x[there])) < 2:
            continue
        arguments = rows["gap"][there], x[there], settings.rows(there)
        rankings.append(rank_measure(group, name, *arguments, noise[there], weights))
    return rankings


def rank_measure(
    group: str, name: str, gap, x, settings: CellSettings, noise, weights
) -> RankedMeasure:
    """All statistics of one measure."""
    signs = PairSigns.of(gap, x, settings)
    along = {axis: signs.along(settings.neighbours(axis), weights) for axis in settings.axes}
    every = np.stack(list(along.values()))
    with np.errstate(invalid="ignore"):
        ψ = np.nansum(every, 0) / np.maximum(1, (~np.isnan(every)).sum(0))
    table = Signs.of(gap, x, settings)
    share, known = table.least(settings.axes)
    K = [share] + [table.share(known, w) for w in weights[1 : INFORMED + 1]]
    error, where, worst = worst_environment(
        PairSigns.of(gap, x, settings, noise), settings, weights
    )
    draws = {
        "τ": signs.between(weights), "within": signs.within(weights), "ψ": ψ,
        "K": np.array(K), "worst": worst,
    }  # fmt: skip
    return RankedMeasure(group, name, len(x), draws, along, (error, where), known)


def worst_environment(
    signs: PairSigns, settings: CellSettings, weights: np.ndarray
) -> tuple[float, str, np.ndarray]:
    """The largest sign error over environments: two values of one axis, all else the same.

    A sign error is the share of pairs that are not agreed on, half of it where the measure is the
    same; pairs whose gaps differ by noise do not count (Dziugaite et al., 2020).
    """
    environments = [(np.nan, "none", np.full(len(weights), np.nan))]
    for (axis, a, b), pairs in settings.environments().items():
        if (signs.count[pairs] > 0).sum() >= LEAST_PAIRS:
            errors = (1 - signs.along(pairs, weights)) / 2
            environments.append((float(errors[0]), f"{axis}: {a} against {b}", errors))
    return max(environments, key=lambda each: -1.0 if np.isnan(each[0]) else each[0])


def spread(draws: np.ndarray) -> float:
    """The standard deviation of the draws that have a value; NaN of fewer than two."""
    some = draws[~np.isnan(draws)]
    return float(some.std(ddof=1)) if len(some) > 1 else np.nan


def quantile(rankings: int) -> float:
    """The normal quantile that pays for so many rankings."""
    return float(norm.ppf(1 - LEVEL / (2 * max(1, rankings))))


def shuffled(
    table: TableColumns, group: str, draws: int, seed: int
) -> list[tuple[str, float, float]]:
    """τ of every measure with the gaps of the group in a random order, with its error."""
    rows = of_group(table, group)
    if len(rows["gap"]) < 4:
        return []
    settings = settings_of(rows)
    weights = draws_of(settings.cells, draws, seed)
    gap = np.random.default_rng(seed + 1).permutation(rows["gap"])
    values = []
    for name in measured(rows):
        x = rows[f"measure.{name}"].astype(float)
        there = ~np.isnan(x)
        if there.mean() < 1 - MOST_MISSING or len(np.unique(x[there])) < 2:
            continue
        τ = PairSigns.of(gap[there], x[there], settings.rows(there)).between(weights)
        values.append((name, float(τ[0]), spread(τ[1:])))
    return values
