"""On what does Table 1 depend? Lowest test losses under two values of one choice, all else equal.

The choices are those that the paper leaves open: pixels, tokens, epochs, batches. Each is compared
in every cell that was trained under both values, by the ratio of geometric means with Welch's
interval; the intervals of a choice hold at once (Bonferroni). With L the margin of log ratios, a
choice *matters* in a cell whose interval lies outside e^±L, makes *no* difference where it lies
inside, and is *undecided* elsewhere. Scalings of pixels are compared after equally many epochs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np

from dudley.lab.experiments.mwigo2026_mnist.losses import (
    Columns,
    TrialConfig,
    beside,
    cells,
    in_both,
    shared,
)
from dudley.lab.experiments.mwigo2026_mnist.protocol import SCALED, split
from dudley.lab.experiments.mwigo2026_mnist.readings import in_words, of
from dudley.lab.finding import Finding
from dudley.lab.statistics.trend import welch

OF_WAY = {"longer": "epochs", "mini-batches": "batches"}
WORDS = ("matters", "no", "undecided")


def findings(config: TrialConfig, trials: Columns) -> list[Finding]:
    """What follows where pixels were scaled in more than one way; elsewhere nothing."""
    if not set(SCALED) & set(trials["reading"].tolist()):
        return []
    lines = comparisons(config, trials)
    near = {reading: multiples(config, of(trials, reading=reading)) for reading in judged(trials)}
    choices = [summary(choice, lines) for choice in dict.fromkeys(line["choice"] for line in lines)]
    texts = [
        f"{row['choice']} by ×{row['ratios'][0]:.2g} to ×{row['ratios'][1]:.2g} (matters in "
        f"{row['matters']}, makes no difference in {row['no']}, undecided in {row['undecided']})"
        for row in choices
    ]
    beside_theirs = [
        f"{in_words(reading)} ×{min(ratios):.2g} to ×{max(ratios):.2g} in {len(ratios)} cells"
        for reading, ratios in ((r, [row["ratio"] for row in rows]) for r, rows in near.items())
        if ratios
    ]
    return [
        Finding.of_question(
            "On what does Table 1 depend? The paper states neither the scaling of pixels nor the "
            "cut into tokens nor the number of epochs, and “batch” can be read in two ways.",
            f"The lowest test loss changes with {'; '.join(texts)}: cells compared under two "
            f"values of one choice, {config['level']:.0%} intervals for a choice at once, "
            f"margin e^±{config['margin']}."
            + (f" Ours over Table 1: {'; '.join(beside_theirs)}." if beside_theirs else ""),
            {
                "choices": choices,
                "comparisons": lines,
                "beside_table_1": [row for rows in near.values() for row in rows],
            },
        )
    ]


def judged(trials: Columns) -> list[str]:
    """The readings of Table 1 that were trained: all but those on another loss."""
    readings = dict.fromkeys(trials["reading"].tolist())
    return [reading for reading in readings if split(reading)[1] != "square"]


def pairs(trials: Columns) -> Iterator[tuple[dict[str, Any], Columns, Columns]]:
    """Cells under two values of one choice: names, trainings under the first, under the second."""
    readings = judged(trials)
    for reading in readings:
        for cell, rows in cells(of(trials, reading=reading), "d_m", "N"):
            flat, patches = (of(rows, tokens=tokens) for tokens in ("flat", "patches"))
            if len(flat["N"]) and len(patches["N"]):
                line = {"choice": "tokens", "from": "flat", "to": "patches", "reading": reading}
                yield line | cell, flat, patches
    for first, second in combinations(readings, 2):
        (pixels, way), (other_pixels, other_way) = split(first), split(second)
        if way == other_way:
            choice = "pixels"
        elif pixels == other_pixels and "printed" in (way, other_way):
            choice = OF_WAY[other_way if way == "printed" else way]
        else:
            continue
        for cell, rows in cells(of(trials, reading=first), "tokens", "d_m", "N"):
            others = of(trials, reading=second, **cell)
            same_epochs = set(rows["epochs"].tolist()) == set(others["epochs"].tolist())
            if len(others["N"]) and (same_epochs or choice != "pixels"):
                line = {"choice": choice, "from": first, "to": second, "reading": ""}
                yield line | cell, rows, others


def comparisons(config: TrialConfig, trials: Columns) -> list[dict[str, Any]]:
    """For every pair the ratio of the lowest losses, second over first, and what it says."""
    every = list(pairs(trials))
    counts = {line["choice"]: 0 for line, _, _ in every}
    for line, _, _ in every:
        counts[line["choice"]] += 1
    lines = []
    for line, before, after in every:
        level = shared(config["level"], counts[line["choice"]])
        change = welch(np.log(after["best"]), np.log(before["best"]), level)
        margin = config["margin"]
        if change.lowest > margin or change.highest < -margin:
            says = "matters"
        else:
            says = "no" if -margin < change.lowest and change.highest < margin else "undecided"
        interval = [math.exp(change.lowest), math.exp(change.highest)]
        lines.append(line | {"ratio": math.exp(change.slope), "interval": interval, "says": says})
    return lines


def summary(choice: str, lines: list[dict[str, Any]]) -> dict[str, Any]:
    """The range of a choice's ratios, and in how many cells it says what.

    >>> line = {"choice": "pixels", "ratio": 0.1, "says": "matters"}
    >>> summary("pixels", [line, line | {"ratio": 0.3}])["ratios"]
    [0.1, 0.3]
    """
    of_choice = [line for line in lines if line["choice"] == choice]
    ratios = [line["ratio"] for line in of_choice]
    counts = {word: sum(line["says"] == word for line in of_choice) for word in WORDS}
    return {"choice": choice, "ratios": [min(ratios), max(ratios)], **counts}


def multiples(config: TrialConfig, trials: Columns) -> list[dict[str, Any]]:
    """Our lowest loss over the printed, cell by cell, and where both minima lie."""
    rows = []
    for line in in_both(beside(config, trials)):
        theirs = line["their_lowest"]
        rows.append(
            {"reading": str(trials["reading"][0])}
            | {name: line[name] for name in ("tokens", "d_m", "N", "trials", "lowest")}
            | {"their_lowest": theirs, "ratio": line["lowest"] / theirs}
            | {"interval": [end / theirs for end in line["lowest_interval"]]}
            | {"theirs_inside": line["theirs_inside"], "epoch_median": line["epoch_median"]}
            | {"their_epoch": line["their_epoch"], "at_last_epoch": line["at_last_epoch"]}
        )
    return rows
