"""Sparse AND where the paper could not go: T to 10⁵, by a protocol that collapses.

Without dropout of embeddings and attention weights a token's score and value depend on its bit and
position alone, and attention over a batch is one product with a table. That is another protocol
than the paper's. So, first, on the paper's grid: does it move success rates? An equivalence test
(two one-sided tests) of the mean difference over cells, and of the difference in α, against margins
set beforehand: confirmed if both are equivalent, refuted if one is shown to be larger. Then, with
it, T = 10³ … 10⁵, m around what both laws expect there. A run that ends with training accuracy < 1
"did not fit", which is told apart from "did not generalise". Successes are counted by the best
check, as in the paper, and by the last. Laws: `shared.laws`.

The printed protocol's trials are copied from a record of edelman2021-and with the same protocol,
seed and number of trials where one lies beside this experiment's folder, and trained otherwise.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dudley.lab.experiment import Bench, Experiment, Finding, experiment
from dudley.lab.experiments.edelman2021_and.findings import below_one, certified, decidable
from dudley.lab.shared.edelman2021_protocol import LEARNT, LENGTHS, SIZES, sparse_and
from dudley.lab.shared.growth import (
    crossings,
    elasticity,
    exponent_interval,
    finite,
    growth,
    half_success,
    rates,
)
from dudley.lab.shared.laws import CRITERIA, law_findings
from dudley.lab.shared.training_table import PLAIN, read, trained, write
from dudley.lab.statistics.critical import Cells, by_block, exponent
from dudley.lab.statistics.proportions import wilson
from dudley.lab.statistics.trend import Slope, equivalence, estimate

CONFIDENCE = 0.05  # δ of the certificates
WIDE = 100  # margins; a difference whose standard error is larger is not told
COLLAPSED = (0.0, 0.0, 0.1)  # dropout of embeddings, attention weights, residual branches


@experiment
class SparseAndFar(Experiment):
    """Tables: ``printed`` and ``collapsed`` (the paper's grid), ``far``; a row a trial."""

    name: ClassVar[str] = "edelman2021-and-far"
    source: ClassVar[str] = "beyond edelman2021, section 5"
    question: ClassVar[str] = "Does the critical m of sparse AND grow as log T, or as a power of T?"

    def config(self, scale: str) -> dict[str, Any]:
        tiny = {"steps": 40, "holdout": 300, "rate": 1e-2, "sizes": {"d": 16, "H": 2}}
        grid, trials, extra = {
            "smoke": (([6, 10], [10, 60]), 3, tiny),
            "laptop": (([40, 80], [40, 70, 120]), 4, {"holdout": 2000}),
            "paper": ((LENGTHS, SIZES), 50, {}),
        }[scale]
        far = {
            "smoke": [([40], [20, 120], 3)],
            "laptop": [([300], [60, 110, 200], 4), ([1000], [80, 160, 320], 4)],
            "paper": [
                ([1_000], [120, 150, 180, 210, 240, 280, 330, 400], 30),
                ([3_000], [150, 190, 230, 280, 340, 420, 520, 640], 30),
                ([10_000], [190, 240, 300, 370, 470, 600, 800, 1050], 20),
                ([30_000], [230, 300, 380, 480, 620, 850, 1200, 1700], 20),
                ([100_000], [280, 360, 470, 620, 850, 1250, 1900, 2800], 10),
            ],
        }[scale]
        return {
            "seed": 0, "trials": trials, "learnt": LEARNT,
            "printed": sparse_and(grid[0], grid[1], **extra),
            "collapsed": sparse_and(grid[0], grid[1], COLLAPSED, **extra),
            "far": [sparse_and(T, m, COLLAPSED, **extra) | {"trials": n} for T, m, n in far],
            "margins": {"rate": 0.10, "exponent": 0.10}, "test_level": 0.05,
            "bootstrap": {"paper_draws": 50, "draws": 60 if scale == "smoke" else 2000, "seed": 1},
        }  # fmt: skip

    def run(self, config: dict[str, Any], folder: Path, bench: Bench) -> None:
        known = recorded(config, folder)
        for part in ("printed", "collapsed"):
            if part == "printed" and known is not None:
                columns = known
            else:
                columns = trained(
                    part, config["seed"], config[part], config["trials"], folder, bench
                )
            write(folder / f"{part}.parquet", columns)
        parts = []
        for block in config["far"]:
            protocol = {name: block[name] for name in ("task", "model", "training")}
            T = protocol["task"]["T"][0]
            parts.append(
                trained(f"far-{T}", config["seed"], protocol, block["trials"], folder, bench)
            )
        write(
            folder / "far.parquet",
            {name: np.concatenate([part[name] for part in parts]) for name in parts[0]},
        )

    def analyse(self, config: dict[str, Any], folder: Path) -> list[Finding]:
        tables = {
            part: read(folder / f"{part}.parquet") for part in ("printed", "collapsed", "far")
        }
        cells = {part: successes(config, table) for part, table in tables.items()}
        whole = {
            by: joined(*(successes(config, tables[part], by) for part in ("collapsed", "far")))
            for by in CRITERIA
        }
        return [
            same(config, cells["printed"], cells["collapsed"]),
            fits(config, tables["far"]),
            *grows(config, whole, cells["far"]),
            predicted(config, whole["best"]),
        ]


def recorded(config: dict[str, Any], folder: Path) -> dict[str, Any] | None:
    """The trials of a record of the printed protocol beside this experiment's folder, or None."""
    other = folder.resolve().parents[1] / "edelman2021-and" / folder.resolve().name
    record = other / "provenance.json"
    if not record.is_file() or not (other / "trials.parquet").is_file():
        return None
    theirs = json.loads(record.read_text(encoding="utf-8"))["config"]
    ours = (config["printed"], config["seed"], config["trials"])
    if (theirs.get("protocol"), theirs.get("seed"), theirs.get("trials")) != ours:
        return None
    return {name: c for name, c in read(other / "trials.parquet").items() if name in PLAIN}


def successes(config: dict[str, Any], table: dict[str, np.ndarray], by: str = "best") -> Cells:
    """Successes by the best check, as the paper counts, or by the last."""
    return Cells.of(table["T"], table["m"], table[by] > config["learnt"])


def joined(first: Cells, other: Cells) -> Cells:
    """The cells of both, in increasing (T, m)."""
    columns = [
        np.concatenate([getattr(first, name), getattr(other, name)])
        for name in ("T", "m", "successes", "trials")
    ]
    order = np.lexsort((columns[1], columns[0]))
    return Cells(*(column[order] for column in columns))


def mean_difference(first: Cells, other: Cells) -> Slope:
    """The success rate of ``other`` less that of ``one``, the mean over cells, as an estimate.

    The variance of a rate is that of (k + ½)/(n + 1), which is not 0 where all trials agree.
    """
    variances = []
    for cells in (first, other):
        p = (cells.successes + 0.5) / (cells.trials + 1)
        variances.append(p * (1 - p) / cells.trials)
    each = other.successes / other.trials - first.successes / first.trials
    error = float(np.sqrt(sum(v.sum() for v in variances)) / len(each))
    return estimate(float(each.mean()), error)


def same(config: dict[str, Any], printed: Cells, collapsed: Cells) -> Finding:
    """Are both protocols equivalent on the paper's grid?"""
    margins, level, draws = config["margins"], config["test_level"], config["bootstrap"]
    claim = (
        "Dropping the dropout of embeddings and attention weights does not move success rates "
        f"(mean over cells within ±{margins['rate']:g}) nor α (within ±{margins['exponent']:g})."
    )
    slopes: dict[str, Slope] = {"rate": mean_difference(printed, collapsed)}
    numbers: dict[str, Any] = {"printed": rates(printed), "collapsed": rates(collapsed)}
    if all(0 < c.successes.sum() < c.trials.sum() for c in (printed, collapsed)):
        errors = [
            by_block(cells, draws["draws"], draws["seed"] + i).error
            for i, cells in enumerate((printed, collapsed))
        ]
        α = [exponent(cells) for cells in (printed, collapsed)]
        slopes["exponent"] = estimate(α[1] - α[0], float(np.hypot(errors[0], errors[1])))
        numbers["α"] = {"printed": α[0], "collapsed": α[1]}
    verdicts, words = [], []
    for name, value in slopes.items():
        tested = equivalence(value, margins[name], level)
        apart = tested.lowest >= margins[name] or tested.highest <= -margins[name]
        moved = value.lowest > 0 or value.highest < 0
        verdicts.append("same" if tested.equivalent else "apart" if apart else "undecided")
        numbers[name] = {
            "difference": value.slope, "error": finite(value.error),
            "interval": [finite(value.lowest), finite(value.highest)],
            "test_interval": [finite(tested.lowest), finite(tested.highest)],
            "margin": margins[name], "p": finite(tested.p), "verdict": verdicts[-1],
        }  # fmt: skip
        if not value.error < WIDE * margins[name]:
            words.append(f"{name}: too few cells to tell (standard error above {WIDE} margins)")
            continue
        words.append(
            f"{name}: {value.slope:+.3f}, 95 % interval [{value.lowest:.3f}, {value.highest:.3f}]"
            f"{', a difference' if moved else ''}; equivalence within ±{margins[name]:g}: "
            f"{'yes' if tested.equivalent else 'no, it is larger' if apart else 'not shown'} "
            f"(p = {tested.p:.2g}, 90 % interval [{tested.lowest:.3f}, {tested.highest:.3f}])"
        )
    answer = "confirmed" if verdicts == ["same", "same"] else "undecided"
    if "apart" in verdicts:
        answer = "refuted"
    text = "Without these dropouts less with them: " + "; ".join(words) + "."
    return Finding.of_hypothesis(claim, answer, text, numbers)


def fits(config: dict[str, Any], far: dict[str, np.ndarray]) -> Finding:
    """Which runs did not fit, and which did but did not generalise?"""
    hit = far["best"] > config["learnt"]
    fitted = far["train_accuracy_last"] >= 1.0
    rows = []
    for T, m in np.unique(np.stack([far["T"], far["m"]], 1), axis=0):
        of_cell = (far["T"] == T) & (far["m"] == m)
        rows.append({
            "T": int(T), "m": int(m), "trials": int(of_cell.sum()),
            "generalised": int((of_cell & hit).sum()),
            "did_not_fit": int((of_cell & ~hit & ~fitted).sum()),
            "did_not_generalise": int((of_cell & ~hit & fitted).sum()),
        })  # fmt: skip
    unfit = int((~hit & ~fitted).sum())
    low, high = wilson(unfit, len(hit))
    text = (
        f"Of {len(hit)} runs at T = {far['T'].min():,} to {far['T'].max():,}, {int(hit.sum())} "
        f"generalised, {int((~hit & fitted).sum())} fitted their sample and did not generalise, "
        f"{unfit} did not fit it ({unfit / len(hit):.1%} [{low:.1%}, {high:.1%}])."
    )
    question = "At long T, do runs fail to fit or to generalise?"
    return Finding.of_question(question, text, {"cells": rows, "did_not_fit": unfit})


def grows(config: dict[str, Any], whole: dict[str, Cells], far: Cells) -> list[Finding]:
    """Growth over the whole range by both criteria, and the laws."""
    hypothesis = "The critical m grows sublinearly, also far beyond the paper's T."
    best = whole["best"]
    points, halves = crossings(best, config["bootstrap"]), half_success(best)
    table = ", ".join(f"{row['T']:,}: {row['text']}" for row in points)
    numbers: dict[str, Any] = {"critical": points, "rates": rates(far), "half_success": halves}
    numbers["half_success_by_last_check"] = half_success(whole["last"])
    grown = {
        name: growth(cells, config["bootstrap"], compare=name == "best")
        if decidable(cells)
        else None
        for name, cells in whole.items()
    }
    outcomes, words = [], []
    for name, laws in grown.items():
        if laws is None:
            outcomes.append("undecided")
            continue
        low, high = exponent_interval(laws)
        ends = elasticity(whole[name])
        low_end, high_end = (-np.inf, np.inf) if ends is None else ends["interval"]
        outcomes += [below_one(low, high), below_one(low_end, high_end)]
        words.append(
            f"{CRITERIA[name]}, exponent {laws['plain']['power']['θ']:.2f} [{low:.2f}, {high:.2f}] "
            "(95 %, the widest of all fits)"
            + ("" if ends is None else f", between the ends {ends['value']:.2f} "
               f"[{low_end:.2f}, {high_end:.2f}]")
        )  # fmt: skip
        numbers["growth" if name == "best" else "growth_by_last_check"] = laws
        if name == "best":
            numbers["α_interval"] = [finite(low), finite(high)]
    answer = {frozenset({"holds"}): "confirmed", frozenset({"fails"}): "refuted"}.get(
        frozenset(outcomes), "undecided"
    )
    text = (
        f"From T = {best.T.min():,} to {best.T.max():,}: {'; '.join(words) or 'too few outcomes'}. "
        f"First crossings by T: {table}."
    )
    return [Finding.of_hypothesis(hypothesis, answer, text, numbers), *law_findings(grown)]


def predicted(config: dict[str, Any], whole: Cells) -> Finding:
    """What certificates ask for."""
    numbers, words = certified(whole, config["learnt"], CONFIDENCE)
    words += " The derived bound at trained norms was evaluated in edelman2021-and alone."
    return Finding.of_question("What sample sizes do certificates predict?", words, numbers)
