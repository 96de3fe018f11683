"""Depth 1, 2 and 4 on a sparse task: accuracy, and the derived bound at the trained norms.

The papers' block (edelman2021, trauger2024: attention, Π, ReLU, output matrix, Π) is stacked L
times over fixed unit rows; bits and [CLS], sparse AND of three. Full-batch Adam until the training
loss is small or the steps are spent; held-out examples are looked at once, at the end. The bound is
the calculus' gap of the ramp loss at margin 1, at the trained norms, with the price of the union.

Readings, set before the run at scale paper: networks (those that are not dead; all; those that fit
their training data); weights (the last; those of least training loss); margins of accuracy (.02 and
.05 per doubling of L); the number of examples (all; each alone); and which norms the bound reads
(spectral; the sum of all entries, ℓ1). At scale paper it reads the spectral ones alone, since each
is paid for.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dudley.lab.experiment import Bench, Experiment, Finding, experiment
from dudley.lab.shared.training_table import read

SIZES = {
    "smoke": {"T": 8, "L": [1, 2], "m": [30], "trials": 2, "steps": 60, "holdout": 500},
    "laptop": {"T": 20, "L": [1, 2, 4], "m": [60, 120], "trials": 8, "steps": 400, "holdout": 4000},
    "paper": {  # on a processor: the laptop's sizes, with five times as many trials
        "T": 20, "L": [1, 2, 4], "m": [60, 120], "trials": 40, "steps": 300, "holdout": 4000,
    },
}  # fmt: skip


@experiment
class Depth(Experiment):
    """Accuracy and derived sample size against the number of layers."""

    name: ClassVar[str] = "beyond-depth"
    source: ClassVar[str] = "beyond the papers; bounds: trauger2024, section 4.2"
    question: ClassVar[str] = "What does depth do to accuracy, and what does it cost in the bound?"

    def config(self, scale: str) -> dict[str, Any]:
        from dudley.lab.shared.beyond_trained import KEEP

        size, readings = SIZES[scale], scale != "laptop"
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
                    **({"keep": KEEP} if readings else {}),
                },
            }
            for L in size["L"]
        ]  # fmt: skip
        more = {
            "accuracy_margins": [0.02, 0.05], "norms": ["op"], "other_norms": ["l11"],
        }  # fmt: skip
        return {
            "seed": 0, "trials": size["trials"], "parts": parts, "delta": 0.05, "target": 0.5,
            "accuracy_margin": 0.02, **(more if readings else {}),
        }  # fmt: skip

    def run(self, config: dict[str, Any], folder: Path, bench: Bench) -> None:
        from dudley.lab.shared.beyond_bounds import asked_for, at_norms, priced, ramp_loss, reading
        from dudley.lab.shared.beyond_trained import MARGIN, tabulate
        from dudley.models.token_network import TokenNetwork

        def row_of(row):
            task, model = row["config"]["task"], row["config"]["model"]
            twin = TokenNetwork(3, task["T"] + 1, model["L"], model["k"], model["block"])
            loss, level = ramp_loss(MARGIN), (config["delta"], config["target"])
            bound = at_norms(twin, row, loss, only=reading(config.get("norms", ())))
            setting = {"L": model["L"], "T": task["T"], "m": task["m"]}
            setting |= priced(bound, task["m"], *level)
            if "other_norms" not in config:
                return setting
            other = reading(config["other_norms"])
            return setting | asked_for(
                {"ℓ1 norms": lambda: at_norms(twin, row, loss, only=other)}, *level
            )

        tabulate(self.name, config, folder, bench, row_of)

    def analyse(self, config: dict[str, Any], folder: Path) -> list[Finding]:
        from dudley.lab.shared.beyond_readings import accuracies, agreement, of_each, prices
        from dudley.lab.shared.beyond_trained import cells, dead, flat, in_words, trend, validity

        whole = read(folder / "trials.parquet")
        tied = dead(whole)
        table = {name: column[~tied] for name, column in whole.items()}
        rows = cells(table, ("L", "m"), ("train", "holdout", "gap", "log10_needed_n"))
        doublings, margin = np.log2(table["L"]), config["accuracy_margin"]
        accuracy = trend(doublings, table["holdout"], margin)
        price = trend(doublings, table["log10_needed_n"], margin)
        fitted = float((table["train"] == 1).mean())
        low, high = price["interval"]
        claims = (
            "Held-out accuracy does not depend on depth (sparse AND)",
            "Each doubling of depth multiplies the examples that the derived bound asks for",
        )
        texts = (
            f"change of accuracy per doubling of L: {in_words(accuracy)}; {fitted:.0%} of runs "
            "fit; "
            f"{int(tied.sum())} networks are dead (equal logits) and left out; the hold-out is "
            "looked at once, at the end",
            f"by 10^{price['slope']:.2f} [10^{low:.2f}, 10^{high:.2f}], at the trained norms, "
            "union paid",
        )
        numbers = (
            {"cells": rows, "trend": accuracy, "fitted": fitted, "dead": int(tied.sum())},
            {"cells": rows, "trend": price, "target": config["target"]},
        )
        if "accuracy_margins" in config:
            L = np.log2(whole["L"])
            readings = (
                accuracies(whole, L, config["accuracy_margins"], also={"m": "all"})
                + of_each(whole, "m", L, margin, flat),
                prices(whole, L, margin, multiplies, also={"m": "all"})
                + of_each(whole, "m", L, margin, multiplies, "log10_needed_n"),
            )
            findings = [
                Finding.under_readings(claim, some, f"{text}; {agreement(some)}", own)
                for claim, some, text, own in zip(claims, readings, texts, numbers, strict=True)
            ]
        else:
            answers = (flat(accuracy), multiplies(price))
            findings = [
                Finding.of_hypothesis(*one)
                for one in zip(claims, answers, texts, numbers, strict=True)
            ]
        return [*findings, validity(whole)]


def multiplies(line: Mapping[str, Any]) -> str:
    """The answer to "is multiplied", from a trend of a logarithm."""
    low, high = line["interval"]
    return "confirmed" if low > 0 else "refuted" if high < 0 else "undecided"
