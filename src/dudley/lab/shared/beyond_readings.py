"""Readings of the hypotheses beyond the papers: choices of ours that could turn a verdict around.

All of them are readings of one table, so that they cost no training. They are set before a run:

- *networks*: those that are not dead, all (a dead network's answers count as errors), or those
  alone that fit their training data, dead or not being no question then;
- *weights*: the last, or those of the least training loss, where a plan kept them
  (``holdout_best``);
- *margin*: what counts as no change of accuracy;
- *bound*: the ramp's margin, and the norms that the bound reads, where a plan has other columns
  (``log10_needed_n, …``).

A reading that leaves fewer than three networks, or fewer than two settings, is undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dudley.lab.finding import PaperReading
from dudley.lab.shared.beyond_trained import dead, difference, flat, trend

TableColumns = Mapping[str, np.ndarray]
AnswerOf = Callable[[Mapping[str, Any]], str]
LIVE, ALL, FITTED = "not dead", "all", "fitted"
WEIGHTS = {"last": "holdout", "least training loss": "holdout_best"}
PRICE, MAIN = "log10_needed_n", "margin 1, spectral norms"
FEW = 3


def networks(table: TableColumns) -> dict[str, np.ndarray]:
    """Masks of a table by which networks count; one that adds nothing is left out."""
    tied = dead(table) if "train_loss" in table else np.zeros(len(table["train"]), bool)
    masks = {LIVE: ~tied}
    if tied.any():
        masks[ALL] = np.ones(len(tied), bool)
    fitted = np.asarray(table["train"]) == 1
    if not (fitted == ~tied).all():
        masks[FITTED] = fitted
    return masks


def accuracies(
    table: TableColumns,
    x: Any,
    margins: Sequence[float],
    part: np.ndarray | None = None,
    also: Mapping[str, str] | None = None,
) -> list[PaperReading]:
    """Is held-out accuracy free of x? Under every choice of networks, weights and margin.

    ``also`` are choices that these readings have in common, and others have not.
    """
    readings = []
    for which, mask in networks(table).items():
        rows = mask if part is None else mask & part
        for words, column in WEIGHTS.items():
            for margin in margins if column in table else ():
                choices = {"networks": which, "weights": words, "margin": f"{margin:g}"}
                choices |= also or {}
                readings.append(_trend(choices, x, table, column, rows, margin, flat))
    return readings


def prices(
    table: TableColumns,
    x: Any,
    margin: float,
    answer: AnswerOf,
    part: np.ndarray | None = None,
    also: Mapping[str, str] | None = None,
) -> list[PaperReading]:
    """What becomes of the n that the bound asks for? Under every choice of networks and bound."""
    readings = []
    for which, mask in networks(table).items():
        rows = mask if part is None else mask & part
        for column in (name for name in table if name.startswith(PRICE)):
            bound = column.removeprefix(PRICE).removeprefix(", ") or MAIN
            choices = {"networks": which, "bound": bound} | dict(also or {})
            readings.append(_trend(choices, x, table, column, rows, margin, answer))
    return readings


def of_each(
    table: TableColumns, name: str, x: Any, margin: float, answer: AnswerOf, column: str = "holdout"
) -> list[PaperReading]:
    """A trend at each value of another setting alone, all else as in the first reading."""
    live, readings = networks(table)[LIVE], []
    first = {"bound": MAIN} if column == PRICE else {"weights": "last", "margin": f"{margin:g}"}
    for value in np.unique(table[name]):
        choices = {"networks": LIVE, **first, name: f"{value:g}"}
        rows = live & (table[name] == value)
        readings.append(_trend(choices, x, table, column, rows, margin, answer))
    return readings


def _trend(
    choices: dict[str, str], x: Any, table: TableColumns, column: str, rows: np.ndarray,
    margin: float, answer: AnswerOf,
) -> PaperReading:  # fmt: skip
    """The reading of one trend, with its estimate and how many networks it has.

    A network without a number is not among them: a bound may be had for some trials alone.
    """
    rows = rows & np.isfinite(np.asarray(table[column], float))
    at, values = np.asarray(x)[rows], np.asarray(table[column])[rows]
    if rows.sum() < FEW or len(np.unique(at)) < 2:
        return PaperReading.ours(choices, "undecided", networks=int(rows.sum()))
    line = trend(at, values, margin)
    numbers = {"estimate": line["slope"], "interval": line["interval"]}
    return PaperReading.ours(choices, answer(line), **numbers, networks=int(rows.sum()))


def differences(
    table: TableColumns,
    groups: Mapping[str, np.ndarray],
    base: str,
    margins: Sequence[float],
    level: float,
    answer: Callable[[list[list[float]], float], str],
) -> list[PaperReading]:
    """Is a group's accuracy that of the base? Under every choice of networks, weights, margin."""
    readings = []
    for which, mask in networks(table).items():
        for words, column in WEIGHTS.items():
            if column not in table:
                continue
            sets = {name: np.asarray(table[column])[own & mask] for name, own in groups.items()}
            some = {name: values for name, values in sets.items() if len(values) >= FEW}
            gaps = [
                difference(values, some[base], level)["interval"]
                for name, values in some.items()
                if name != base and base in some
            ]
            for margin in margins:
                choices = {"networks": which, "weights": words, "margin": f"{margin:g}"}
                said = answer(gaps, margin) if len(some) == len(groups) else "undecided"
                numbers = {"groups": len(some), "networks": int(mask.sum())}
                readings.append(PaperReading.ours(choices, said, **numbers))
    return readings


def agreement(readings: Sequence[PaperReading]) -> str:
    """What was varied, and how many readings say what."""
    names = dict.fromkeys(name for reading in readings for name in reading.choices)
    varied = [n for n in names if len({reading.choices.get(n) for reading in readings}) > 1]
    words = {"holds": "confirm it", "fails": "refute it", "undecided": "are undecided"}
    counts = [
        f"{count} {text}"
        for outcome, text in words.items()
        if (count := sum(reading.outcome == outcome for reading in readings))
    ]
    return f"{len(readings)} readings ({', '.join(varied)} varied): {', '.join(counts)}"
