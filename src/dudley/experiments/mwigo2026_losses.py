"""What the test losses of the MNIST trainings say: about N, about Table 1, about the epoch.

All statistics are of log losses: a ratio of two cells is a difference of means with Welch's
interval, the exponent of N a least-squares slope. "Falls", "rises", "same" (two one-sided tests
against the margin set beforehand) or "undecided" is said of each step in N; a claim about all steps
holds only if each holds, so that intervals need no correction for their number. The scatter is that
of subsets and first weights; the test images are the same throughout.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.stats import t as student

from dudley.experiments.base import Finding
from dudley.experiments.statistics.proportions import clopper_pearson
from dudley.experiments.statistics.trend import Slope, equivalence, estimate, slope

Columns = dict[str, np.ndarray]
Config = dict[str, Any]
KINDS = {"best": "lowest", "last": "last"}


def findings(config: Config, trials: Columns) -> list[Finding]:
    """One finding a claim, for the readings that were trained."""
    there = set(trials["reading"])
    printed = of(trials, reading="printed")
    found = [falls(config, printed), sublinear(config, printed), table(config, printed)]
    found.append(epoch(config, printed))
    if "longer" in there:
        found.append(beyond(config, of(trials, reading="longer"), "many more epochs"))
    if "mini-batches" in there:
        found.append(beyond(config, of(trials, reading="mini-batches"), "mini-batches of 32"))
    if "square" in there:
        found.append(beyond(config, of(trials, reading="square"), "descent on Φ = ½(f − y)²"))
    return found


def of(columns: Columns, **where: Any) -> Columns:
    """The rows where these columns have these values."""
    rows = np.all([columns[name] == value for name, value in where.items()], axis=0)
    return {name: column[rows] for name, column in columns.items()}


def cells(trials: Columns, *names: str) -> Iterator[tuple[dict[str, Any], Columns]]:
    """The rows of each combination of values that occurs, in order."""
    for values in sorted(set(zip(*(trials[name].tolist() for name in names), strict=True))):
        named = dict(zip(names, values, strict=True))
        yield named, of(trials, **named)


def change(before: np.ndarray, after: np.ndarray, level: float) -> Slope:
    """mean(after) − mean(before) with Welch's interval."""
    parts = [values.var(ddof=1) / len(values) for values in (before, after)]
    total = sum(parts)
    degrees = [len(values) - 1 for values in (before, after)]
    below = sum(part**2 / one for part, one in zip(parts, degrees, strict=True))
    freedom = total**2 / below if below > 0 else math.inf
    return estimate(float(after.mean() - before.mean()), math.sqrt(total), freedom, level)


def steps_in_N(config: Config, trials: Columns, kind: str) -> list[dict[str, Any]]:
    """For each tokenisation, width and pair of successive N: the ratio of losses, what it says."""
    found = []
    for named, rows in cells(trials, "tokens", "d_m"):
        sizes = sorted(set(rows["N"].tolist()))
        for few, many in pairwise(sizes):
            before, after = (np.log(of(rows, N=size)[kind]) for size in (few, many))
            step = change(before, after, config["level"])
            interval = [math.exp(step.lowest), math.exp(step.highest)]
            same = equivalence(step, config["margin"]).equivalent
            says = "falls" if step.highest < 0 else "rises" if step.lowest > 0 else "undecided"
            says = "same" if says == "undecided" and same else says
            found.append(
                named | {"from": few, "to": many, "ratio": math.exp(step.slope)}
                | {"interval": interval, "says": says}
            )  # fmt: skip
    return found


def exponents(config: Config, trials: Columns, kind: str) -> list[dict[str, Any]]:
    """The slope of log loss on log N for each tokenisation and width."""
    found = []
    for named, rows in cells(trials, "tokens", "d_m"):
        if len(set(rows["N"].tolist())) > 1:
            line = slope(np.log(rows["N"]), np.log(rows[kind]), config["level"])
            found.append(named | {"exponent": line.slope, "interval": [line.lowest, line.highest]})
    return found


