"""Experiments as a document: the question of each, and the verdicts of its results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dudley.lab.experiment import Experiment
from dudley.lab.pages.results import Results, in_short
from dudley.show.document import Document, Points, Prose, Section


def item(
    experiment: Experiment, results: dict[str, Results], damaged: dict[str, str]
) -> dict[str, Any]:
    """An experiment as JSON: the verdicts by scale, and why a scale cannot be read."""
    verdicts = {
        scale: [finding.verdict for finding in folder.findings] for scale, folder in results.items()
    }
    return {
        "id": experiment.name,
        "source": experiment.source,
        "question": experiment.question,
        "results": verdicts,
        "counts": {scale: in_short(experiment, folder) for scale, folder in results.items()},
        "damaged": damaged,
    }


def document(items: Sequence[dict[str, Any]]) -> Document:
    """A section for each experiment."""
    sections = [
        Section(
            f"{experiment['id']}  ({experiment['source']})",
            (Prose(experiment["question"]), Points(tuple(_scales(experiment)))),
        )
        for experiment in items
    ]
    count = Section("", (Prose(f"{len(items)} experiments"),))
    return Document("", (*sections, count), kind="experiments")


def _scales(experiment: dict[str, Any]) -> list[str]:
    lines = [f"{scale}: {text}" for scale, text in experiment["counts"].items()]
    damaged = experiment["damaged"].items()
    return lines + [f"{scale}: unreadable, skipped: {reason}" for scale, reason in damaged]
