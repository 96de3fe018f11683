"""Sparse majority: do norms, gap and accuracy of trained networks depend on the sequence length?

Trainings as in `trauger2024_protocol`, 5 runs at each T. The paper shows, against T, the largest
of five values: of the ℓ1 norm of all weights, of the gap in cross-entropy, of the accuracy. Its
weights are those of the least *validation* loss, and gap and accuracy are read on the same
validation set: a leak, reproduced as ``leaky``. Beside it stand ``clean``, the same weights on a
hold-out that nothing was chosen by, and ``last``, the last weights on that hold-out.

Trends are tested on all runs, not on maxima: the slope on T (HC3 interval) and an equivalence
test. Margins were set beforehand, as changes over the whole range of T that nobody would call a
trend: 10 % of the mean for the norm; 10 % of log 2, the loss of guessing, for the gap; .05, 10 % of
the way from guessing to certainty, for the accuracy. "No trend" holds if the equivalence test says
so; otherwise a rise or fall whose interval excludes 0 contradicts it, or it is undecided. Of the
norm the paper says only that it does not rise: so one of the one-sided tests is enough. Of the
accuracy it says that it plateaus as T grows: so what is tested is the upper part of the range, from
half, three fifths and three quarters of the longest T on, with the same margin. Where a plateau
begins is left open: it was set after the data had been seen, since accuracies fall until T = 100.

Readings: the weights of least validation loss on the validation set, as in the paper; the same
weights on a hold-out; and the largest of the runs at each T, as plotted. The last weights are an
extra of ours, listed without a say in the verdicts, since the paper takes the best epoch.

The paper leaves more open that was *not run* in another way: whether training goes on for all of
the 200,000 epochs of its text, or ends at training accuracy 1 as in its script (as here); whether
the best epoch is that of the least validation loss (as here) or of the largest accuracy.

The smaller scales differ from the printed protocol as their ``variant`` says.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dudley.lab.experiment import Bench, Experiment, Finding, experiment
from dudley.lab.experiments.trauger2024_majority.bounds import FORMS, corollary
from dudley.lab.experiments.trauger2024_majority.protocol import KEPT, LENGTHS, majority, trained
from dudley.lab.finding import PaperReading
from dudley.lab.shared.training_table import read, write
from dudley.lab.statistics.goodness import p_value
from dudley.lab.statistics.proportions import clopper_pearson
from dudley.lab.statistics.trend import equivalence, estimate, slope

CURVES = ("train_accuracy", "train_loss", "validation_loss", "l1")
PLAIN = {
    "T": "task.T",
    "m": "task.m",
    "trial": "trial",
    "steps": "result.steps",
    "train_accuracy_last": "result.metrics.train_accuracy",
    "train_loss_last": "result.metrics.train_loss",
    "l1_last": "result.metrics.l1",
    "holdout_loss_last": "result.final.holdout_loss",
    "holdout_accuracy_last": "result.final.holdout_accuracy",
    **{
        name: f"result.at best {KEPT}.{name}"
        for name in ("step", "l1", "train_loss", "train_accuracy", "validation_loss",
                     "validation_accuracy", "holdout_loss", "holdout_accuracy")
    },
}  # fmt: skip
FIGURES = {
    "l1": "Figure 1: the ℓ1 norm of all weights shows no increasing trend with T.",
    "gap": "Figure 2: the gap in cross-entropy shows no discernible trend with T.",
    "accuracy": "Figure 3: the accuracy plateaus as T grows.",
}
NAMES = {"l1": "ℓ1 norm", "gap": "gap", "accuracy": "accuracy"}
BEST, LAST = "weights of least validation loss", "the last weights"
OVER_ALL = "trend over all runs"
VERSIONS = {  # weights, examples, statistic; what the paper says
    "leaky": (BEST, "the validation set that chose them", OVER_ALL, "takes the best epoch"),
    "clean": (BEST, "a hold-out that chose nothing", OVER_ALL, "has none"),
    "last": (LAST, "a hold-out that chose nothing", OVER_ALL, "takes the best epoch"),
    "maxima": (
        BEST,
        "the validation set that chose them",
        "trend of the largest runs",
        "plots this",
    ),
}
FEWEST = 5  # values that a reading is tested on
PLATEAU = (0.5, 0.6, 0.75)  # shares of the longest T from which on it is to be flat
Columns = dict[str, np.ndarray]


@experiment
class SparseMajority(Experiment):
    """Tables: ``trials`` (a row a run: metrics, norms, bounds), ``curves`` (lists over epochs)."""

    name: ClassVar[str] = "trauger2024-majority"
    source: ClassVar[str] = "trauger2024, section 6, figures 1–3, and the authors' script"
    question: ClassVar[str] = "Do norms, gap and accuracy of trained networks depend on T?"

    def config(self, scale: str) -> dict[str, Any]:
        protocol, runs, variant = {
            "smoke": (
                majority([5, 8, 11, 14], 40, s=3, m=24, batch=16, holdout=200, rate=0.1, look=2,
                         d=16, k=16, width=16, unit="l2"),
                2, "T 5 to 14, 3 hidden bits, width 16, tokens of ℓ2 norm 1, rate .1, 40 epochs",
            ),
            "laptop": (
                majority([20, 40, 60, 80, 100], 5000, holdout=2000, rate=0.03, look=10, points=5,
                         unit="l2"),
                5, "tokens of ℓ2 norm 1 (printed: ℓ1 norm 1, some six times smaller, with which "
                "training waits on a plateau for thousands of epochs), rate .03 falling to .003 "
                "(printed: a third), T up to 100, at most 5,000 epochs, looked at every 10 epochs, "
                "2,000 held-out examples",
            ),
            "paper": (majority(LENGTHS, 200_000, points=500), 5, "the printed protocol"),
        }[scale]  # fmt: skip
        return {
            "seed": 0, "protocol": protocol, "runs": runs, "variant": variant,
            "level": 0.95, "alpha": 0.05,
            "margins": {"l1": {"share_of_mean": 0.1}, "gap": {"change": 0.1 * math.log(2)},
                        "accuracy": {"change": 0.05}},
            "bounds": {"runs": 1, "clip": 2.0, "delta": 0.05},
        }  # fmt: skip

    def run(self, config: dict[str, Any], folder: Path, bench: Bench) -> None:
        from dudley.lab import curves

        store = bench.location(folder) / "majority"
        table = trained(config, store, bench)
        columns = {plain: table[full] for plain, full in PLAIN.items()}
        for name in table.names:
            group, _, metric_name = name.removeprefix("result.").partition(".")
            if group in ("norms", "calculus"):
                columns[metric_name if group == "norms" else f"calculus_{metric_name}"] = table[
                    name
                ]
        write(folder / "trials.parquet", columns)
        by_metric = {metric: curves(store, metric) for metric in CURVES}
        epoch = _batches(config)
        lists = {
            metric: [np.float32(v) for _, v in metric_name]
            for metric, metric_name in by_metric.items()
        }
        steps = {"epoch": [np.int32(s // epoch) for s, _ in by_metric[CURVES[0]]]}
        write(folder / "curves.parquet", {n: columns[n] for n in ("T", "trial")} | steps | lists)

    def analyse(self, config: dict[str, Any], folder: Path) -> list[Finding]:
        trials = read(folder / "trials.parquet")
        conclusions = [figure(config, trials, quantity) for quantity in FIGURES]
        return [
            *conclusions,
            fitted(config, trials),
            leak(config, trials),
            *bounded(config, trials),
        ]


def quantities(trials: Columns, version: str) -> Columns:
    """The quantities of the three figures: ``leaky`` (the paper's), ``clean`` or ``last``."""
    if version == "last":
        gap = trials["holdout_loss_last"] - trials["train_loss_last"]
        return {"l1": trials["l1_last"], "gap": gap, "accuracy": trials["holdout_accuracy_last"]}
    split = {"leaky": "validation", "clean": "holdout"}[version]
    gap = trials[f"{split}_loss"] - trials["train_loss"]
    return {"l1": trials["l1"], "gap": gap, "accuracy": trials[f"{split}_accuracy"]}


def trend(config: dict[str, Any], T: np.ndarray, y: np.ndarray, quantity: str) -> dict[str, Any]:
    """Slope, interval and equivalence test, as changes over the whole range of T."""
    allowed, span = config["margins"][quantity], float(np.ptp(T))
    share = allowed.get("share_of_mean")
    margin = allowed["change"] if share is None else share * abs(float(y.mean()))
    fit = slope(T / span, y, config["level"])
    test = equivalence(fit, margin, config["alpha"])
    numbers = {
        "change": fit.slope,
        "interval": [fit.lowest, fit.highest],
        "interval_equivalence": [test.lowest, test.highest],
        "margin": margin,
        "p": fit.p,
        "equivalent": test.equivalent,
        "p_equivalence": test.p,
        "runs": len(y),
        "goodness": fit.goodness.as_json(),
    }
    if len(np.unique(T)) >= 3:
        by_T = slope(T / span, y, config["level"], groups=T)
        numbers["interval_by_T"] = [by_T.lowest, by_T.highest]
    return numbers


def outcome(numbers: dict[str, Any], quantity: str) -> str:
    """Of "no trend"; of the norm the paper says that it does not rise, so it may fall."""
    lowest, highest = numbers["interval"]
    one_sided = quantity == "l1"
    if numbers["equivalent"] or (
        one_sided and numbers["interval_equivalence"][1] < numbers["margin"]
    ):
        return "holds"
    return "fails" if lowest > 0 or (highest < 0 and not one_sided) else "undecided"


def largest(T: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest value at each T, as the paper plots it."""
    lengths = np.unique(T)
    return lengths, np.array([y[t == T].max() for t in lengths])


def readings(config: dict[str, Any], trials: Columns, quantity: str) -> list[PaperReading]:
    """Trend or plateau, for each version and, of a plateau, each length where it may begin."""
    conclusions = []
    for version, (weights, examples, statistic, paper) in VERSIONS.items():
        choices = {"weights": weights, "examples": examples, "statistic": statistic}
        if quantity == "l1":  # a norm needs no examples
            del choices["examples"]
            if version == "clean":
                continue
        T, y = trials["T"], quantities(trials, version.replace("maxima", "leaky"))[quantity]
        if version == "maxima":
            T, y = largest(T, y)
        plateau = quantity == "accuracy"
        shares = PLATEAU if plateau else (0.0,)
        for start in dict.fromkeys(int(T[share * T.max() <= T].min()) for share in shares):
            part = start <= T
            if part.sum() < FEWEST:
                continue
            test = trend(config, T[part], y[part], quantity)
            begins = {"where the plateau begins": f"T ≥ {start}"} if plateau else {}
            about = f"does not say where it begins; {paper}" if plateau else paper
            conclusions.append(
                PaperReading(
                    begins | choices, about, outcome(test, quantity), test, version == "last"
                )
            )
    return conclusions


def figure(config: dict[str, Any], trials: Columns, quantity: str) -> Finding:
    """One figure: what the paper plots, and the trend on all runs."""
    T, versions = trials["T"], ("leaky", "clean", "last")
    values = {version: quantities(trials, version)[quantity] for version in versions}
    tests = {version: trend(config, T, y, quantity) for version, y in values.items()}
    lines = []
    for t in np.unique(T):
        line: dict[str, Any] = {"T": int(t)}
        for version, y in values.items():
            at_T = y[t == T]
            line |= {f"{version}_max": float(at_T.max()), f"{version}_mean": float(at_T.mean()),
                     f"{version}_min": float(at_T.min())}  # fmt: skip
        lines.append(line)
    numbers: dict[str, Any] = {"points": lines, "trend": tests}
    fit = _fitted(trials)
    if fit.sum() >= 6 and len(np.unique(T[fit])) >= 3:
        numbers["trend_of_fitted_runs"] = trend(config, T[fit], values["clean"][fit], quantity)
    maxima = ", ".join(f"{line['T']}: {line['leaky_max']:.3g}" for line in lines)
    text = f"From T = {T.min()} to {T.max()} {_change(NAMES[quantity], tests['leaky'])}"
    of_figure = readings(config, trials, quantity)
    if quantity == "accuracy":
        first = of_figure[0]
        numbers["plateau"] = first.numbers
        plateau = f"As a plateau ({first.chosen}) {_change(NAMES[quantity], first.numbers)}"
        text = f"{plateau} {text}"
    if quantity != "l1":
        text += f" On a hold-out that chose nothing {_change(NAMES[quantity], tests['clean'])}"
    text += (
        f" Largest of the runs, as plotted, by T: {maxima}. {fit.sum()} of {len(T)} runs reached "
        f"training accuracy 1. {_scale(config)}"
    )
    return Finding.of_claim(FIGURES[quantity], of_figure, text, numbers)


def _change(name: str, test: dict[str, Any]) -> str:
    low, high = test["interval"]
    lower, upper = test["interval_equivalence"]
    return (
        f"the {name} changes by {test['change']:.3g}, 95 % interval [{low:.3g}, {high:.3g}], on "
        f"{test['runs']} runs; margin ±{test['margin']:.3g}, equivalence "
        f"{'shown' if test['equivalent'] else 'not shown'} (p = {test['p_equivalence']:.2g}, 90 % "
        f"interval [{lower:.3g}, {upper:.3g}]); lack of fit of a line {p_value(test['goodness'])}."
    )


def fitted(config: dict[str, Any], trials: Columns) -> Finding:
    """The script ends a run where the training accuracy is 1: did it come to that?"""
    fit, batches, lines = _fitted(trials), _batches(config), []
    for t in np.unique(trials["T"]):
        of_length = trials["T"] == t
        share = clopper_pearson(int(fit[of_length].sum()), int(of_length.sum()))
        lines.append({
            "T": int(t), "fitted": int(fit[of_length].sum()), "runs": int(of_length.sum()),
            "interval": [float(share[0]), float(share[1])],
            "epochs": (trials["steps"][of_length] // batches).tolist(),
            "best_epochs": (trials["step"][of_length] // batches).tolist(),
            "train_accuracy": trials["train_accuracy_last"][of_length].tolist(),
        })  # fmt: skip
    most = config["protocol"]["training"]["steps"] // batches
    shares = ", ".join(f"{line['T']}: {line['fitted']}/{line['runs']}" for line in lines)
    text = (
        f"Within {most:,} epochs {fit.sum()} of {len(fit)} runs reached training accuracy 1; by T: "
        f"{shares}. Trends over runs that did not fit mix the length with unfinished training. "
        f"{_scale(config)}"
    )
    answer = "confirmed" if fit.all() else "refuted"
    hypothesis = "All runs end because the training accuracy is 1, as the authors' script allows."
    return Finding.of_hypothesis(hypothesis, answer, text, {"by_T": lines})


def leak(config: dict[str, Any], trials: Columns) -> Finding:
    """What choosing the weights on the set that is reported is worth."""
    leaky, clean = (quantities(trials, version) for version in ("leaky", "clean"))
    numbers, answers = {}, []
    for quantity in ("gap", "accuracy"):
        apart, margin = leaky[quantity] - clean[quantity], config["margins"][quantity]["change"]
        error = float(apart.std(ddof=1)) / math.sqrt(len(apart))
        mean = estimate(float(apart.mean()), error, len(apart) - 1, config["level"])
        test = equivalence(mean, margin, config["alpha"])
        larger = test.lowest >= margin or test.highest <= -margin
        answers.append("confirmed" if test.equivalent else "refuted" if larger else "undecided")
        numbers[quantity] = {"mean": mean.slope, "interval": [mean.lowest, mean.highest],
                             "largest": float(np.abs(apart).max()), "margin": margin,
                             "equivalent": test.equivalent,
                             "interval_equivalence": [test.lowest, test.highest]}  # fmt: skip
    gap, accuracy = numbers["gap"], numbers["accuracy"]
    answer = "refuted" if "refuted" in answers else answers[0]
    return Finding.of_hypothesis(
        "Choosing weights on the validation set that is reported matters little (less than the "
        "margins of the figures).",
        answer if len({*answers}) == 1 or answer == "refuted" else "undecided",
        f"Reported less hold-out, mean over runs with its 95 % interval and the 90 % one that is "
        f"tested: gap {_both(gap)}, accuracy {_both(accuracy)}. {_scale(config)}",
        numbers,
    )


def _both(mean: dict[str, Any]) -> str:
    """A mean with both of its intervals."""
    ends = (mean[name] for name in ("interval", "interval_equivalence"))
    return " ".join([f"{mean['mean']:.2g}", *(f"[{low:.2g}, {high:.2g}]" for low, high in ends)])


def bounded(config: dict[str, Any], trials: Columns) -> list[Finding]:
    """Corollary 4.1.1 and the calculus at the norms of the kept weights."""
    sizes = config["protocol"]["model"]
    first = np.flatnonzero(trials["trial"] < config["bounds"]["runs"])
    gap, lines = quantities(trials, "clean")["gap"], []
    for i in first:
        row = {name: column[i] for name, column in trials.items()}
        line = {"T": int(row["T"]), "trial": int(row["trial"]), "measured_gap": float(gap[i])}
        line |= corollary(row, int(row["m"]), sizes["d"], sizes["k"])
        line |= {name: float(row[f"calculus_{name}"]) for name in ("gap", "log10_n")}
        lines.append(line)
    below = sum(line["printed"] < 0 for line in lines)
    empty = sum(line["derived"] >= 0.99 * line["trivial"] for line in lines)
    span = {form: [min(v), max(v)] for form in FORMS if (v := [line[form] for line in lines])}
    sized = [line["log10_n"] for line in lines]
    vacuous = sum(line["gap"] >= config["bounds"]["clip"] for line in lines)
    n = int(trials["m"][0])
    return [
        Finding.of_question(
            "What does Corollary 4.1.1 say of these networks? (The paper does not evaluate it.)",
            f"At the trained norms and n = {n}, with constant 1, the printed value is negative in "
            f"{below} of {len(lines)} runs ({span['printed'][0]:.2g} to {span['printed'][1]:.2g}): "
            f"the logarithm is. Derived, it is {span['derived'][0]:.2g} to "
            f"{span['derived'][1]:.2g}, in {empty} runs no less than the largest output that the "
            "norms allow, so it says nothing. (Biases left out, heads counted by section 4.2.)",
            {"runs": lines},
        ),
        Finding.of_question(
            "What does the calculus' bound say at the trained norms?",
            f"For cross-entropy clipped at {config['bounds']['clip']:g}, it is vacuous at n = {n} "
            f"in {vacuous} of {len(lines)} runs; it falls to half the range at n from "
            f"10^{min(sized):.1f} to 10^{max(sized):.1f}.",
            {"runs": [{k: line[k] for k in ("T", "trial", "gap", "log10_n")} for line in lines]},
        ),
    ]


def _fitted(trials: Columns) -> np.ndarray:
    return trials["train_accuracy_last"] >= 1.0


def _batches(config: dict[str, Any]) -> int:
    """Steps of an epoch."""
    return config["protocol"]["training"]["schedule"]["every"]


def _scale(config: dict[str, Any]) -> str:
    return f"({config['variant'][0].upper()}{config['variant'][1:]}.)"
