"""The option ``--statements``: statements of one's own, from a Python file that is executed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dudley.theorems import registry


def execute_files(paths: list[Path] | None) -> list[Path] | None:
    """Execute the files before the command runs."""
    registry.load_files(paths or [])
    return paths


Statements = Annotated[
    list[Path] | None,
    typer.Option(
        "--statements",
        callback=execute_files,
        help="A Python file that registers statements. It is EXECUTED: only files that you trust.",
    ),
]
