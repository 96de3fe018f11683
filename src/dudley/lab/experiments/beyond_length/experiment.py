"""Sequence length to a thousand tokens and more: accuracy and bound of one head.

The classifier of edelman2021, section 5, with a single head and without dropout (so that training
collapses to one product with the data and long sequences are cheap), on sparse AND and sparse
majority of three out of T bits, trained and tested at every T, with as many examples at each.
Full-batch Adam until the training loss is small or the steps are spent; held-out examples are
looked at once, at the end. Inputs are one-hot rows, whose norm is declared. The bound is the
calculus' gap of the ramp loss at margin 1, and what is compared over T is the n that it asks for.

Three arms, the last two at scales smoke and paper:

- free: bounded at the trained norms (spectral for matrices), union paid;
- balls: every weight is confined to a ball declared beforehand, the same at every T, so the bound
  at these radii needs no union over norms; positions are weights, and are trained;
- balls, positions fixed: the same, but positions stay where they were drawn before the data, as
  trauger2024 has them. This is the only arm in which the certified class does not grow with T.

Beside it, the norms of one short run are held fixed while T grows (of positions, the largest row):
once with trained positions, which must be covered, and once as if they had been fixed.

Readings, set before the runs at scale paper: networks (all; those that fit their training data);
weights (the last; those of least training loss); margins of accuracy (.02 and .05 per decade of T);
bounds (ramp margin 1 or ½; spectral or ℓ2 norms of matrices; all but the first of them for the
first ten trials of a cell, since each costs as much as a short training). The margin of log₁₀ n is
.1 a decade. At scale paper the three arms are those of sparse AND: sparse majority would double the
minutes, and is left to the laptop's scale.
Lengths and steps were chosen after a few short trainings with another seed. A test at lengths that
were not trained on is a shift of the distribution, and a study of its own: beyond-extrapolation.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from dudley.lab.experiment import Bench, Experiment, Finding, experiment
from dudley.lab.experiments.beyond_length.arms import BALLS, FIXED, FREE, optimiser
from dudley.lab.shared.training_table import write

SIZES = {
    "smoke": {"T": [10, 40], "d": 8, "m": 60, "trials": 2, "steps": 40, "holdout": 200},
    "laptop": {
        "T": [50, 100, 200, 500, 1000, 2000], "d": 32, "m": 300, "trials": 5, "steps": 500,
        "holdout": 2000,
    },
    "paper": {  # on a processor: what ends below .05 of loss does so within 200 steps, or plateaus
        "T": [16, 64, 256, 1024, 4096], "d": 16, "m": 300, "trials": 40, "steps": 200,
        "holdout": 2000,
    },
}  # fmt: skip
PARTS = {
    "smoke": [("majority", FREE), ("majority", BALLS), ("majority", FIXED)],
    "laptop": [("and", FREE), ("majority", FREE)],
    "paper": [("and", FREE), ("and", BALLS), ("and", FIXED)],
}
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
        from dudley.lab.shared.beyond_trained import KEEP

        size, readings = SIZES[scale], scale != "laptop"
        d = size["d"]
        parts = [
            {
                "task": {
                    "name": name, "T": size["T"], "s": 3, "m": size["m"],
                    "holdout": size["holdout"],
                },
                "model": {"name": "and-classifier", "d": d, "H": 1, "dropout": [0.0, 0.0, 0.0]},
                "training": {
                    "optimiser": optimiser(arm), "steps": size["steps"],
                    "evaluate_every": 20, "evaluate": ["train"], "final": ["holdout"],
                    "stop": {"metric": "train_loss", "at_most": 0.05},
                    **({"keep": KEEP} if readings else {}),
                },
            }
            for name, arm in PARTS[scale]
        ]  # fmt: skip
        tasks = list(dict.fromkeys(name for name, _ in PARTS[scale]))
        more = (
            {"accuracy_margins": [0.02, 0.05], "bound_margin": 0.5, "bound_trials": 10}
            if readings
            else {}
        )
        return {
            "seed": 0, "trials": size["trials"], "parts": parts, "delta": 0.05, "target": 0.5,
            "accuracy_margin": 0.02, "price_margin": 0.1, "tasks": tasks, **more,
        }  # fmt: skip

    def run(self, config: dict[str, Any], folder: Path, bench: Bench) -> None:
        from dudley.lab.experiments.beyond_length.arms import RADII, arm_of, of_arm
        from dudley.lab.shared.beyond_bounds import asked_for, at_norms, at_radii, priced, ramp_loss
        from dudley.lab.shared.beyond_trained import MARGIN, columns_of, tabulate
        from dudley.models.and_classifier import AndClassifier

        loss, seen, known = ramp_loss(MARGIN), [], {}
        delta, target = config["delta"], config["target"]
        other = ramp_loss(config.get("bound_margin", MARGIN))
        entries = READ | {name: ("fro",) for name, norms in READ.items() if norms == ("op",)}

        def bounds(row, arm: str):
            task, model = row["config"]["task"], row["config"]["model"]
            twin = AndClassifier(task["T"], model["d"], 1)
            if arm == FREE:
                first = priced(at_norms(twin, row, loss, only=READ), task["m"], delta, target)
                others = {
                    f"margin {other.margin:g}": lambda: at_norms(twin, row, other, only=READ),
                    "ℓ2 norms": lambda: at_norms(twin, row, loss, only=entries),
                }
            else:
                first = priced(of_arm(at_radii(twin, RADII, loss), arm), task["m"], delta, target)
                others = {
                    f"margin {other.margin:g}": lambda: of_arm(at_radii(twin, RADII, other), arm)
                }
            wanted = arm != FREE or row["config"]["trial"] < config.get("bound_trials", 0)
            return first | (asked_for(others, delta, target) if wanted else {})

        def row_of(row):
            task, arm = row["config"]["task"], arm_of(row["config"]["training"])
            seen.append(row)
            setting = {"task": task["name"], "T": task["T"], "m": task["m"]}
            setting |= {"arm": arm} if "bound_margin" in config else {}
            if arm == FREE:
                return setting | bounds(row, arm)
            if (arm, task["T"]) not in known:
                known[arm, task["T"]] = bounds(row, arm)
            return setting | known[arm, task["T"]]

        tabulate(self.name, config, folder, bench, row_of)
        first, fixed = seen[0], []  # of the shortest sequences
        task, model = first["config"]["task"], first["config"]["model"]
        for T in config["parts"][0]["task"]["T"]:
            twin, needed = AndClassifier(T, model["d"], 1), {"T": T}
            for name, arm in (("trained", FREE), ("fixed", FIXED)):
                bound = of_arm(at_norms(twin, first, loss, only=READ | {"P": ("row2inf",)}), arm)
                needed[name] = priced(bound, task["m"], delta, target)["log10_needed_n"]
            fixed.append(needed)
        write(folder / "fixed_norms.parquet", columns_of(fixed))

    def analyse(self, config: dict[str, Any], folder: Path) -> list[Finding]:
        from dudley.lab.experiments.beyond_length.findings import concluded
        from dudley.lab.shared.training_table import read

        return concluded(
            config, read(folder / "trials.parquet"), read(folder / "fixed_norms.parquet")
        )
