"""Sparse AND: how many examples does it take, and how does that grow with T?

x uniform in {0,1}^T, a hidden uniform 3-subset, y = AND of its bits; trainings as in
`edelman2021_protocol`, 50 a cell. A trial succeeds if its best hold-out accuracy over 100 checks
exceeds .99: that selects on the hold-out, a leak of the paper that is reproduced here; the last
check, which selects nothing, stands beside it. The inputs of the hold-out are drawn anew for each
cell and shared by its trials, so that trials of one cell are (a little) dependent: one of α's
intervals therefore draws whole cells again.

The critical m is the paper's (the first m with success > ½, 50 bootstraps for its error). Beside
it stands m½, where a logistic curve through the cells of a T is ½, with its profile interval: where
no m of the grid crosses, it is a censored estimate. All outcomes enter one binomial model
(`statistics.critical`), with the test of its fit.

``--design fast`` (`shared.fast_mode`) answers for the best check alone: trials stop at success. Its
config, tables and findings are marked, and are no record of the printed protocol.

Readings of "sublinear": the exponent's widest interval lies below 1, and so does that of the change
of log m½ between the shortest and the longest T, which needs no law in T. Both are by the best
check, as the paper counts; the last check is an extra of ours, listed beside them without a say in
the verdict. What law it is: `shared.laws`.

The paper leaves more open that was *not run* in another way: whether weight decay is decoupled (as
here) or Adam's L2; whether the classifier has one output or two; which of minGPT's defaults hold
where the paper names none, such as initialisation and what decays.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dudley.lab.experiment import Bench, Experiment, Finding, experiment
from dudley.lab.experiments.edelman2021_and.findings import (
    CURVES,
    decidable,
    fitted,
    overlay,
    rates_by_best,
    rises,
    shown,
    sublinear,
)
from dudley.lab.shared.edelman2021_protocol import LEARNT, LENGTHS, SIZES, sparse_and
from dudley.lab.shared.fast_mode import CAVEAT, FAST, fast_columns, in_fast_mode, marked, saved
from dudley.lab.shared.growth import growth
from dudley.lab.shared.laws import law_findings
from dudley.lab.shared.sequential import sequential, spent
from dudley.lab.shared.training_table import read, rows_of, trained, write
from dudley.lab.statistics.critical import Cells


@experiment
class SparseAnd(Experiment):
    """Tables: ``trials`` (a row a trial), ``curves`` (of the shown cells), ``bounds``."""

    name: ClassVar[str] = "edelman2021-and"
    source: ClassVar[str] = "edelman2021, section 5 and appendix C.1, figures 2 and 4"
    question: ClassVar[str] = "How does the number of examples that sparse AND takes grow with T?"
    designs: ClassVar[tuple[str, ...]] = ("full", "sequential", FAST)

    def config(self, scale: str) -> dict[str, Any]:
        smoke = scale == "smoke"
        protocol, trials, shown, measured = {
            "smoke": (
                sparse_and([6, 10, 16], [10, 30, 90], steps=60, holdout=500, every=10, rate=1e-2,
                           sizes={"d": 16, "H": 2}),
                4, [[16, 10], [16, 90]], [6],
            ),
            "laptop": (
                sparse_and([40, 80, 160], [30, 50, 70, 100, 140], holdout=2000),
                4, [[160, 50], [160, 140]], [40, 160],
            ),
            "paper": (sparse_and(LENGTHS, SIZES), 50, [[400, 100], [400, 200]], [100, 400, 800]),
        }[scale]  # fmt: skip
        return {
            "seed": 0, "protocol": protocol, "trials": trials, "shown": shown, "learnt": LEARNT,
            "fitted": 1e-4,  # the training loss that the paper says all runs go below
            "bootstrap": {"paper_draws": 50, "draws": 100 if smoke else 2000, "seed": 1},
            "bounds": {"T": measured, "m": 30 if smoke else 100, "trial": 0, "margin": 1.0,
                       "delta": 0.05},
        }  # fmt: skip

    def run(self, config: dict[str, Any], folder: Path, bench: Bench) -> None:
        if "design" in config:  # for the critical m alone
            keep(config, sequential(config, folder, bench, CURVES), folder)
            return
        if in_fast_mode(config):
            grid = "and-fast", config["seed"], config["protocol"], config["trials"]
            columns = fast_columns(config, trained(*grid, folder, bench))
            write(folder / "trials.parquet", columns)
            return
        columns = trained(
            "and", config["seed"], config["protocol"], config["trials"], folder, bench, CURVES
        )
        keep(config, columns, folder)
        bounds(config, folder, bench)

    def analyse(self, config: dict[str, Any], folder: Path) -> list[Finding]:
        trials = read(folder / "trials.parquet")
        if in_fast_mode(config):
            return fast_findings(config, trials)
        best, last = (
            Cells.of(trials["T"], trials["m"], trials[name] > config["learnt"])
            for name in ("best", "last")
        )
        both = {"best": best, "last": last}
        grown = {
            name: growth(cells, config["bootstrap"], compare=name == "best")
            if decidable(cells)
            else None
            for name, cells in both.items()
        }
        findings = [
            sublinear(config, both, grown),
            rises(both),
            fitted(config, trials),
            shown(config, both, trials, read(folder / "curves.parquet")),
            *law_findings(grown),
        ]
        if "design" in config:
            findings.append(spent(config, trials))
        if (folder / "bounds.parquet").is_file():
            findings.append(overlay(config, best, read(folder / "bounds.parquet")))
        return findings

    def caveat(self, config: dict[str, Any]) -> str:
        return CAVEAT if in_fast_mode(config) else ""


def fast_findings(config: dict[str, Any], trials: dict[str, np.ndarray]) -> list[Finding]:
    """By the best check alone; nothing of the claims on how trainings end."""
    best = Cells.of(trials["T"], trials["m"], trials["success"])
    grown = {"best": growth(best, config["bootstrap"]) if decidable(best) else None}
    findings = [sublinear(config, {"best": best}, grown), rates_by_best(best)]
    return marked([*findings, *law_findings(grown), saved(config, trials)])


def keep(config: dict[str, Any], columns: dict[str, Any], folder: Path) -> None:
    """Write a row for each trial with its hold-out curve, and all curves of the shown cells."""
    T, m = np.asarray(columns["T"]), np.asarray(columns["m"])
    whole = {n: c for n, c in columns.items() if n not in CURVES[1:]}
    write(folder / "trials.parquet", whole)
    wanted = np.any([(a == T) & (m == b) for a, b in config["shown"]], axis=0)
    curves = rows_of(
        {n: c for n, c in columns.items() if n in ("T", "m", "trial", *CURVES)}, wanted
    )
    write(folder / "curves.parquet", curves)


def bounds(config: dict[str, Any], folder: Path, bench: Bench) -> None:
    """Train one trial at some T, and write the n at which a bound at its norms says something."""
    from dudley.lab.experiments.edelman2021_and.trained_bounds import needed

    settings, protocol, rows = config["bounds"], config["protocol"], []
    for T in settings["T"]:
        task = protocol["task"] | {"T": T, "m": settings["m"]}
        trial = protocol | {"task": task, "trial": settings["trial"], "seed": config["seed"]}
        rows.append(needed(trial, settings["margin"], settings["delta"], bench.device))
    write(folder / "bounds.parquet", {name: [row[name] for row in rows] for name in rows[0]})
