"""Sparse AND: how many examples does it take, and how does that grow with T?

x uniform in {0,1}^T, a hidden uniform 3-subset, y = AND of its bits; trainings as in
`edelman2021_protocol`, 50 a cell. A trial succeeds if its best hold-out accuracy over 100 checks
exceeds .99: that selects on the hold-out, a leak of the paper that is reproduced here; the last
check, which selects nothing, stands beside it. The inputs of the hold-out are drawn anew for each
cell and shared by its trials, so that trials of one cell are (a little) dependent: one of α's
intervals therefore draws whole cells again.

The critical m is the paper's (the first m with success > ½, 50 bootstraps for its error). Beside
it all outcomes enter one binomial model (`statistics.critical`). Verdict on "sublinear": α's widest
interval below 1. Verdict on log T against a power law: held-out T must favour one of them in both
kinds of fit, else it stays undecided.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dudley.lab.experiment import Bench, Experiment, Finding, experiment
from dudley.lab.shared.edelman2021_protocol import LEARNT, LENGTHS, SIZES, sparse_and
from dudley.lab.shared.growth import (
    crossings,
    exponent_interval,
    favoured,
    finite,
    growth,
    information,
    rates,
    spread,
)
from dudley.lab.shared.sequential import critical_sizes, sequential, spent
from dudley.lab.shared.training_table import read, rows_of, trained, write
from dudley.lab.statistics.critical import Cells
from dudley.lab.statistics.proportions import clopper_pearson, wilson

CURVES = ("holdout_accuracy", "train_accuracy", "train_loss")


@experiment
class SparseAnd(Experiment):
    """Tables: ``trials`` (a row a trial), ``curves`` (of the shown cells), ``bounds``."""

    name: ClassVar[str] = "edelman2021-and"
    source: ClassVar[str] = "edelman2021, section 5 and appendix C.1, figures 2 and 4"
    question: ClassVar[str] = "How does the number of examples that sparse AND takes grow with T?"
    designs: ClassVar[tuple[str, ...]] = ("full", "sequential")

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
        columns = trained(
            "and", config["seed"], config["protocol"], config["trials"], folder, bench, CURVES
        )
        keep(config, columns, folder)
        bounds(config, folder, bench)

    def analyse(self, config: dict[str, Any], folder: Path) -> list[Finding]:
        trials = read(folder / "trials.parquet")
        best, last = (
            Cells.of(trials["T"], trials["m"], trials[name] > config["learnt"])
            for name in ("best", "last")
        )
        grown = growth(best, config["bootstrap"]) if decidable(best) else None
        findings = [
            sublinear(config, best, last, grown),
            rises(best, last),
            laws(grown),
            fitted(config, trials),
            shown(config, best, read(folder / "curves.parquet")),
        ]
        if "design" in config:
            findings.append(spent(config, trials))
        if (folder / "bounds.parquet").is_file():
            findings.append(overlay(config, best, read(folder / "bounds.parquet")))
        return findings


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


def decidable(cells: Cells) -> bool:
    """Are there T enough, and both successes and failures at two of them?"""
    mixed = [
        0 < cells.successes[cells.T == T].sum() < cells.trials[cells.T == T].sum()
        for T in cells.lengths
    ]
    return sum(mixed) >= 3


def sublinear(
    config: dict[str, Any], best: Cells, last: Cells, grown: dict[str, Any] | None
) -> Finding:
    """The paper's claim."""
    claim = "The critical m grows sublinearly with T (figure 2, right)."
    points, at_last = (
        critical_sizes(config, one) if "design" in config else crossings(one, config["bootstrap"])
        for one in (best, last)
    )
    numbers: dict[str, Any] = {"critical": points, "critical_by_last_check": at_last}
    table = ", ".join(f"{row['T']}: {row['text']}" for row in points)
    foretold = " (the full grid's, foretold)" if "design" in config else ""
    if grown is None:
        return Finding(claim, "undecided", f"Too few outcomes. Critical m by T: {table}.", numbers)
    lowest, highest = exponent_interval(grown)
    α = grown["plain"]["power"]["θ"]
    numbers |= {"α": α, "α_interval": [finite(lowest), finite(highest)], "growth": grown}
    if decidable(last):
        numbers["growth_by_last_check"] = growth(last, config["bootstrap"], compare=False)
    verdict = "reproduced" if highest < 1 else "not reproduced" if lowest > 1 else "undecided"
    text = (
        f"m_c ∝ T^α with α = {α:.2f}, 95 % interval [{lowest:.2f}, {highest:.2f}] (the widest of "
        f"three: binomial profiles with one slope and with a slope that depends on T, and whole "
        f"cells drawn again). First crossings by T{foretold}: {table}. A success is the best of "
        f"all checks on the hold-out, as in the paper: that selects on the hold-out."
    )
    if "growth_by_last_check" in numbers:
        at_end = numbers["growth_by_last_check"]
        ends = exponent_interval(at_end)
        text += (
            f" By the last check alone α = {at_end['plain']['power']['θ']:.2f} "
            f"[{ends[0]:.2f}, {ends[1]:.2f}]."
        )
    return Finding(claim, verdict, text, numbers)


