"""What the test losses of the MNIST trainings say: about N, about Table 1, about the epoch.

All statistics are of log losses: a ratio of two cells is a difference of means with Welch's
interval, the exponent of N a least-squares slope. Of each step in N it is said that the loss is the
"same" (the interval lies within the margin set beforehand), "falls", "rises", or "undecided". The
intervals of a reading hold at once (Bonferroni), so that what one of them refutes is refuted. The
scatter is that of subsets and first weights; the test images are the same throughout.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.stats import t as student

from dudley.lab.experiments.mwigo2026_mnist.protocol import SCALED, split
from dudley.lab.experiments.mwigo2026_mnist.readings import (
    BEYOND,
    Columns,
    TrialConfig,
    cells,
    in_words,
    of,
    read_as,
    shared,
)
from dudley.lab.experiments.mwigo2026_mnist.slopes import KINDS, exponents, rate, spanned
from dudley.lab.finding import Finding
from dudley.lab.statistics.proportions import clopper_pearson
from dudley.lab.statistics.trend import welch


def findings(config: TrialConfig, trials: Columns) -> list[Finding]:
    """One finding a claim, for the readings that were trained."""
    first = [claim(config, trials) for claim in (falls, rate, table, epoch)]
    if not set(SCALED) & set(trials["reading"].tolist()):
        caveat = " All of this is with pixels x/255: no other scaling was run here."
        first = [replace(claim, observation=claim.observation + caveat) for claim in first]
    there = [of(trials, reading=name) for name in BEYOND if name in trials["reading"]]
    others = [beyond(config, one) for one in there]
    cells = {f.numbers.get("reading", "printed"): f.numbers["cells"] for f in (first[2], *others)}
    return [*first, *why(config, cells), *others]


def steps_in_N(config: TrialConfig, trials: Columns, kind: str) -> list[dict[str, Any]]:
    """For each tokenisation, width and pair of successive N: the ratio of losses, what it says."""
    pairs = [
        (named | {"from": few, "to": many}, *(of(rows, N=size)[kind] for size in (few, many)))
        for named, rows in cells(trials, "tokens", "d_m")
        for few, many in pairwise(sorted(set(rows["N"].tolist())))
    ]
    conclusions = []
    for named, before, after in pairs:
        step = welch(np.log(after), np.log(before), shared(config["level"], len(pairs)))
        interval = [math.exp(step.lowest), math.exp(step.highest)]
        if -config["margin"] < step.lowest and step.highest < config["margin"]:
            says = "same"
        else:
            says = "falls" if step.highest < 0 else "rises" if step.lowest > 0 else "undecided"
        conclusions.append(
            named | {"ratio": math.exp(step.slope), "interval": interval, "says": says}
        )
    return conclusions


def verdict_on(steps: list[dict[str, Any]]) -> str:
    """Of "falls at every step": one that rises or stays refutes it."""
    said = {step["says"] for step in steps}
    if not said or said == {"undecided"} or said == {"falls", "undecided"}:
        return "undecided"
    return "holds" if said == {"falls"} else "fails"


def falling(config: TrialConfig, trials: Columns, kind: str) -> str:
    return verdict_on(steps_in_N(config, trials, kind))


def counted(steps: list[dict[str, Any]]) -> str:
    """In how many steps what is said.

    >>> counted([{"says": "same"}, {"says": "falls"}, {"says": "same"}])
    'falls in 1, same in 2'
    """
    words = ("falls", "same", "rises", "undecided")
    counts = {word: sum(step["says"] == word for step in steps) for word in words}
    return ", ".join(f"{word} in {count}" for word, count in counts.items() if count)


def listed(values: np.ndarray) -> str:
    """The distinct values in words."""
    return ", ".join(f"{value:,}" for value in sorted(set(values.tolist())))


def trained_on(trials: Columns) -> str:
    """Epochs, widths and sizes in words."""
    return (
        f"{int(trials['epochs'].max()):,} epochs, d_m {listed(trials['d_m'])}, N "
        f"{listed(trials['N'])}"
    )


def told_steps(config: TrialConfig, by: dict[str, list[dict[str, Any]]]) -> str:
    """What the steps in N say, and by which rule."""
    steps = len(by["best"])
    if not steps:
        return "One N only."
    return (
        f"Of {steps} step{'s' * (steps > 1)} in N, over tokenisations and widths: the lowest test "
        f"loss, selected on the test images as in the paper, {counted(by['best'])}; the loss after "
        f"the last epoch, nothing selected, {counted(by['last'])} ({config['level']:.0%} intervals "
        f"for all at once; same: a ratio within e^±{config['margin']:g})."
    )


def falls(config: TrialConfig, trials: Columns) -> Finding:
    words = {"best": "lowest test loss", "last": "test loss after the last epoch"}
    readings = [
        replace(reading, choices={**reading.choices, "loss": words[kind]})
        for kind in KINDS
        for reading in read_as(config, trials, partial(falling, kind=kind))
    ]
    trials = of(trials, reading="printed")
    by = {kind: steps_in_N(config, trials, kind) for kind in KINDS}
    return Finding.of_claim(
        "The test loss falls with the number of training images at every width.",
        readings,
        f"{told_steps(config, by)} Full batches, {trained_on(trials)}.",
        {"steps": by, "margin": config["margin"]},
    )


def beside(config: TrialConfig, trials: Columns) -> list[dict[str, Any]]:
    """Our cells with the paper's: lowest and last loss, epochs, and where a new run would fall."""
    printed = {(row["d_m"], row["N"]): row for row in config["theirs"]}
    if all(split(reading)[1] == "square" for reading in set(trials["reading"].tolist())):
        printed = {}  # another loss than that of the paper's table
    conclusions = []
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
            early, late = line["epoch_range"]
            line["their_epoch_inside"] = bool(early <= theirs["epoch"] <= late)
        conclusions.append(line)
    return conclusions


