"""What mwigo2026's protocol leaves open, and the trainings that settle it one way or another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dudley.lab.experiments.mwigo2026_mnist.protocol import split
from dudley.lab.finding import PaperReading

Columns = dict[str, np.ndarray]
TrialConfig = dict[str, Any]
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


def cells(trials: Columns, *names: str) -> Iterator[tuple[dict[str, Any], Columns]]:
    """The rows of each combination of values that occurs, in order."""
    for values in sorted(set(zip(*(trials[name].tolist() for name in names), strict=True))):
        named = dict(zip(names, values, strict=True))
        yield named, of(trials, **named)


def shared(level: float, count: int) -> float:
    """The level of each of so many intervals that hold at once with ``level``.

    >>> shared(0.95, 5)
    0.99
    """
    return 1 - (1 - level) / max(1, count)


def in_words(reading: str) -> str:
    """A reading in words."""
    return BEYOND.get(reading, "as printed, pixels x/255")


def choices(reading: str, rows: Columns) -> dict[str, str]:
    """What the trainings of a reading and one tokenisation settle."""
    pixels, way = split(reading)
    return {
        "pixels": f"pixels {PIXELS.get(pixels, 'x/255')}",
        "tokens": f"{rows['tokens'][0]} tokens",
        "epochs": f"{int(rows['epochs'].max()):,} epochs",
        "batches": "batches of 32" if way == "mini-batches" else "full batches",
    }


def read_as(
    config: TrialConfig, trials: Columns, outcome: Callable[..., str]
) -> list[PaperReading]:
    """The outcome of a claim under every reading that was trained on the paper's loss."""
    return [
        PaperReading(choices(reading, rows), SILENT, outcome(config, rows))
        for reading in ("printed", *BEYOND)
        if split(reading)[1] != "square"
        for tokens in sorted({*trials["tokens"].tolist()})
        if len((rows := of(trials, reading=reading, tokens=tokens))["N"])
    ]