def rises(best: Cells, last: Cells) -> Finding:
    """Figure 2, left."""
    claim = "The success rate rises with m, later for larger T (figure 2, left)."
    table = rates(best)
    ends = []
    for T in best.lengths:
        rows = sorted((row for row in table if row["T"] == T), key=lambda row: row["m"])
        ends.append((int(T), rows[0], rows[-1]))
    up = [T for T, first, end in ends if end["interval"][0] > first["interval"][1]]
    near = [T for T, _, end in ends if end["interval"][1] >= 0.99]
    gap = float((best.successes / best.trials - last.successes / last.trials).mean())
    verdict = "reproduced" if len(up) == len(ends) else "undecided"
    text = (
        f"At {len(up)} of {len(ends)} lengths the rate at the largest m lies above that at the "
        f"smallest (95 % intervals apart). At the largest m a rate of .99 is within the interval "
        f"for T in {near or 'none'}. The best check counts {gap:.3f} more successes a trial than "
        f"the last."
    )
    numbers = {"rates": table, "rates_by_last_check": rates(last), "best_over_last": gap}
    return Finding(claim, verdict, text, numbers)


def laws(grown: dict[str, Any] | None) -> Finding:
    """Which of two laws?"""
    claim = "Does the critical m grow as log T, as the theory suggests, or as a power of T?"
    if grown is None or "difference" not in grown["plain"]:
        return Finding(claim, "undecided", "Too few outcomes.", {})
    favourite = favoured(grown)
    parts = []
    for kind, words in (("plain", "one slope b"), ("tilted", "b depending on T")):
        difference = grown[kind]["difference"]
        lowest, highest = difference["interval"]
        parts.append(f"{difference['sum']:+.1f} [{lowest:.1f}, {highest:.1f}] with {words}")
    text = (
        "Log-likelihood of a T left out, power law less log law, summed over cells: "
        + " and ".join(parts)
        + ". "
        + (
            f"Both favour the {favourite} law."
            if favourite != "undecided"
            else "The range of T does not tell them apart."
        )
    )
    verdict = "undecided" if favourite == "undecided" else "beyond the paper"
    numbers = {
        "favoured": favourite,
        **{kind: grown[kind]["difference"] for kind in ("plain", "tilted")},
    }
    return Finding(claim, verdict, text, numbers)


def fitted(config: dict[str, Any], trials: dict[str, np.ndarray]) -> Finding:
    """Do all runs fit?"""
    limit = config["fitted"]
    claim = f"All runs reach a training loss below {limit:g}."
    numbers: dict[str, Any] = {"runs": len(trials["T"])}
    for name in ("best", "last"):
        above = int((~(trials[f"train_loss_{name}"] < limit)).sum())
        numbers[name] = {
            "above": above, "share": above / len(trials["T"]),
            "interval": list(clopper_pearson(above, len(trials["T"]))),
        }  # fmt: skip
    least, end = numbers["best"], numbers["last"]
    verdict = "reproduced" if least["above"] == 0 else "differs"
    text = (
        f"Without dropout, {least['above']} of {numbers['runs']} runs ({least['share']:.2%}, "
        f"at most {least['interval'][1]:.2%}) stay at or above it at every check, and "
        f"{end['above']} ({end['share']:.2%}) are so at the end."
    )
    return Finding(claim, verdict, text, numbers)


