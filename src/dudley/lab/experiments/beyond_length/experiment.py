"""Sequence length to a thousand tokens and more: accuracy and bound of one head.

The classifier of edelman2021, section 5, with a single head and without dropout (so that training
collapses to one product with the data and long sequences are cheap), on sparse AND and sparse
majority of three out of T bits, with as many examples at every T. Full-batch Adam until the
training loss is small or the steps are spent; held-out examples are looked at once, at the end.
Inputs are one-hot rows, whose norm is declared. The bound is the calculus' gap of the ramp loss at
the trained norms (spectral for matrices), union paid. Beside it, the norms of one short run are
held fixed while T grows (of positions, the largest row): once with trained positions, which are
weights and must be covered, and once as if they had been fixed beforehand, as trauger2024 has them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dudley.calculus.compose import Node
from dudley.lab.experiment import Bench, Experiment, Finding, experiment
from dudley.lab.shared.training_table import read, write
from dudley.networks.embeddings import Positions

SIZES = {
    "smoke": {"T": [10, 40], "d": 8, "m": 60, "trials": 2, "steps": 40, "holdout": 200},
    "laptop": {
        "T": [50, 100, 200, 500, 1000, 2000], "d": 32, "m": 300, "trials": 5, "steps": 500,
        "holdout": 2000,
    },
    "paper": {
        "T": [50, 100, 200, 500, 1000, 2000, 5000, 10_000], "d": 64, "m": 300, "trials": 50,
        "steps": 1000, "holdout": 10_000,
    },
}  # fmt: skip
TASKS = {"smoke": ["majority"], "laptop": ["and", "majority"], "paper": ["and", "majority"]}
READ: dict[str, tuple[str, ...]] = {  # few norms: each is paid for
    **dict.fromkeys(("W_Q", "W_K", "W_v", "W_c", "W_1", "W_2"), ("op",)),
    **dict.fromkeys(("bias", "b_Q", "b_K", "b_v", "b_c", "b_1", "b_2"), ("fro",)),
    "gain": ("linf",),
    "P": ("fro", "row2inf"),
}


@experiment
class Length(Experiment):
    """Accuracy, norms and derived sample size against T."""

    name: ClassVar[str] = "beyond-length"
    source: ClassVar[str] = "beyond the papers; edelman2021, section 5, with one head"
    question: ClassVar[str] = "Do accuracy and bound depend on the length of the sequence?"

    def config(self, scale: str) -> dict[str, Any]:
        size = SIZES[scale]
        d = size["d"]
        parts = [
            {
                "task": {
                    "name": name, "T": size["T"], "s": 3, "m": size["m"],
                    "holdout": size["holdout"],
                },
                "model": {"name": "and-classifier", "d": d, "H": 1, "dropout": [0.0, 0.0, 0.0]},
                "training": {
                    "optimiser": {"name": "adam", "lr": 3e-3}, "steps": size["steps"],
                    "evaluate_every": 20, "evaluate": ["train"], "final": ["holdout"],
                    "stop": {"metric": "train_loss", "at_most": 0.05},
                },
            }
            for name in TASKS[scale]
        ]  # fmt: skip
        return {
            "seed": 0, "trials": size["trials"], "parts": parts, "delta": 0.05, "target": 0.5,
            "accuracy_margin": 0.02, "price_margin": 0.1, "tasks": TASKS[scale],
        }  # fmt: skip

    def run(self, config: dict[str, Any], folder: Path, bench: Bench) -> None:
        from dudley.lab.shared.beyond_bounds import at_norms, priced, ramp_loss
        from dudley.lab.shared.beyond_trained import MARGIN, columns_of, tabulate
        from dudley.models.and_classifier import AndClassifier

        loss, seen = ramp_loss(MARGIN), []

        def row_of(row):
            task, model = row["config"]["task"], row["config"]["model"]
            seen.append(row)
            bound = at_norms(AndClassifier(task["T"], model["d"], 1), row, loss, only=READ)
            setting = {"task": task["name"], "T": task["T"], "m": task["m"]}
            return setting | priced(bound, task["m"], config["delta"], config["target"])

        tabulate(self.name, config, folder, bench, row_of)
        first, fixed = seen[0], []  # of the shortest sequences
        task, model = first["config"]["task"], first["config"]["model"]
        for T in config["parts"][0]["task"]["T"]:
            twin, bounds = AndClassifier(T, model["d"], 1), {"T": T}
            for name in ("trained", "fixed"):
                bound = at_norms(twin, first, loss, only=READ | {"P": ("row2inf",)})
                if name == "fixed":
                    bound = replace(bound, network=with_fixed_positions(bound.network))
                price = priced(bound, task["m"], config["delta"], config["target"])
                bounds[name] = price["log10_needed_n"]
            fixed.append(bounds)
        write(folder / "fixed_norms.parquet", columns_of(fixed))

    def analyse(self, config: dict[str, Any], folder: Path) -> list[Finding]:
        from dudley.lab.shared.beyond_trained import cells, flat, in_words, trend, validity

        table, fixed = read(folder / "trials.parquet"), read(folder / "fixed_norms.parquet")
        by_cell = cells(
            table, ("task", "T"), ("train", "holdout", "steps", "gap", "log10_needed_n")
        )
        findings = []
        for name in config["tasks"]:
            of_task = table["task"] == name
            decades = np.log10(table["T"][of_task])
            fitted = table["train"][of_task] == 1
            line = trend(decades, table["holdout"][of_task], config["accuracy_margin"])
            price = trend(decades, table["log10_needed_n"][of_task], config["price_margin"])
            rows = [cell for cell in by_cell if cell["task"] == name]
            findings += [
                Finding.of_hypothesis(
                    f"Sparse {name}: held-out accuracy does not depend on T at fixed m",
                    flat(line),
                    f"change of accuracy per decade of T: {in_words(line)}; training data "
                    f"fitted in {fitted.mean():.0%} of runs; the hold-out is looked at once, at "
                    "the end",
                    {"cells": rows, "trend": line, "fitted": float(fitted.mean())},
                ),
                Finding.of_hypothesis(
                    f"Sparse {name}: the derived bound at the trained norms does not grow with T",
                    "confirmed" if price["interval"][1] < 0 else flat(price),
                    f"change of log₁₀ n, of the n it asks for, per decade of T: {in_words(price)}",
                    {"cells": rows, "trend": price},
                ),
            ]  # fmt: skip
        low, high = min(fixed["T"]), max(fixed["T"])
        moved = {name: float(np.ptp(fixed[name])) for name in ("trained", "fixed")}
        margin = config["price_margin"]
        apart = moved["fixed"] < margin < moved["trained"]
        return [
            *findings,
            Finding.of_hypothesis(
                "At fixed norms the bound does not depend on T unless positions are trained",
                "confirmed" if apart else "refuted",
                f"from T = {low} to {high}, log₁₀ of the n it asks for moves by "
                f"{moved['fixed']:.3f} with fixed positions and by {moved['trained']:.3f} with "
                f"trained ones (margin {margin:g})",
                {"moved": moved} | {name: fixed[name].tolist() for name in ("T", *moved)},
            ),
            validity(table),
        ]


def with_fixed_positions(network: Node) -> Node:
    """The network whose positions were fixed before the data: they cost radius, and no cover."""
    from dudley.models.rewrite import rewritten

    def change(path, part: Node) -> Node:
        return replace(part, trained=False) if isinstance(part, Positions) else part

    return rewritten(network, change)