def in_both(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The cells that the paper's table has too."""
    return [line for line in lines if "their_lowest" in line]


def inside(lines: list[dict[str, Any]]) -> dict[str, list[bool]]:
    """For each tokenisation, whether the printed loss is where a new run would fall, by cells."""
    known = in_both(lines)
    return {
        tokens: [line["theirs_inside"] for line in known if line["tokens"] == tokens]
        for tokens in sorted({line["tokens"] for line in known})
    }


def same_table(config: TrialConfig, trials: Columns) -> str:
    """Is it the same table, of one reading and tokenisation?

    Cells that were not trained could agree or not. It holds if enough cells agree already, and
    fails if too many differ already.
    """
    agreeing = [line["theirs_inside"] for line in in_both(beside(config, trials))]
    count = len(config["theirs"])
    if sum(agreeing) / count >= config["cells_inside"]:
        return "holds"
    possible = (count - agreeing.count(False)) / count
    return "fails" if possible < config["cells_inside"] else "undecided"


def table(config: TrialConfig, trials: Columns) -> Finding:
    readings = read_as(config, trials, same_table)
    trials = of(trials, reading="printed")
    lines = beside(config, trials)
    shares = {tokens: float(np.mean(cells)) for tokens, cells in inside(lines).items()}
    ratios = [line["lowest"] / line["their_lowest"] for line in in_both(lines)]
    times = f" Ours are {min(ratios):.2g} to {max(ratios):.2g} times theirs." if ratios else ""
    return Finding.of_claim(
        "Table 1: the lowest test loss of every cell.",
        readings,
        told_cells(config, lines) + times,
        {"cells": lines, "share_inside": shares, "needed": config["cells_inside"]},
    )


def told_cells(config: TrialConfig, lines: list[dict[str, Any]]) -> str:
    """In which cells the printed loss is like ours, by the rule set beforehand."""
    parts = [f"{sum(own)} of {len(own)} cells ({tokens})" for tokens, own in inside(lines).items()]
    if not parts:
        return "No cell is in both tables."
    return (
        f"The printed loss lies where a new run of ours would fall in {', '.join(parts)}; "
        f"{needed(config)} needed for the same table."
    )


def needed(config: TrialConfig) -> str:
    """How many cells of the paper's table were to agree, by the rule set beforehand."""
    count = len(config["theirs"])
    return f"{round(config['cells_inside'] * count)} of {count}"


def epoch(config: TrialConfig, trials: Columns) -> Finding:
    """Are most trainings best at an epoch such as Table 1 has?

    At first the question was whether most are best before their last epoch, of which the paper
    says nothing. The rule was changed after the data were seen.
    """
    printed = [row["epoch"] for row in config["theirs"]]
    first, latest = min(printed), max(printed)

    def share(of_kind: np.ndarray) -> list[float]:
        """The interval of the share of trainings that are of some kind."""
        ends = clopper_pearson(int(of_kind.sum()), len(of_kind), config["level"])
        return [float(end) for end in ends]

    def within(config: TrialConfig, rows: Columns) -> str:
        low, high = share((first <= rows["best_epoch"]) & (rows["best_epoch"] <= latest))
        return "holds" if low > 0.5 else "fails" if high < 0.5 else "undecided"

    readings = read_as(config, trials, within)
    trials = of(trials, reading="printed")
    ends = trials["best_epoch"] == trials["epochs"]
    interval = share(ends)
    return Finding.of_claim(
        f"Table 1: the lowest test loss comes at an epoch between {first} and {latest}.",
        readings,
        f"In {int(ends.sum())} of {len(ends)} trainings by full batches the lowest test loss is "
        f"that of the last epoch, {int(trials['epochs'].max())} ({config['level']:.0%} interval of "
        f"the share [{interval[0]:.2f}, {interval[1]:.2f}]). There the number of epochs, which the "
        "paper does not state, decides the table.",
        {"at_last_epoch": int(ends.sum()), "trainings": len(ends), "share": interval},
    )


def why(config: TrialConfig, cells: dict[str, list[dict[str, Any]]]) -> list[Finding]:
    """Which reading of the protocol has the paper's losses at the paper's epochs?"""
    lines = []
    for reading, known in ((reading, in_both(own)) for reading, own in cells.items()):
        if known:
            loss = [line["theirs_inside"] for line in known]
            at = [line["their_epoch_inside"] for line in known]
            both = sum(one and other for one, other in zip(loss, at, strict=True))
            counts = {"loss": sum(loss), "epoch": sum(at), "both": both, "cells": len(known)}
            lines.append({"reading": reading, **counts})
    if not lines:
        return []
    text = "; ".join(
        f"{in_words(line['reading'])}: {line['loss']}, {line['epoch']} and {line['both']} of "
        f"{line['cells']}"
        for line in lines
    )
    share, nearest = max((line["both"] / line["cells"], line["reading"]) for line in lines)
    if share >= config["cells_inside"]:
        end = f"{in_words(nearest)} gives it"
    else:
        end = f"no reading reaches {needed(config)}"
        if share:
            row = next(line for line in lines if line["reading"] == nearest)
            end += f"; {in_words(nearest)} comes nearest, with {row['both']} of {row['cells']}"
    return [
        Finding.of_question(
            "Why does Table 1 differ? The paper says “batch gradient descent” with rate .1, and "
            "gives no number of epochs.",
            "Cells whose printed loss, printed epoch, and both at once lie among ours: "
            f"{text}. {needed(config)} needed for the same table: {end}.",
            {"readings": lines},
        )
    ]


def beyond(config: TrialConfig, trials: Columns) -> Finding:
    """The same tables under another reading."""
    reading = str(trials["reading"][0])
    by = {kind: steps_in_N(config, trials, kind) for kind in KINDS}
    powers = {kind: exponents(config, trials, kind) for kind in KINDS}
    lines = beside(config, trials)
    known = in_both(lines)
    epochs = sum(line["their_epoch_inside"] for line in known)
    late = sum(line["their_epoch"] > int(trials["epochs"].max()) for line in known)
    never = f", and comes after our last epoch in {late}" if late else ""
    ends = int((trials["best_epoch"] == trials["epochs"]).sum())
    optimism = float(np.exp(np.log(trials["last"] / trials["best"]).mean()))
    like = (
        f" {told_cells(config, lines)} The printed epoch of the lowest loss lies among ours in "
        f"{epochs} of {len(known)} cells{never}."
    )
    status = "Not in the paper" if split(reading)[1] == "square" else "Left open by the paper"
    return Finding.of_question(
        f"{status}: {in_words(reading)}.",
        f"{trained_on(trials)}.{like if known else ''} {told_steps(config, by)}"
        + spanned(config, powers["best"])
        + f" The lowest is at the last epoch in {ends} of {len(trials['best'])} trainings; the "
        f"last loss is {optimism:.2f} times the lowest.",
        {
            "reading": reading,
            "steps": by,
            "exponents": powers,
            "cells": lines,
            "at_last_epoch": ends,
            "trainings": len(trials["best"]),
            "last_over_lowest": optimism,
        },
    )  # fmt: skip


def _pair(middle: float, half: float) -> list[float]:
    return [float(math.exp(middle - half)), float(math.exp(middle + half))]
