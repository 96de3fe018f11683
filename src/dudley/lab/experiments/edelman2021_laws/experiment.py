"""Critical sample sizes of sparse AND for s = 2, 3 and 4, and parity's waiting times.

This is the plan, written before any run. Former records suggested the laws and the grids; their
trials are not used, and the seeds here are others.

Sparse AND. Trainings are by the protocol that collapses (edelman2021-and-far: no dropout of
embeddings or attention weights). A series is an s and a number of steps, 1,000 or 4,000. With
1,000 steps T goes from 100 to 30,000, for s = 3 to 10⁵; with 4,000 steps it goes to 10⁴. At each T
there are 13 values of m in steps of 1.3 around 87·2^{s−3}·(T/100)^{.4}, the m½ that former records
suggest for s = 3. The sequential design spends a quarter of 50 trials a cell: 4 in every cell, then
up to 50 where the success rate may cross ½. A success is a hold-out accuracy above .99.

Laws. Three laws of the critical m are fitted to each series: a power of T, a + b·log T, and a power
of log T. Each is compared by the deviance with logistic curves of their own at every T; slopes are
free in both. This is done for each of two readings of a success, the best check (as in the paper)
and the last. A test rejects at .05 divided by three times the number of series.

- A law is refuted if in some series both readings reject it.
- It is confirmed if no test rejects it and each of the two others is refuted: then these data
  cannot tell it from curves of their own at every T, and can tell the others.
- It is undecided otherwise, and so are all three if a series has no success or no failure.

Parity of three bits, online, as printed. First, at T = 10, 15 and 20 for 20,000 steps, trainings
are in fast precision (TF32, float16 products in kernels; as in former records) and in float32, from
the same seeds, 80 of them. What is compared is the mean, over pairs of the same T and seed, of the
logarithm of fast over float32 waiting time; a seed whose loss has not dropped below .1 by the last
step counts as that step. The margin is log 1.25: with the scatter of former records, independent
pairs and no true difference, two one-sided tests at .05 have a power of about .9.

- That parity is learnt equally fast is confirmed if the tests' 90 % interval lies within ±log 1.25.
- It is refuted if that interval lies outside, and undecided otherwise.
- It is undecided too if all pairs are equal: a processor computes both in float32.

Second, at T = 30, 40, 50, 64 and 80 for 150,000 steps, with 10 seeds: the time to the drop as a
power of T, with censored seeds, from these trials and those in fast precision above. This is a
question, with no verdict: Weibull and log-normal times are both told, each with the test of its
fit.

Every round of a series and every part of the parities has a store of its own, so that the same call
continues a run that was broken off.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dudley.lab.experiment import Bench, Experiment, Finding, experiment
from dudley.lab.experiments.edelman2021_laws.series import (
    grid_of,
    name_of,
    planned_series,
    rounds,
)
from dudley.lab.experiments.edelman2021_parity.experiment import drops, waits
from dudley.lab.planned import PlannedGrid, planned_in
from dudley.lab.shared.edelman2021_protocol import LEARNT, sparse_parity
from dudley.lab.shared.growth import fitted_law, growth, half_success
from dudley.lab.shared.training_table import read, trained, write
from dudley.lab.statistics.critical import LAWS, Cells
from dudley.lab.statistics.goodness import rejects
from dudley.lab.statistics.trend import equivalence, estimate

PRECISIONS = ("fast", "ieee")
WORDS = {
    "power": "The critical m is a power of T, for every s and length of training.",
    "log": "The critical m is a + b·log T, for every s and length of training.",
    "power of log": "The critical m is a power of log T, for every s and length of training.",
}
FAR = [100, 300, 1_000, 3_000, 10_000, 30_000]


@experiment
class Laws(Experiment):
    """Tables: one for each series of sparse AND, one for each part of the parities."""

    name: ClassVar[str] = "edelman2021-laws"
    source: ClassVar[str] = "beyond edelman2021, section 5 and appendix C.2"
    question: ClassVar[str] = "Which law do critical m and waiting times follow, for every s?"

    def config(self, scale: str) -> dict[str, Any]:
        tiny = {"steps": 40, "holdout": 300, "rate": 1e-2, "sizes": {"d": 16, "H": 2}}
        series, extra, trials, design = {
            "smoke": ([(2, 40, [6, 10])], tiny, 3, {"scan": 1, "rounds": 2, "share": 0.5}),
            "laptop": ([(2, 1000, [40, 80, 160])], {"holdout": 2000}, 8, {"scan": 2}),
            "paper": (
                [(s, 1000, FAR + [100_000] * (s == 3)) for s in (2, 3, 4)]
                + [(s, 4000, FAR[:-1]) for s in (2, 3, 4)],
                {}, 50, {"share": 0.25},
            ),
        }[scale]  # fmt: skip
        near, far, seeds = {
            "smoke": (([3], 180), ([5], 180), (3, 3)),
            "laptop": (([5, 8], 2000), ([10, 12], 3000), (4, 4)),
            "paper": (([10, 15, 20], 20_000), ([30, 40, 50, 64, 80], 150_000), (80, 10)),
        }[scale]
        small: dict[str, Any] = {
            "batch": 64, "every": 10, "holdout": 100, "rate": 3e-3, "s": 2,
            "sizes": {"d": 16, "H": 2},
        }  # fmt: skip
        how: dict[str, Any] = {"batch": 256, "holdout": 2000} if scale == "laptop" else {}
        how = small if scale == "smoke" else how
        seldom: dict[str, Any] = {"every": 100} if scale == "paper" else {}
        parities = {}
        for precision in PRECISIONS:
            part = sparse_parity(*near, **how)
            training = part["training"] | {"precision": precision}
            parities[precision] = part | {"training": training, "seeds": seeds[0]}
        parities["far"] = sparse_parity(*far, **how, **seldom) | {"seeds": seeds[1]}
        return {
            "seed": 1, "learnt": LEARNT, "trials": trials, "design": design,
            "series": [{"s": s, "steps": steps, "T": T} for s, steps, T in series],
            "protocol": extra, "parity": parities,
            "dropped": 0.1, "plateau": 0.9, "margin": float(np.log(1.25)),
            "bootstrap": {"paper_draws": 50, "draws": 60 if scale == "smoke" else 2000, "seed": 1},
        }  # fmt: skip

    def planned(self, config: dict[str, Any]) -> list[PlannedGrid]:
        return [
            *(planned_series(config, one_series) for one_series in config["series"]),
            *planned_in({"parity": config["parity"]}),
        ]

    def run(self, config: dict[str, Any], folder: Path, bench: Bench) -> None:
        for one_series in config["series"]:
            columns = rounds(config, one_series, folder, bench)
            write(folder / f"{name_of(one_series)}.parquet", columns)
        for part, block in config["parity"].items():
            protocol = {name: block[name] for name in ("task", "model", "training")}
            columns = trained(
                f"parity-{part}", config["seed"], protocol, block["seeds"], folder, bench,
                ("loss",),
            )  # fmt: skip
            write(folder / f"parity-{part}.parquet", columns)

    def analyse(self, config: dict[str, Any], folder: Path) -> list[Finding]:
        tables = {
            name_of(one): read(folder / f"{name_of(one)}.parquet") for one in config["series"]
        }
        grown = {
            name: {by: grown_by(config, table, by) for by in ("best", "last")}
            for name, table in tables.items()
        }
        parities = {part: read(folder / f"parity-{part}.parquet") for part in config["parity"]}
        rows = {
            part: drops(config | {part: config["parity"][part]}, part, table)
            for part, table in parities.items()
        }
        return [
            *(law_finding(law, grown) for law in LAWS),
            sizes(config, tables),
            same_precision(config, rows),
            waits(rows["fast"] + rows["far"]),
        ]


def grown_by(config: dict[str, Any], table: dict[str, np.ndarray], by: str) -> dict | None:
    """The laws fitted to a series, by the best or the last check; None where all is the same."""
    cells = Cells.of(table["T"], table["m"], table[by] > config["learnt"])
    if not 0 < cells.successes.sum() < cells.trials.sum():
        return None
    return growth(cells, config["bootstrap"], compare=False)


def law_finding(law: str, grown: dict[str, dict[str, dict | None]]) -> Finding:
    """One law over all series."""
    tests, words = len(LAWS) * len(grown), []
    bad: dict[str, list[bool]] = {name: [] for name in LAWS}  # both criteria reject, by series
    loose: list[bool] = []
    for name, by in grown.items():
        known = {criterion: laws for criterion, laws in by.items() if laws is not None}
        if len(known) < len(by):
            return Finding.of_hypothesis(WORDS[law], "undecided", f"{name}: too few outcomes")
        for other in LAWS:
            out = [rejects(one["free"][other]["goodness"]["p"], tests) for one in known.values()]
            bad[other].append(all(out))
            loose += [any(out)] if other == law else []
        words.append(f"{name}: {fitted_law(known['best'], law)}")
    alone = all(any(bad[other]) for other in LAWS if other != law)
    answer = "confirmed" if alone and not any(loose) else "undecided"
    if any(bad[law]):
        answer = "refuted"
    text = f"By the best check {'; '.join(words)}. A test is at .05/{tests}"
    numbers = {name: {c: g and g["free"][law] for c, g in by.items()} for name, by in grown.items()}
    return Finding.of_hypothesis(WORDS[law], answer, text, {"law": law, "series": numbers})


def sizes(config: dict[str, Any], tables: dict[str, dict[str, np.ndarray]]) -> Finding:
    """m½ of every series and T."""
    rows, words = [], []
    for one_series in config["series"]:
        name = name_of(one_series)
        table = tables[name]
        cells = Cells.of(table["T"], table["m"], table["best"] > config["learnt"])
        some = half_success(cells)
        rows += [{"s": one_series["s"], "steps": one_series["steps"], **row} for row in some]
        texts = ["–" if row["m"] is None else f"{row['m']:.0f}" for row in some]
        words.append(f"{name}: {', '.join(texts)} at T = {', '.join(str(r['T']) for r in some)}")
    question = "How large is the critical m, for each s and length of training?"
    grids = {name_of(one): grid_of(one).tolist() for one in config["series"]}
    return Finding.of_question(question, "; ".join(words), {"half": rows, "grids": grids})


def same_precision(config: dict[str, Any], rows: dict[str, list[dict]]) -> Finding:
    """Are waiting times equal in fast precision and in float32, seed by seed?"""
    fast, ieee = (
        {(row["T"], row["trial"]): np.log(row["watched"]) for row in rows[precision]}
        for precision in PRECISIONS
    )
    ratios = np.array([fast[pair] - ieee[pair] for pair in sorted(fast)])
    error = float(ratios.std(ddof=1)) / np.sqrt(len(ratios))
    apart = estimate(float(ratios.mean()), error, len(ratios) - 1)
    margin = config["margin"]
    tested = equivalence(apart, margin)
    answer = "confirmed" if tested.equivalent else "undecided"
    if tested.lowest >= margin or tested.highest <= -margin:
        answer = "refuted"
    text = (
        f"Mean log ratio of {len(ratios)} pairs of waiting times, fast over float32: "
        f"{apart.slope:+.3f} [{apart.lowest:+.3f}, {apart.highest:+.3f}]; 90 % interval "
        f"[{tested.lowest:+.3f}, {tested.highest:+.3f}], for equivalence within ±{margin:.3f}"
    )
    if not ratios.any():
        answer, text = "undecided", f"All {len(ratios)} pairs of waiting times are equal"
    numbers = {
        "pairs": len(ratios), "difference": apart.slope, "error": apart.error, "margin": margin,
        "p": tested.p,
    }  # fmt: skip
    claim = "Parity is learnt as fast in fast precision as in float32."
    return Finding.of_hypothesis(claim, answer, text, numbers)
