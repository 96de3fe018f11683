"""Training confined to norm balls: what a tighter ball does to accuracy and to the bound.

One head (trauger2024, definition 2.6) over fixed unit rows, two logits of [CLS], sparse AND of two.
After every step of Adam each matrix is projected onto its ℓ1 ball: ‖W_v‖, ‖W_c‖, ‖W‖ ≤ r and
‖W_QK‖ ≤ 8r. The radii are fixed beforehand, so the calculus' gap of the ramp loss needs no union
over norms; δ is split over the radii, so that the bounds hold for all of them at once and the best
may be chosen. A network that a projection leaves without a live ReLU gives equal logits and never
moves again. Such a network is *dead*: it is counted apart, and accuracies are those of the others.
A network whose accuracies on training and held-out examples are within four standard errors of
1 − 2⁻ˢ, the share of the larger class, is counted as one that gives the *constant answer*: what a
tight ball costs may then be the steps it takes to leave that answer.
A part without balls stands beside them, bounded at its trained norms, union paid. The hold-out is
looked at once, at the end.

Readings, set before a run at scale paper: networks (those that are not dead; all; those that left
the constant answer) and margins of accuracy (.01 and .05). Whether a tight ball costs accuracy or
steps is asked by a part of its own: one radius, trained four times as long.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dudley.lab.experiment import Bench, Experiment, Finding, experiment
from dudley.lab.finding import PaperReading
from dudley.lab.shared.training_table import read

SIZES = {
    "smoke": {"T": 5, "r": [0.5, 4.0], "m": 200, "batch": 50, "steps": 20, "trials": 2},
    "laptop": {
        "T": 12, "r": [0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 16.0], "m": 50_000, "batch": 500,
        "steps": 400, "trials": 4,
    },
    # On a processor: fewer radii, the laptop's m (at which every bound was telling) and smaller
    # batches, which buy steps and forty trials.
    "paper": {
        "T": 12, "r": [2.0, 4.0, 6.0, 8.0, 16.0], "m": 50_000, "batch": 100, "steps": 600,
        "trials": 40, "longer": (6.0, 2400),
    },
}  # fmt: skip
ERRORS = 4  # standard errors from the share of the larger class: a constant answer
SCORES = 8.0  # the ball of W_QK is so many times the others'


@experiment
class Norms(Experiment):
    """Accuracy, measured gap and derived gap against the radius."""

    name: ClassVar[str] = "beyond-norms"
    source: ClassVar[str] = "beyond the papers; trauger2024, corollary 4.1.1"
    question: ClassVar[str] = "How tight a norm constraint still learns, and what does it promise?"

    def config(self, scale: str) -> dict[str, Any]:
        size = SIZES[scale]
        adam = {"name": "adam", "lr": 1e-2}
        parts = []
        longer = [size["longer"]] if "longer" in size else []
        for r, steps in [*((r, size["steps"]) for r in (*size["r"], None)), *longer]:
            radii = {"W_QK": SCORES * r, "W_v": r, "W_c": r, "W": r} if r else {}
            balls = [{"norm": "l11", "radius": R, "weights": W} for W, R in radii.items()]
            confined = {"name": "constrained", "optimiser": adam, "balls": balls}
            parts.append({
                "task": {
                    "name": "and", "T": size["T"], "s": 2, "m": size["m"], "holdout": 10_000,
                },
                "model": {
                    "name": "token-network", "V": 3, "bits": True, "block": "head", "k": 8,
                },
                "training": {
                    "optimiser": confined if r else adam, "steps": steps,
                    "batch": size["batch"], "evaluate_every": steps,
                    "evaluate": ["train"], "final": ["holdout"],
                },
            })  # fmt: skip
        return {
            "seed": 0, "trials": size["trials"], "parts": parts, "delta": 0.05, "target": 0.5,
            "radii": size["r"], "accuracy_margin": 0.01,
            **({"accuracy_margins": [0.01, 0.05]} if scale == "paper" else {}),
        }  # fmt: skip

    def run(self, config: dict[str, Any], folder: Path, bench: Bench) -> None:
        from dudley.lab.shared.beyond_bounds import at_norms, at_radii, priced, ramp_loss
        from dudley.lab.shared.beyond_trained import MARGIN, tabulate
        from dudley.models.token_network import TokenNetwork

        loss, known = ramp_loss(MARGIN), {}
        delta = config["delta"] / len(config["parts"])  # all bounds hold at once

        def row_of(row):
            task, model = row["config"]["task"], row["config"]["model"]
            balls = row["config"]["training"]["optimiser"].get("balls", [])
            radii = {ball["weights"]: (ball["norm"], ball["radius"]) for ball in balls}
            r = radii["W"][1] if radii else np.inf
            if r not in known or not radii:
                twin = TokenNetwork(3, task["T"] + 1, k=model["k"])
                bound = at_radii(twin, radii, loss) if radii else at_norms(twin, row, loss)
                known[r] = priced(bound, task["m"], delta, config["target"])
            setting = {"radius": r, "T": task["T"], "m": task["m"]} | known[r]
            return setting | {"risk_bound": min(1.0, row["train_bounded"] + setting["gap_bound"])}

        tabulate(self.name, config, folder, bench, row_of)

    def analyse(self, config: dict[str, Any], folder: Path) -> list[Finding]:
        from dudley.lab.shared.beyond_readings import agreement
        from dudley.lab.shared.beyond_trained import cells, dead, difference, validity
        from dudley.lab.statistics.proportions import clopper_pearson

        task, training = (config["parts"][0][name] for name in ("task", "training"))
        every = read(folder / "trials.parquet")
        late = every.get("steps", np.zeros(len(every["radius"]))) > training["steps"]
        whole, longer = ({n: column[some] for n, column in every.items()} for some in (~late, late))
        tied = dead(whole)
        table = {name: column[~tied] for name, column in whole.items()}
        of = ("train", "holdout", "gap", "train_bounded", "gap_bound", "risk_bound")
        rows = cells(table, ("radius",), (*of, "log10_needed_n"))
        free = table["holdout"][np.isinf(table["radius"])]
        stuck = constant(whole, 1 - 2.0 ** -task["s"], (task["m"], task["holdout"]))
        learning, against, deaths = [], [], []
        for r in config["radii"]:
            of_radius = whole["radius"] == r
            count, trials = int(tied[of_radius].sum()), int(of_radius.sum())
            share = list(clopper_pearson(count, trials))
            deaths.append({"radius": r, "dead": count, "trials": trials, "interval": share,
                           "constant": int(stuck[of_radius].sum())})  # fmt: skip
            accuracies = table["holdout"][table["radius"] == r]
            if len(accuracies) < 2:
                continue
            loss = difference(accuracies, free, level=1 - 0.1 / len(config["radii"]))
            against.append({"radius": r, **loss})
            if loss["interval"][0] > -config["accuracy_margin"]:
                learning.append(r)
        least = next((one for one in against if one["radius"] in learning), None)
        confined = [cell for cell in rows if np.isfinite(cell["radius"])]
        best = min(confined, key=lambda cell: cell["risk_bound"]["mean"])
        unconfined = next(cell for cell in rows if np.isinf(cell["radius"]))["risk_bound"]["mean"]
        ends = [cell["gap_bound"]["mean"] for cell in (confined[0], confined[-1])]
        low, high = best["risk_bound"]["interval"]
        margin = config["accuracy_margin"]
        costs = [row["radius"] for row in against if row["interval"][1] < -margin]
        named = {
            name: ", ".join(f"{row[name]} at r = {row['radius']:g}" for row in deaths if row[name])
            for name in ("dead", "constant")
        }
        for cell in rows:
            cell["radius"] = cell["radius"] if np.isfinite(cell["radius"]) else None  # free
        claim, answer = "A tight enough ball costs accuracy", "confirmed" if costs else "undecided"
        text = (
            f"{_tightest(least, margin)}; shown to cost more than {margin} at r = "
            f"{', '.join(f'{r:g}' for r in costs) or 'none'} (dead networks left out)"
            + _stuck(deaths, training["steps"])
        )
        numbers = {"cells": rows, "against_free": against, "kept": learning, "costs": costs}
        if "accuracy_margins" in config:
            readings = _readings(whole, tied, stuck, config)
            first = Finding.under_readings(
                claim, readings, f"{text}; {agreement(readings)}", numbers
            )
        else:
            first = Finding.of_hypothesis(claim, answer, text, numbers)
        return [
            first,
            *_time(longer, whole, stuck, task),
            Finding.of_question(
                "How many networks are dead, with equal logits on every example, and how many "
                "give the constant answer?",
                f"of {len(tied)}: dead {named['dead'] or 'none'}; constant answer "
                f"{named['constant'] or 'none'}",
                {"dead": deaths},
            ),
            Finding.of_hypothesis(
                "The derived gap falls as the ball tightens (radii fixed beforehand, no union)",
                "confirmed" if ends[0] < ends[1] else "refuted",
                f"gap bound {ends[0]:.3f} at r = {confined[0]['radius']:g}, {ends[1]:.3f} at "
                f"r = {confined[-1]['radius']:g}, with n = {int(table['m'][0]):,}",
                {"cells": rows},
            ),
            Finding.of_question(
                "Which radius trades accuracy for the best guarantee?",
                f"the least bound on the error is {best['risk_bound']['mean']:.3f} "
                f"[{low:.3f}, {high:.3f}] at r = {best['radius']:g}, where held-out accuracy is "
                f"{best['holdout']['mean']:.3f}; 1 would say nothing. Free training, whose bound "
                f"at its trained norms is {unconfined:.3f}, is excluded: it has no radius",
                {"best": best, "free": unconfined},
            ),
            validity(every),
        ]


def constant(columns: dict[str, np.ndarray], share: float, sizes: tuple[int, int]) -> np.ndarray:
    """Which networks have the accuracies of always answering the larger class.

    >>> columns = {"train": np.array([0.751, 1.0]), "holdout": np.array([0.748, 0.75])}
    >>> constant(columns, 0.75, (50_000, 10_000)).tolist()
    [True, False]
    """
    near = [
        np.abs(columns[name] - share) <= ERRORS * np.sqrt(share * (1 - share) / size)
        for name, size in zip(("train", "holdout"), sizes, strict=True)
    ]
    return near[0] & near[1]


def _readings(
    whole: dict[str, np.ndarray], tied: np.ndarray, stuck: np.ndarray, config: dict[str, Any]
) -> list[PaperReading]:
    """Does a ball cost accuracy? Under every choice of networks and margin."""
    from dudley.lab.shared.beyond_trained import difference

    masks = {"not dead": ~tied, "all": np.ones(len(tied), bool), "not constant": ~(tied | stuck)}
    readings, level = [], 1 - 0.1 / len(config["radii"])
    for which, mask in masks.items():
        free = whole["holdout"][mask & np.isinf(whole["radius"])]
        losses = {
            r: difference(values, free, level)["interval"]
            for r in config["radii"]
            if len(values := whole["holdout"][mask & (whole["radius"] == r)]) > 1 < len(free)
        }
        for margin in config["accuracy_margins"]:
            costs = [r for r, (_, high) in losses.items() if high < -margin]
            choices = {"networks": which, "margin": f"{margin:g}"}
            answer = "confirmed" if costs else "undecided"
            numbers = {"radii": len(losses), "radii_that_cost": len(costs)}
            readings.append(PaperReading.ours(choices, answer, **numbers))
    return readings


def _time(
    longer: dict[str, np.ndarray], whole: dict[str, np.ndarray], stuck: np.ndarray,
    task: dict[str, Any],
) -> list[Finding]:  # fmt: skip
    """Do more steps leave the constant answer, at the one radius that was trained for longer?

    Decided by whether the two 95 % intervals of the shares of constant networks are apart.
    """
    if not len(longer["radius"]):
        return []
    from dudley.lab.statistics.proportions import clopper_pearson

    r, steps = float(longer["radius"][0]), int(longer["steps"][0])
    still = constant(longer, 1 - 2.0 ** -task["s"], (task["m"], task["holdout"]))
    before, after = stuck[whole["radius"] == r], still
    rows = [
        {"steps": when, "constant": int(some.sum()), "trials": len(some),
         "interval": list(clopper_pearson(int(some.sum()), len(some)))}
        for when, some in ((int(whole["steps"][0]), before), (steps, after))
    ]  # fmt: skip
    words = " and ".join(f"{row['constant']} of {row['trials']} after {row['steps']:,} steps"
                         for row in rows)  # fmt: skip
    (low, high), (below, above) = (row["interval"] for row in rows)
    answer = "confirmed" if above < low else "refuted" if below > high else "undecided"
    return [
        Finding.of_hypothesis(
            f"At r = {r:g} four times as many steps leave the constant answer",
            answer,
            f"networks that give it: {words}; so what a tight ball costs there is "
            + ("time" if answer == "confirmed" else "not shown to be time"),
            {"constants": rows},
        )
    ]


def _stuck(deaths: list[dict[str, Any]], steps: int) -> str:
    """Below which radius no trial left the constant answer or lived; nothing where one did."""
    left = [row["radius"] for row in deaths if row["dead"] + row["constant"] < row["trials"]]
    if not left or left[0] == deaths[0]["radius"]:
        return ""
    return f"; below r = {left[0]:g} no trial left the constant answer in {steps:,} steps"


def _tightest(least: dict[str, Any] | None, margin: float) -> str:
    """From which radius on nothing is lost, and how sure that is."""
    if least is None:
        return f"no radius is shown to be within {margin} of free training"
    low, high = least["interval"]
    sure = (
        "there no two trials differ in accuracy"
        if low == high
        else f"there its accuracy less that of free training is {least['difference']:+.4f}, and "
        f"not below {low:+.4f} (95 %, all radii at once)"
    )
    return f"within {margin} of free training from r = {least['radius']:g} on: {sure}"