def verdict_on(steps: list[dict[str, Any]]) -> str:
    """Of "falls at every step": one that rises or stays refutes it."""
    said = {step["says"] for step in steps}
    if not said or said == {"undecided"} or said == {"falls", "undecided"}:
        return "undecided"
    return "reproduced" if said == {"falls"} else "not reproduced"


def counted(steps: list[dict[str, Any]]) -> str:
    """How many steps say what."""
    words = ("falls", "same", "rises", "undecided")
    counts = {word: sum(step["says"] == word for step in steps) for word in words}
    return ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "none"


def listed(values: np.ndarray) -> str:
    """The distinct values in words."""
    return ", ".join(f"{value:,}" for value in sorted(set(values.tolist())))


def falls(config: Config, trials: Columns) -> Finding:
    by = {kind: steps_in_N(config, trials, kind) for kind in KINDS}
    return Finding(
        "The test loss falls with the number of training images at every width.",
        verdict_on(by["best"]),
        f"Of {len(by['best'])} steps in N, over tokenisations and widths: lowest test loss, "
        f"selected on the test images as in the paper: {counted(by['best'])}; loss after the last "
        f"epoch, nothing selected: {counted(by['last'])}. Full batches, "
        f"{int(trials['epochs'].max())} epochs, d_m {listed(trials['d_m'])}, N "
        f"{listed(trials['N'])}.",
        {"steps": by, "margin": config["margin"]},
    )


def sublinear(config: Config, trials: Columns) -> Finding:
    by = {kind: exponents(config, trials, kind) for kind in KINDS}
    theirs = []
    for d_m in sorted({row["d_m"] for row in config["theirs"]}):
        own = [row for row in config["theirs"] if row["d_m"] == d_m]
        logs = np.log([[row[name] for row in own] for name in ("N", "lowest")])
        theirs.append({"d_m": d_m, "exponent": float(np.polyfit(logs[0], logs[1], 1)[0])})
    inside = [line["interval"][0] > -1 and line["interval"][1] < 0 for line in by["best"]]
    outside = [line["interval"][1] <= -1 or line["interval"][0] >= 0 for line in by["best"]]
    verdict = "not reproduced" if any(outside) else "reproduced" if all(inside) else "undecided"
    return Finding(
        "The loss falls sublinearly in N: its exponent lies between −1 and 0.",
        verdict if by["best"] else "undecided",
        f"The interval of the exponent lies inside (−1, 0) in {sum(inside)} of {len(inside)} "
        "cases and wholly outside in " + f"{sum(outside)}. The paper's own Table 1 has exponents "
        + ", ".join(f"{line['exponent']:.2f}" for line in theirs) + ".",
        {"exponents": by, "theirs": theirs},
    )  # fmt: skip


def beside(config: Config, trials: Columns) -> list[dict[str, Any]]:
    """Our cells with the paper's: lowest and last loss, epochs, and where a new run would fall."""
    printed = {(row["d_m"], row["N"]): row for row in config["theirs"]}
    found = []
    for named, rows in cells(trials, "tokens", "d_m", "N"):
        logs, count = np.log(rows["best"]), len(rows["best"])
        half = student.ppf(0.5 + config["level"] / 2, count - 1) * logs.std(ddof=1)
        middle, new = logs.mean(), half * math.sqrt(1 + 1 / count)
        line = named | {
            "trials": count,
            "lowest": math.exp(middle),
            "lowest_interval": _pair(middle, half / math.sqrt(count)),
            "new_run": _pair(middle, new),
            "epoch_median": float(np.median(rows["best_epoch"])),
            "epoch_range": [int(rows["best_epoch"].min()), int(rows["best_epoch"].max())],
            "at_last_epoch": int((rows["best_epoch"] == rows["epochs"]).sum()),
            "last": float(np.exp(np.log(rows["last"]).mean())),
            "last_accuracy": float(rows["last_accuracy"].mean()),
            "selected": float(np.exp(np.log(rows["last"] / rows["best"]).mean())),
        }
        theirs = printed.get((named["d_m"], named["N"]))
        if theirs:
            low, high = line["new_run"]
            line |= {"their_lowest": theirs["lowest"], "their_epoch": theirs["epoch"]}
            line["theirs_inside"] = bool(low <= theirs["lowest"] <= high)
        found.append(line)
    return found


