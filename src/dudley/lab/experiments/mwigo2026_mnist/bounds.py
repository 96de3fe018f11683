"""Distances from the start, the hypotheses of Lemma 4 and the bound of Theorem 5, cell by cell.

Radii R are the farthest that each block went in the trainings on Φ, the loss that the convergence
theorem is about; they were read off after training, so that the bounds are what the theorem would
say had they been chosen beforehand. Whatever the radii, M ≥ max(ξ_V/R_O, η_O/R_V) ≥ 1 (as
R_O ≤ η_O and R_V ≤ ξ_V) and α² ≤ ‖F_pre⁰‖_F²/N, so the first hypothesis asks at least for

    ‖F_pre⁰‖_F²/N ≥ 8ρ√(2Φ⁰).

The step size on Φ, a sum, is lr/N, since the trainings descend on the mean. The loss of Theorem 5
is min(|f − y|, 1); its mean on the test images is at most √(2 · mean of ½(f − y)²).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dudley.lab.experiments.mwigo2026_mnist.losses import Columns, TrialConfig, cells, of
from dudley.lab.experiments.mwigo2026_mnist.protocol import split
from dudley.lab.finding import Finding
from dudley.lab.statistics.trend import slope
from dudley.theorems.mwigo2026.training import TrainingStart
from dudley.theorems.registry import load

BLOCKS = {"Q": "W_Q", "K": "W_K", "V": "W_v", "O": "w"}
CELL = ("tokens", "d_m", "N")


ON_SQUARE = {"square": "", "standardised-square": " Pixels standardised."}  # what claims add


def findings(config: TrialConfig, trials: Columns, starts: Columns) -> list[Finding]:
    """Distances for every reading; Lemma 4 and Theorem 5 where Φ was descended on."""
    conclusions = [distances(config, trials, starts)]
    for reading, more in ON_SQUARE.items():
        square = of(trials, reading=reading)
        if len(square["N"]):
            rate = next(
                grid["training"]["optimiser"]["lr"]
                for grid in config["grids"]
                if grid["reading"] == reading
            )
            each = [
                (cell, joined(rows, starts_of(starts, reading, cell)))
                for cell, rows in cells(square, *CELL)
            ]
            both = lemma_4(config, each, rate), theorem_5(config, each, rate)
            conclusions += [replace(finding, claim=finding.claim + more) for finding in both]
    return conclusions


def starts_of(starts: Columns, reading: str, cell: dict[str, Any]) -> Columns:
    """The starts of a cell; where no pixels were scaled, they have no such column."""
    scaled = {"pixels": split(reading)[0]} if "pixels" in starts else {}
    return of(starts, **cell, **scaled)


def joined(rows: Columns, starts: Columns) -> list[dict[str, Any]]:
    """Every training of a cell with what is known of its start."""
    index_of = {int(trial): index for index, trial in enumerate(starts["trial"])}
    return [
        {name: column[index_of[int(trial)]] for name, column in starts.items()}
        | {name: column[index] for name, column in rows.items()}
        for index, trial in enumerate(rows["trial"])
    ]


def distances(config: TrialConfig, trials: Columns, starts: Columns) -> Finding:
    lines, slopes = [], []
    for named, rows in cells(trials, "reading", *CELL):
        cell = {name: named[name] for name in CELL}
        both = joined(rows, starts_of(starts, named["reading"], cell))
        line = dict(named)
        for block in BLOCKS:
            first = "O_l2" if block == "O" else f"{block}_fro"
            moved = np.array([one[f"moved_{block}"] for one in both])
            away = moved / np.array([one[first] for one in both])
            line |= {f"moved_{block}": float(moved.mean()), f"relative_{block}": float(away.mean())}
        lines.append(line)
    for named, rows in cells(of(trials, reading="printed"), "tokens", "N"):
        if len(set(rows["d_m"].tolist())) > 1:
            total = np.sqrt(sum(rows[f"moved_{block}"] ** 2 for block in BLOCKS))
            fit = slope(np.log(rows["d_m"]), np.log(total), config["level"])
            line = {"slope": fit.slope, "interval": [fit.lowest, fit.highest]}
            slopes.append(named | line | {"goodness": fit.goodness.as_json()})
    printed = [line for line in lines if line["reading"] == "printed"]
    others = [line for line in lines if line["reading"] != "printed"]
    return Finding.of_question(
        "How far do the weights go from their initial values (the class of section 4.1)?",
        "The paper measures no distance. The farthest that a block went, as a share of its first "
        f"norm, mean of a cell, smallest to largest: as printed {_far(printed)}"
        + (f"; under the other readings {_far(others)}." if others else "."),
        {"cells": lines, "log_distance_on_log_d_m": slopes},
    )


def radii(trial: dict[str, Any]) -> dict[str, float]:
    """η, ξ and R of every block, by the names of the theorem's inputs."""
    sizes = {"w.l2": trial["O_l2"] + trial["moved_O"], "w.moved": trial["moved_O"]}
    for block in "QKV":
        R, name = trial[f"moved_{block}"], BLOCKS[block]
        sizes |= {f"{name}.{norm}": trial[f"{block}_{norm}"] + R for norm in ("fro", "op")}
        sizes[f"{name}.moved"] = R
    return {name: float(value) for name, value in sizes.items()}


