"""A forecast as a document: what a run would train, how long it may take, and what that costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dudley.lab.experiment import Experiment
from dudley.lab.forecast import ForecastPart, between
from dudley.show.document import Cell, Document, DocumentBlock, Prose, Section, Table

HEADS = ["part", "trials", "steps", "batches", "GiB", "work", "work a second"]
UNITS = (
    "Steps of a trial and GiB of a batch are upper bounds; work is counted in "
    "examples × tokens × steps × what a token takes of a model."
)


def document(
    experiment: Experiment,
    scale: str,
    parts: Sequence[ForecastPart],
    total: dict[str, Any],
) -> Document:
    """The parts, then the whole."""
    blocks: list[DocumentBlock] = [Section("", (_table(parts), Prose(UNITS)))]
    sentences = [total["text"]]
    limits = [part.limit for part in parts if part.limit]
    if limits:
        trials = sum(part.limit.trials if part.limit else part.trials for part in parts)
        rounds = max(limit.rounds for limit in limits)
        of_each = " of a part" if len(limits) > 1 else ""
        most = f"of these at most {trials:,} trials, in at most {rounds} rounds{of_each}"
        sentences.insert(0, most)
    blocks.append(Section("", tuple(map(Prose, sentences))))
    if not parts:
        blocks = [Section("", (Prose("no training; numbers only"),))]
    return Document(
        f"{experiment.name}, {scale}", tuple(blocks), (experiment.question,), kind="forecast"
    )


def _table(parts: Sequence[ForecastPart]) -> Table:
    heads = HEADS if any(part.part for part in parts) else HEADS[1:]
    return Table.of(heads, [row(part)[len(HEADS) - len(heads) :] for part in parts])


def row(part: ForecastPart) -> list[Cell]:
    """One part, in the order of `HEADS`."""
    speeds = between(*(f"{speed:.2g}" for speed in part.speeds))
    gibibytes = part.bytes / 2**30
    return [
        Cell(part.part),
        Cell(f"{part.trials:,}", part.trials),
        Cell(f"{part.steps:,}", part.steps),
        Cell(f"{part.batches:,}", part.batches),
        Cell(f"{gibibytes:.2g}", gibibytes),
        Cell(f"{part.work:.2g}", part.work),
        Cell(speeds if part.measured else f"{speeds}, as the other parts"),
    ]
