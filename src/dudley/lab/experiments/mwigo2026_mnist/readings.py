"""What mwigo2026's protocol leaves open, and the trainings that settle it one way or another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dudley.lab.experiments.mwigo2026_mnist.protocol import split
from dudley.lab.finding import PaperReading

Columns = dict[str, np.ndarray]
TrialConfig = dict[str, Any]
OPEN = "how pixels are scaled, how images are cut into tokens, how many epochs, which batches"
SILENT = (
    "states neither the scaling of pixels nor tokens nor a number of epochs, and says batch "
    "gradient descent"
)
PIXELS = {"standardised": "(x/255 − .1307)/.3081", "signed": "2x/255 − 1"}
BEYOND = {
    "longer": "many more epochs",
    "mini-batches": "mini-batches of 32",
    "square": "descent on Φ = ½(f − y)²",
    "standardised": f"pixels {PIXELS['standardised']}",
    "standardised-longer": f"pixels {PIXELS['standardised']}, many more epochs",
    "standardised-mini-batches": f"pixels {PIXELS['standardised']}, mini-batches of 32",
    "standardised-square": f"pixels {PIXELS['standardised']}, descent on Φ = ½(f − y)²",
    "signed": f"pixels {PIXELS['signed']}",
}


def of(columns: Columns, **where: Any) -> Columns:
    """The rows where these columns have these values."""
    rows = np.all([columns[name] == value for name, value in where.items()], axis=0)
    return {name: column[rows] for name, column in columns.items()}


def in_words(reading: str) -> str:
    """A reading in words."""
    return BEYOND.get(reading, "as printed, pixels x/255")


def read_as(
    config: TrialConfig, trials: Columns, outcome: Callable[..., str]
) -> list[PaperReading]:
    """The outcome of a claim under every reading that was trained on the paper's loss."""
    return [
        PaperReading(OPEN, f"{in_words(reading)}, {tokens}", SILENT, outcome(config, rows))
        for reading in ("printed", *BEYOND)
        if split(reading)[1] != "square"
        for tokens in sorted({*trials["tokens"].tolist()})
        if len((rows := of(trials, reading=reading, tokens=tokens))["N"])
    ]