def table(config: Config, trials: Columns) -> Finding:
    lines = beside(config, trials)
    known = [line for line in lines if "theirs_inside" in line]
    shares = {
        tokens: float(np.mean([one["theirs_inside"] for one in known if one["tokens"] == tokens]))
        for tokens in sorted({line["tokens"] for line in known})
    }
    best = max(shares.values(), default=None)
    if best is None:
        verdict = "undecided"
    else:
        verdict = "reproduced" if best >= config["cells_inside"] else "differs"
    ratios = [line["lowest"] / line["their_lowest"] for line in known]
    by = f"; ours are {min(ratios):.2g} to {max(ratios):.2g} times theirs" if ratios else ""
    return Finding(
        "Table 1: the lowest test loss of every cell.",
        verdict,
        "The printed value lies where a new run of ours would fall in "
        + (", ".join(f"{share:.0%} of cells ({tokens})" for tokens, share in shares.items())
           or "no cell: none is in both tables")
        + by + ".",
        {"cells": lines, "share_inside": shares, "needed": config["cells_inside"]},
    )  # fmt: skip


def epoch(config: Config, trials: Columns) -> Finding:
    """Does the test loss turn within the epochs?"""
    ends = trials["best_epoch"] == trials["epochs"]
    interval = [float(end) for end in clopper_pearson(int(ends.sum()), len(ends), config["level"])]
    differs, agrees = interval[0] > 0.5, interval[1] < 0.5
    return Finding(
        "Table 1: the lowest test loss comes at an epoch between 95 and 546, before the end.",
        "differs" if differs else "reproduced" if agrees else "undecided",
        f"In {int(ends.sum())} of {len(ends)} trainings by full batches the lowest test loss is "
        f"that of the last epoch ({int(trials['epochs'].max())}): it is still falling, and the "
        "number of epochs, which the paper does not state, decides the table.",
        {"at_last_epoch": int(ends.sum()), "trainings": len(ends), "share": interval},
    )


def beyond(config: Config, trials: Columns, what: str) -> Finding:
    """The same table under another reading."""
    by = {kind: steps_in_N(config, trials, kind) for kind in KINDS}
    lines = beside(config, trials)
    ends = int((trials["best_epoch"] == trials["epochs"]).sum())
    optimism = float(np.exp(np.log(trials["last"] / trials["best"]).mean()))
    cross_entropy = "½" not in what
    if not cross_entropy:  # another loss than the paper's table has
        own = ("their_lowest", "their_epoch", "theirs_inside")
        lines = [{name: line[name] for name in line if name not in own} for line in lines]
    known = [line for line in lines if "theirs_inside" in line]
    inside = sum(line["theirs_inside"] for line in known)
    like = f" The printed loss lies where a new run would fall in {inside} of {len(known)} cells."
    powers = {kind: exponents(config, trials, kind) for kind in KINDS}
    return Finding(
        f"Not in the paper: {what}.",
        "beyond the paper",
        f"Steps in N: lowest test loss: {counted(by['best'])}; last: {counted(by['last'])}."
        + (like if known else "")
        + _spanned(powers["best"])
        + f" The lowest is at the last epoch in {ends} of {len(trials['best'])} trainings; the "
        f"last loss is {optimism:.2f} times the lowest, which was selected on the test images.",
        {
            "reading": str(trials["reading"][0]),
            "steps": by,
            "exponents": powers,
            "cells": lines,
            "at_last_epoch": ends,
            "trainings": len(trials["best"]),
            "last_over_lowest": optimism,
        },
    )


def _spanned(lines: list[dict[str, Any]]) -> str:
    """All intervals of the exponent, from the first end to the last."""
    if not lines:
        return ""
    lows, highs = zip(*(line["interval"] for line in lines), strict=True)
    return (
        f" The exponents of N, with their intervals, lie between {min(lows):.2f} and "
        f"{max(highs):.2f}."
    )


def _pair(middle: float, half: float) -> list[float]:
    return [float(math.exp(middle - half)), float(math.exp(middle + half))]