def shown(config: dict[str, Any], cells: Cells, curves: dict[str, np.ndarray]) -> Finding:
    """Figure 2's training curves."""
    (T, few), (_, many) = config["shown"]
    claim = f"At T = {T}, training with m = {few} overfits and with m = {many} finds the function."
    numbers: dict[str, Any] = {"every": config["protocol"]["training"]["evaluate_every"]}
    ends = []
    for m in (few, many):
        of_cell = (cells.T == T) & (cells.m == m)
        k, n = float(cells.successes[of_cell][0]), float(cells.trials[of_cell][0])
        ends.append(wilson(k, n))
        part = (curves["T"] == T) & (curves["m"] == m)
        numbers[f"m={m}"] = {"rate": k / n, "interval": list(ends[-1])} | {
            name: {
                "median": np.median(curves[name][part], axis=0).tolist(),
                "quartiles": np.quantile(curves[name][part], [0.25, 0.75], axis=0).tolist(),
            }
            for name in CURVES
            if name in curves
        }
    low, high = ends[0][1] < 0.5, ends[1][0] > 0.5
    against = ends[0][0] > 0.5 or ends[1][1] < 0.5
    verdict = "reproduced" if low and high else "not reproduced" if against else "undecided"
    rate = {m: numbers[f"m={m}"]["rate"] for m in (few, many)}
    text = (
        f"m = {few}: {rate[few]:.0%} succeed [{ends[0][0]:.0%}, {ends[0][1]:.0%}]; m = {many}: "
        f"{rate[many]:.0%} [{ends[1][0]:.0%}, {ends[1][1]:.0%}]."
    )
    return Finding(claim, verdict, text, numbers)


def overlay(config: dict[str, Any], cells: Cells, table: dict[str, np.ndarray]) -> Finding:
    """What bounds ask for."""
    rows = [
        {name: column[i].item() for name, column in table.items()} for i in range(len(table["T"]))
    ]
    sizes = ", ".join(f"10^{row['log10_n']:.1f} (T = {row['T']})" for row in rows)
    numbers, words = certified(cells, config["learnt"], config["bounds"]["delta"])
    numbers |= {"bounds": rows, "margin": config["bounds"]["margin"]}
    text = (
        f"The derived bound at the norms of a trained classifier (ramp loss at margin "
        f"{config['bounds']['margin']:g}, confidence .95) comes down to ½ at n = {sizes}: it says "
        f"nothing at the m of this experiment. {words}"
    )
    return Finding("What sample sizes do the bounds predict?", "beyond the paper", text, numbers)


def certified(cells: Cells, learnt: float, delta: float) -> tuple[dict[str, Any], str]:
    """What certificates ask for at some T, and the information bound; as numbers and in words."""
    from dudley.lab.experiments.edelman2021_and.certified_sizes import LONGEST, sizes

    every = [int(T) for T in cells.lengths]
    rows = sizes(spread(every, 6), 1 - learnt, delta)
    far = f" Longer codes than of T = {LONGEST:,} were not counted." if every[-1] > LONGEST else ""
    ends = [
        f"{name} {rows[0][name]:,} (T = {rows[0]['T']:,}) to {rows[-1][name]:,} "
        f"(T = {rows[-1]['T']:,})"
        for name in ("occam", "norm-cover")
    ]
    words = (
        f"Certificates of the planted function as one head, no training errors, come down to "
        f"{1 - learnt:.2g} at n = {' and '.join(ends)}, as log T; a hold-out takes "
        f"{rows[0]['hold-out']} examples beside those trained on. To carry the hidden set, labels "
        f"must number about log₂C(T,3)/H(1/8) at least.{far}"
    )
    least = [{"T": T, "m": information(T)} for T in every]
    return {"certificates": rows, "delta": delta, "information": least}, words
