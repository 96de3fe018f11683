"""A small experiment for tests of figures, pages and commands: no training, a line with noise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet

from dudley.core.errors import InputError
from dudley.lab.experiment import Bench, Experiment, Finding
from dudley.lab.finding import PaperReading


class Toy(Experiment):
    """y = 2x + noise. Nothing is trained."""

    name = "toy-line"
    source = "nobody 2000, figure 1"
    question = "Does y grow with x?"

    def config(self, scale: str) -> dict[str, Any]:
        return {"points": {"smoke": 5, "laptop": 20, "paper": 100}[scale], "seed": 7}

    def run(self, config: dict[str, Any], folder: Path, bench: Bench) -> None:
        if bench.workers > 8:
            raise InputError("workers", "at most 8", bench.workers)
        x = np.arange(config["points"])
        noise = np.random.default_rng(config["seed"]).normal(size=len(x))
        pyarrow.parquet.write_table(
            pyarrow.table({"x": x, "y": 2 * x + noise}), folder / "line.parquet"
        )

    def analyse(self, config: dict[str, Any], folder: Path) -> list[Finding]:
        table = pyarrow.parquet.read_table(folder / "line.parquet")
        x, y = table["x"].to_numpy(), table["y"].to_numpy()
        slope = float(np.polyfit(x, y, 1)[0])
        rows = [{"x": int(a), "y": float(b)} for a, b in zip(x, y, strict=True)]
        numbers = {"slope": slope, "interval": [slope - 1, slope + 1], "line": rows}
        choice, silent = "what grows means", "nobody says"
        readings = [
            PaperReading(
                {choice: f"slope above {least}"}, silent, "holds" if slope > least else "fails"
            )
            for least in (0, 1)
        ]
        return [
            Finding.of_claim("y grows with x", readings, f"the slope is {slope:.2f}", numbers),
            Finding.of_hypothesis(
                "x is | odd", "undecided", "nobody looked", {"far": float("inf")}
            ),
        ]
