"""Extrapolation: heads trained on sparse AND of 64 bits, tested at up to 4,096.

This is a shift of the distribution, and no bound of this package says anything about it: a bound
speaks of fresh examples of the law that was trained on, and sequences of another length are of
another law. So there is no bound beside these accuracies, at no length (`beyond-length` has those
of networks that are trained and tested at the same T), and no claim of a paper is judged here.

The plan, written before the run at scale paper. The classifier of edelman2021, section 5, with four
heads of width 16 and without dropout, is trained on sparse AND of three out of 64 bits, by
full-batch Adam until the training loss is below .05 or the steps are spent. The same weights are
then tested at T = 64, 128, …, 4,096. The hidden bits are where they were, among the first 64; the
bits after them are fresh noise, on which the label does not depend. All lengths see the same
examples, 2,000 for each network, which no other network sees. So an accuracy that changes with T
changes by noise tokens alone, and by the place of [CLS] where that moves (below).

A network without positions cannot tell bits apart and does not learn this task. With positions that
are weights, there is none for the 65th bit; so the table of positions has 4,097 rows from the
start, as in a network with so long a context, and training reaches the first 65 of them
(`longer`). Three arms differ in that table alone, which starts with rows of one size:

- trained: drawn from N(0, .02²), and the rows in use are trained; the others stay as drawn;
- drawn: the same draws, and no row moves (a ball of radius 10⁻⁹ around the start), as in the arm of
  `beyond-length` with fixed positions;
- sinusoids: sines and cosines of the place, as Vaswani et al. have them, and no row moves.

[CLS] either stays in the row with which it was trained, or moves to the end.

What is told is told of networks that learnt the task: those with accuracy at least .9 at 64. One
that always answers 0 has .875, and would keep it. How many learnt the task, and how many fit their
training data, stands with each arm.

Readings of "accuracy at 4,096 is that at 64", for each arm: [CLS] (stays, moves); networks (learnt;
those of them that fit their training data); and the criterion:

- mean within .02, or .05: confirmed if the 95 % interval of the mean change (the bootstrap over
  networks, each its own control) lies within the margin, refuted if it lies outside;
- nine in ten: confirmed if the interval of Clopper and Pearson for the share of networks that have
  accuracy .9 at 4,096, too, lies above .9, refuted if it lies below.

The diagnosis: the share of [CLS]'s attention on the three hidden bits, mean over heads and
examples. Beside it stands what dilution alone would leave of it, if every further bit drew as much
attention as the other bits did at 64. In a head and for an example where hidden bits have the share
a at T₀, and [CLS] itself has c, that is

    a / (a + c + (1 − a − c)·(T − s)/(T₀ − s)).

A mass below the mean of that over heads and examples means that bits at places never trained on
draw more attention than noise did in training. Over networks, the rank correlation of mass and
accuracy is told at the longest T. These are questions without a verdict.

Sizes, steps and the rate were chosen after short trainings with other seeds, in which nearly all
networks of the first two arms learnt the task, and about four in five of those with sinusoids.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from dudley.lab.experiment import Bench, Experiment, Finding, experiment
from dudley.lab.experiments.beyond_length.arms import STILL

SIZES = {
    "smoke": {
        "T": 32, "lengths": [32, 64], "d": 8, "H": 2, "m": 40, "trials": 2, "steps": 20,
        "examples": 60,
    },
    "laptop": {
        "T": 64, "lengths": [64, 256, 1024, 4096], "d": 64, "H": 4, "m": 500, "trials": 8,
        "steps": 800, "examples": 1000,
    },
    "paper": {
        "T": 64, "lengths": [64, 128, 256, 512, 1024, 2048, 4096], "d": 64, "H": 4, "m": 500,
        "trials": 60, "steps": 4000, "examples": 2000,
    },
}  # fmt: skip
TRAINED, DRAWN, WAVES = "trained", "drawn", "sinusoids"
ARMS = (TRAINED, DRAWN, WAVES)
ADAM = {"name": "adam", "lr": 3e-3}
FIXED = {
    "name": "constrained", "optimiser": ADAM,
    "balls": [{"norm": "row2inf", "radius": STILL, "weights": "P", "around": "start"}],
}  # fmt: skip


@experiment
class Extrapolation(Experiment):
    """Accuracy and attention at lengths that were not trained on."""

    name: ClassVar[str] = "beyond-extrapolation"
    source: ClassVar[str] = (
        "beyond the papers; edelman2021, section 5, tested at lengths that were not trained on: "
        "a shift of the distribution, about which no bound here speaks"
    )
    question: ClassVar[str] = "What does a network that was trained on 64 tokens do with more?"

    def config(self, scale: str) -> dict[str, Any]:
        size = SIZES[scale]
        task = {"name": "and", "T": size["T"], "s": 3, "m": size["m"], "holdout": size["examples"]}
        model = {
            "name": "and-classifier", "d": size["d"], "H": size["H"], "dropout": [0.0, 0.0, 0.0]
        }  # fmt: skip
        parts = [
            {
                "task": task,
                "model": model | ({"places": "waves"} if arm == WAVES else {}),
                "training": {
                    "optimiser": ADAM if arm == TRAINED else FIXED, "steps": size["steps"],
                    "evaluate_every": 20, "evaluate": ["train"], "final": ["holdout"],
                    "stop": {"metric": "train_loss", "at_most": 0.05},
                },
            }
            for arm in ARMS
        ]  # fmt: skip
        return {
            "seed": 0, "trials": size["trials"], "parts": parts, "lengths": size["lengths"],
            "examples": size["examples"], "margins": [0.02, 0.05],
            "learnt": 0.0 if scale == "smoke" else 0.9, "share": 0.9,
            "level": 0.95, "bootstrap": {"draws": 2000, "seed": 1},
        }  # fmt: skip

    def run(self, config: dict[str, Any], folder: Path, bench: Bench) -> None:
        from dudley.lab.experiments.beyond_extrapolation.longer import (
            MOVES,
            OF,
            STAYS,
            measure_longer,
        )
        from dudley.lab.shared.beyond_trained import columns_of, train_parts
        from dudley.lab.shared.training_table import write

        lengths = config["lengths"]
        ending = partial(measure_longer, lengths=lengths, examples=config["examples"])
        rows = []
        for row in train_parts(self.name, config, folder, bench, ending):
            setting = {"arm": arm_of(row["config"]), "trial": row["config"]["trial"]}
            ended = {"steps": row["steps"], "train": row["train_accuracy"]}
            for cls in (STAYS, MOVES):
                for T in lengths:
                    numbers = {name: row[f"{T}.{cls}.{name}"] for name in OF}
                    rows.append(setting | {"cls": cls, "T": T} | ended | numbers)
        write(folder / "trials.parquet", columns_of(rows))

    def analyse(self, config: dict[str, Any], folder: Path) -> list[Finding]:
        from dudley.lab.experiments.beyond_extrapolation.findings import concluded
        from dudley.lab.shared.training_table import read

        return concluded(config, read(folder / "trials.parquet"))


def arm_of(config: Mapping[str, Any]) -> str:
    """The arm of a training."""
    if config["model"].get("places") == "waves":
        return WAVES
    return DRAWN if "balls" in config["training"]["optimiser"] else TRAINED
