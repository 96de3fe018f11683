"""Activations, attention normalisers and first weights exchanged one at a time, on a sparse task.

One head over fixed unit rows, Z ↦ σ(A(Z W_Q W_Kᵀ Zᵀ/√k) Z W_v W_c), and two logits of [CLS]. σ is
ReLU, GELU, tanh or the identity; A is softmax, sigmoid, sparsemax or normalised linear attention;
first weights are N(0, 1/rows) (LeCun), Glorot's or N(0, .02²). Everything else is as in the base
case, ReLU, softmax and LeCun: data, full-batch Adam, stop at a small training loss, one look at
held-out examples. The bound is the calculus' gap of the ramp loss at the trained norms, with the
price of the union.

Readings, set before the run at scale paper: networks (those that are not dead; all; those that fit
their training data); weights (the last; those of least training loss); margins of accuracy (.02 and
.05). All differences from the base hold at once, with 95 % confidence, within each reading.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from dudley.lab.experiment import Bench, Experiment, Finding, experiment
from dudley.lab.shared.training_table import read

BASE = {"sigma": "relu", "attention": "softmax", "first": "lecun"}
OTHERS = {
    "sigma": ("gelu", "tanh", "identity"),
    "attention": ("sigmoid", "sparsemax", "linear"),
    "first": ("glorot", "small"),
}
VARIANTS = {"base": BASE} | {
    value: BASE | {name: value} for name, values in OTHERS.items() for value in values
}
SIZES = {
    "smoke": {"T": 6, "m": 24, "trials": 2, "steps": 20, "holdout": 200},
    "laptop": {"T": 20, "m": 80, "trials": 40, "steps": 300, "holdout": 4000},
    # on a processor: a longer sequence and more examples than the laptop's
    "paper": {"T": 30, "m": 120, "trials": 50, "steps": 300, "holdout": 4000},
}


@experiment
class Variants(Experiment):
    """Accuracy, steps to fit and derived sample size for each variant."""

    name: ClassVar[str] = "beyond-variants"
    source: ClassVar[str] = "beyond the papers: activations, initialisations, normalisers"
    question: ClassVar[str] = "Which variants of a head learn, and what do bounds charge for them?"

    def config(self, scale: str) -> dict[str, Any]:
        from dudley.lab.shared.beyond_trained import KEEP

        size, readings = SIZES[scale], scale != "laptop"
        task = {"name": "and", "T": size["T"], "s": 3, "m": size["m"], "holdout": size["holdout"]}
        model = {"name": "token-network", "V": 3, "bits": True, "block": "apart", "k": 16}
        training = {
            "optimiser": {"name": "adam", "lr": 1e-2}, "steps": size["steps"],
            "evaluate_every": 20, "evaluate": ["train"], "final": ["holdout"],
            "stop": {"metric": "train_loss", "at_most": 0.05},
            **({"keep": KEEP} if readings else {}),
        }  # fmt: skip
        parts = [
            {"task": task, "model": model | own, "training": training} for own in VARIANTS.values()
        ]
        more = {"accuracy_margins": [0.02, 0.05], "norms": ["op"]} if readings else {}
        return {
            "seed": 0, "trials": size["trials"], "parts": parts, "delta": 0.05, "target": 0.5,
            "accuracy_margin": 0.02, "level": 0.95, **more,
        }  # fmt: skip

    def run(self, config: dict[str, Any], folder: Path, bench: Bench) -> None:
        from dudley.lab.shared.beyond_bounds import at_norms, priced, ramp_loss, reading
        from dudley.lab.shared.beyond_trained import MARGIN, tabulate
        from dudley.models.token_network import TokenNetwork

        def row_of(row):
            task, model = row["config"]["task"], row["config"]["model"]
            sizes = {"sigma": model["sigma"], "attention": model["attention"]}
            twin = TokenNetwork(3, task["T"] + 1, 1, model["k"], "apart", **sizes)
            bound = at_norms(twin, row, ramp_loss(MARGIN), only=reading(config.get("norms", ())))
            setting = {name: model[name] for name in BASE}
            setting |= {"variant": label(setting), "T": task["T"], "m": task["m"]}
            return setting | priced(bound, task["m"], config["delta"], config["target"])

        tabulate(self.name, config, folder, bench, row_of)

    def analyse(self, config: dict[str, Any], folder: Path) -> list[Finding]:
        from dudley.lab.shared.beyond_readings import agreement, differences
        from dudley.lab.shared.beyond_trained import cells, dead, difference, validity

        whole = read(folder / "trials.parquet")
        tied = dead(whole)
        table = {name: column[~tied] for name, column in whole.items()}
        of = ("train", "holdout", "steps", "gap", "log10_needed_n")
        by_variant = cells(table, ("variant",), of)
        ours = {name: table["variant"] == name for name in VARIANTS}
        level = 1 - (1 - config["level"]) / (len(VARIANTS) - 1)  # all differences at once
        rows = []
        for variant in [name for name in VARIANTS if name != "base"]:
            row: dict[str, Any] = {"variant": variant}
            for name in ("holdout", "log10_needed_n"):
                values = [table[name][ours[one]] for one in (variant, "base")]
                row[name] = difference(*values, level=level)
            rows.append(row)
        margin = config["accuracy_margin"]
        dead_by = {name: int(tied[whole["variant"] == name].sum()) for name in VARIANTS}
        named = ", ".join(f"{count} {name}" for name, count in dead_by.items() if count) or "none"
        text = _sentence(rows, "holdout", margin)
        numbers = {"cells": by_variant, "differences": rows, "level": level}
        if "accuracy_margins" in config:
            groups = {name: whole["variant"] == name for name in VARIANTS}
            margins = config["accuracy_margins"]
            readings = differences(whole, groups, "base", margins, level, within)
            claim = "Held-out accuracy is that of the base case for every variant"
            same = Finding.under_readings(
                claim, readings, f"{text}; {agreement(readings)}", numbers
            )
        else:
            claim = f"Held-out accuracy is within {margin} of the base case for every variant"
            answer = within([row["holdout"]["interval"] for row in rows], margin)
            same = Finding.of_hypothesis(claim, answer, text, numbers)
        return [
            same,
            Finding.of_question(
                "How many networks are dead, with equal logits on every example?",
                f"of {len(tied)}: {named}; they are left out of accuracies. The hold-out is looked "
                "at once, at the end",
                {"dead": dead_by},
            ),
            Finding.of_question(
                "What is the derived sample size (log₁₀ n, trained norms, union paid), against the "
                "base case?",
                _sentence(rows, "log10_needed_n", 0.1),
                {"cells": by_variant, "differences": rows, "level": level},
            ),
            validity(whole),
        ]


def within(intervals: list[list[float]], margin: float) -> str:
    """The answer to "all differences are within the margin"."""
    if all(-margin < low and high < margin for low, high in intervals):
        return "confirmed"
    apart = any(low > margin or high < -margin for low, high in intervals)
    return "refuted" if apart else "undecided"


def label(setting: dict[str, str]) -> str:
    """The name of a variant: what it has of its own."""
    return next(name for name, whole in VARIANTS.items() if whole == setting)


def _sentence(rows: list[dict], name: str, margin: float) -> str:
    """Each variant: inside the margin, outside of it, or undecided."""
    words = []
    for row in rows:
        low, high = row[name]["interval"]
        apart = "above" if low > 0 else "below" if high < 0 else "undecided"
        verdict = "same" if -margin < low and high < margin else apart
        verdict = "equal in every trial" if low == high == 0 else verdict
        text = f"{row['variant']} {row[name]['difference']:+.3f} [{low:+.3f}, {high:+.3f}]"
        words.append(f"{text} {verdict}")
    return "; ".join(words)
