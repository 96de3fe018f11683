"""What mwigo2026's protocol leaves open, and the trainings that settle it one way or another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dudley.lab.finding import PaperReading

Columns = dict[str, np.ndarray]
Config = dict[str, Any]
OPEN = "how images are cut into tokens, how many epochs, full or mini-batches"
SILENT = "names no tokens and no number of epochs, and says batch gradient descent"
BEYOND = {
    "longer": "many more epochs",
    "mini-batches": "mini-batches of 32",
    "square": "descent on Φ = ½(f − y)²",
}


def of(columns: Columns, **where: Any) -> Columns:
    """The rows where these columns have these values."""
    rows = np.all([columns[name] == value for name, value in where.items()], axis=0)
    return {name: column[rows] for name, column in columns.items()}


def in_words(reading: str) -> str:
    """A reading in words."""
    return BEYOND.get(reading, "as printed")


def read_as(config: Config, trials: Columns, outcome: Callable[..., str]) -> list[PaperReading]:
    """The outcome of a claim under every reading that was trained on the paper's loss."""
    return [
        PaperReading(OPEN, f"{in_words(reading)}, {tokens}", SILENT, outcome(config, rows))
        for reading in ("printed", "longer", "mini-batches")
        for tokens in sorted({*trials["tokens"].tolist()})
        if len((rows := of(trials, reading=reading, tokens=tokens))["N"])
    ]
