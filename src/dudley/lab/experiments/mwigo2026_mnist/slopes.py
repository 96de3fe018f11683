"""How steeply the test loss falls with N, beside the slopes of the paper's Table 1.

The paper states no slope: those of its table are computed here, from three numbers a width.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dudley.lab.experiments.mwigo2026_mnist.readings import (
    Columns,
    TrialConfig,
    cells,
    of,
    read_as,
    shared,
)
from dudley.lab.finding import Finding
from dudley.lab.statistics.rates import exact_power
from dudley.lab.statistics.trend import slope

KINDS = ("best", "last")


def exponents(config: TrialConfig, trials: Columns, kind: str) -> list[dict[str, Any]]:
    """The slope of log loss on log N for each tokenisation and width."""
    several = [
        (named, rows)
        for named, rows in cells(trials, "tokens", "d_m")
        if len(set(rows["N"].tolist())) > 1
    ]
    level = shared(config["level"], len(several))
    lines = [slope(np.log(rows["N"]), np.log(rows[kind]), level) for _, rows in several]
    return [
        named
        | {"exponent": line.slope, "interval": [line.lowest, line.highest]}
        | {"goodness": line.goodness.as_json()}
        for (named, _), line in zip(several, lines, strict=True)
    ]


def rate(config: TrialConfig, trials: Columns) -> Finding:
    """The exponents of the paper's table beside ours."""
    theirs = {}
    for d_m in sorted({row["d_m"] for row in config["theirs"]}):
        printed = [row for row in config["theirs"] if row["d_m"] == d_m]
        theirs[d_m] = exact_power(*([row[name] for row in printed] for name in ("N", "lowest")))

    def agree(config: TrialConfig, rows: Columns) -> list[bool]:
        """Whether the paper's exponent lies inside the interval of ours, where it has one."""
        lines = exponents(config, rows, "best")
        ends = [(theirs[x["d_m"]].exponent, *x["interval"]) for x in lines if x["d_m"] in theirs]
        return [low <= power <= high for power, low, high in ends]

    def outcome(config: TrialConfig, rows: Columns) -> str:
        inside = agree(config, rows)
        return "undecided" if not inside else "holds" if all(inside) else "fails"

    readings = [
        {"reading": reading.chosen, "agrees": reading.outcome}
        for reading in read_as(config, trials, outcome)
    ]
    agreeing = sum(line["agrees"] == "holds" for line in readings)
    trials = of(trials, reading="printed")
    by = {kind: exponents(config, trials, kind) for kind in KINDS}
    inside = agree(config, trials)
    powers = ", ".join(f"{law.exponent:.2f} (d_m = {d_m:,})" for d_m, law in theirs.items())
    return Finding.of_question(
        "Does the lowest test loss fall with N as steeply as in Table 1? (Its slopes, computed by "
        f"us from three numbers each, are {powers}.)",
        f"As printed, that slope lies inside the interval of ours in {sum(inside)} of "
        f"{len(inside)} cases; all do under {agreeing} of {len(readings)} readings."
        + spanned(config, by["best"]) + " The lowest is selected on the test images.",
        {"exponents": by, "theirs": [{"d_m": d} | law.as_json() for d, law in theirs.items()],
         "by_reading": readings},
    )  # fmt: skip


def spanned(config: TrialConfig, lines: list[dict[str, Any]]) -> str:
    """All intervals of the exponent, from the first end to the last."""
    if not lines:
        return ""
    lows, highs = zip(*(line["interval"] for line in lines), strict=True)
    return (
        f" The exponents of N lie between {min(lows):.2f} and {max(highs):.2f} (the ends of all "
        f"intervals, {config['level']:.0%} at once)."
    )
