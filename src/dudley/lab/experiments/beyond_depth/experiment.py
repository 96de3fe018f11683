"""Depth 1, 2 and 4 on a sparse task: accuracy, and the derived bound at the trained norms.

The papers' block (edelman2021, trauger2024: attention, Π, ReLU, output matrix, Π) is stacked L
times over fixed unit rows; bits and [CLS], sparse AND of three. Full-batch Adam until the training
loss is small or the steps are spent; held-out examples are looked at once, at the end. The bound is
the calculus' gap of the ramp loss at margin 1, at the trained norms, with the price of the union.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dudley.lab.experiment import Bench, Experiment, Finding, experiment
from dudley.lab.shared.training_table import read

SIZES = {
    "smoke": {"T": 8, "L": [1, 2], "m": [30], "trials": 2, "steps": 60, "holdout": 500},
    "laptop": {"T": 20, "L": [1, 2, 4], "m": [60, 120], "trials": 8, "steps": 400, "holdout": 4000},
    "paper": {
        "T": 50, "L": [1, 2, 4], "m": [60, 120, 240, 480], "trials": 50, "steps": 1000,
        "holdout": 10_000,
    },
}  # fmt: skip


@experiment
class Depth(Experiment):
    """Accuracy and derived sample size against the number of layers."""

    name: ClassVar[str] = "beyond-depth"
    source: ClassVar[str] = "beyond the papers; bounds: trauger2024, section 4.2"
    question: ClassVar[str] = "What does depth do to accuracy, and what does it cost in the bound?"

    def config(self, scale: str) -> dict[str, Any]:
        size = SIZES[scale]
        parts = [
            {
                "task": {
                    "name": "and", "T": size["T"], "s": 3, "m": size["m"],
                    "holdout": size["holdout"],
                },
                "model": {
                    "name": "token-network", "V": 3, "bits": True, "block": "trauger", "L": L,
                    "k": 16,
                },
                "training": {
                    "optimiser": {"name": "adam", "lr": 1e-2}, "steps": size["steps"],
                    "evaluate_every": 20, "evaluate": ["train"], "final": ["holdout"],
                    "stop": {"metric": "train_loss", "at_most": 0.05},
                },
            }
            for L in size["L"]
        ]  # fmt: skip
        return {
            "seed": 0, "trials": size["trials"], "parts": parts, "delta": 0.05, "target": 0.5,
            "accuracy_margin": 0.02,
        }  # fmt: skip

    def run(self, config: dict[str, Any], folder: Path, bench: Bench) -> None:
        from dudley.lab.shared.beyond_bounds import at_norms, priced, ramp_loss
        from dudley.lab.shared.beyond_trained import MARGIN, tabulate
        from dudley.models.token_network import TokenNetwork

        def row_of(row):
            task, model = row["config"]["task"], row["config"]["model"]
            twin = TokenNetwork(3, task["T"] + 1, model["L"], model["k"], model["block"])
            bound = at_norms(twin, row, ramp_loss(MARGIN))
            setting = {"L": model["L"], "T": task["T"], "m": task["m"]}
            return setting | priced(bound, task["m"], config["delta"], config["target"])

        tabulate(self.name, config, folder, bench, row_of)

    def analyse(self, config: dict[str, Any], folder: Path) -> list[Finding]:
        from dudley.lab.shared.beyond_trained import cells, dead, flat, in_words, trend, validity

        whole = read(folder / "trials.parquet")
        tied = dead(whole)
        table = {name: column[~tied] for name, column in whole.items()}
        rows = cells(table, ("L", "m"), ("train", "holdout", "gap", "log10_needed_n"))
        doublings = np.log2(table["L"])
        accuracy = trend(doublings, table["holdout"], config["accuracy_margin"])
        price = trend(doublings, table["log10_needed_n"], config["accuracy_margin"])
        fitted = float((table["train"] == 1).mean())
        low, high = price["interval"]
        return [
            Finding.of_hypothesis(
                "Held-out accuracy does not depend on depth (sparse AND)",
                flat(accuracy),
                f"change of accuracy per doubling of L: {in_words(accuracy)}; {fitted:.0%} of runs "
                "fit; "
                f"{int(tied.sum())} networks are dead (equal logits) and left out; the hold-out is "
                "looked at once, at the end",
                {"cells": rows, "trend": accuracy, "fitted": fitted, "dead": int(tied.sum())},
            ),
            Finding.of_hypothesis(
                "Each doubling of depth multiplies the examples that the derived bound asks for",
                "confirmed" if low > 0 else "refuted" if high < 0 else "undecided",
                f"by 10^{price['slope']:.2f} [10^{low:.2f}, 10^{high:.2f}], at the trained norms, "
                "union paid",
                {"cells": rows, "trend": price, "target": config["target"]},
            ),
            validity(whole),
        ]