def situation(config: TrialConfig, trial: dict[str, Any]) -> dict[str, float]:
    """What Lemma 4 knows of a training."""
    return radii(trial) | {
        "n": int(trial["N"]),
        "T": int(trial["T"]),
        "k": int(trial["d_m"]),
        "X.fro": float(trial["X_fro"]),
        "features.smin": float(trial["alpha"]),
        "loss.initial": float(trial["loss_initial"]),
        "correlation.c": config["correlation.c"],
        "delta": config["delta"],
    }


def lemma_4(config: TrialConfig, each: list[tuple[dict, list[dict]]], rate: float) -> Finding:
    lines, valid = [], 0
    for cell, both in each:
        known = [situation(config, one) for one in both]
        begun = [TrainingStart(**{k.replace(".", "_"): v for k, v in one.items()}) for one in known]
        line = {**cell, "alpha": _range(one["alpha"] for one in both)}
        for index, name in enumerate(("features", "cubed", "width")):
            sides = [start.hypotheses[index] for start in begun]
            shares = [side.right / side.left for side in sides if side.left > 0]
            line[name] = {
                "has": _range(side.left for side in sides),
                "needs": _range(side.right for side in sides),
                "short_by": _range(shares) if len(shares) == len(sides) else None,  # None: α = 0
                "holds": sum(side.holds for side in sides),
            }
        valid += sum(all(side.holds for side in start.hypotheses) for start in begun)
        line["whatever_radii"] = _range(
            8 * start.ρ * start.residual * start.n / one["features_fro"] ** 2
            for start, one in zip(begun, both, strict=True)
        )
        t = np.array([one["epochs"] - 1 for one in both])  # the recorded loss is before the step
        α = np.array([one["alpha"] for one in both])
        N = cell["N"]
        line["fit"] = _range(N * one["train_last"] / one["loss_initial"] for one in both)
        line["fit_promised"] = _range((1 - rate / N * α**2 / 2) ** t)
        lines.append(line)
    trainings = sum(len(both) for _, both in each)
    least = min(line["whatever_radii"][0] for line in lines)
    zero = sum(line["features"]["short_by"] is None for line in lines)
    width = [line["width"]["short_by"][0] for line in lines]
    factors = [line["features"]["short_by"][0] for line in lines if line["features"]["short_by"]]
    square = "; elsewhere its square falls short by a factor of"
    short = f"{square} {min(factors):.1e} at least" if factors else ""
    return Finding.of_question(
        "Do Lemma 4's hypotheses hold in these trainings? The paper does not say that they do.",
        f"With the radii that were reached, all three hold in {valid} of {trainings} trainings on "
        f"Φ. σ_min(F_pre⁰) is 0 in {zero} of {len(lines)} cells, where N > d_m{short}. Whatever "
        f"the radii, the first asks for {least:.1e} times what there is, or more; d_m falls short "
        f"of N³, with constant 1, by a factor of {min(width):.1e} at least.",
        {"cells": lines, "valid": valid, "trainings": trainings, "whatever_radii": least},
    )


def theorem_5(config: TrialConfig, each: list[tuple[dict, list[dict]]], rate: float) -> Finding:
    theorem, lines = load()["mwigo2026/theorem-5"], []
    for cell, both in each:
        more = {"d": 64, "step.size": rate / cell["N"], "steps": int(both[0]["epochs"])}
        more |= {"X.row2inf": float(both[0]["X_row2inf"]), "loss.range": config["loss.range"]}
        known = [situation(config, one) | more for one in both]
        printed = [theorem.evaluate_on(one, "printed").value for one in known]
        whole = {name: max(one[name] for one in known) for name in known[0]}
        whole["features.smin"] = min(one["features.smin"] for one in known)
        line = {**cell, "printed": _range(printed)}
        for form in ("derived", "best"):
            bound = theorem.evaluate_on(whole, form)
            line[form] = bound.value
            line[f"{form}_terms"] = {term.name: float(term.value) for term in bound.terms}
        line["measured_at_most"] = _range(np.sqrt(2 * one["last"]) for one in both)
        lines.append(line)
    below = sum(line["printed"][0] < 0 for line in lines)
    empty = sum(line["best"] >= config["loss.range"] for line in lines)
    complexity = [line["best_terms"]["complexity"] for line in lines]
    return Finding.of_question(
        "What does Theorem 5 say of the true loss in these cells? It supposes Lemma 4's "
        "hypotheses, which the paper does not claim of them.",
        f"As printed, with constant 1, the bound is negative in {below} of {len(lines)} cells. "
        f"Repaired, for a loss in [0, 1], it says nothing in {empty}: by the best covers around "
        f"the start the complexity alone is {min(complexity):,.0f} to {max(complexity):,.0f}.",
        {
            "cells": lines,
            "loss": "min(|f − y|, 1)",
            "delta": config["delta"],
            "negative": below,
            "empty": empty,
        },
    )


def _far(lines: list[dict[str, Any]]) -> str:
    """How far the blocks went, over some cells."""
    texts = []
    for block in BLOCKS:
        relative = [line[f"relative_{block}"] for line in lines]
        name = "w_O" if block == "O" else f"W_{block}"
        texts.append(f"{name} {min(relative):.2g} to {max(relative):.2g}")
    return ", ".join(texts)


def _range(values: Any) -> list[float]:
    listed = [float(value) for value in values]
    return [min(listed), max(listed)]
