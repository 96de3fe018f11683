"""What follows from the table of beyond-extrapolation: arm by arm, and no bound anywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import rankdata

from dudley.lab.experiment import Finding
from dudley.lab.experiments.beyond_extrapolation.experiment import ARMS, DRAWN, TRAINED, WAVES
from dudley.lab.experiments.beyond_extrapolation.longer import MOVES, OF, STAYS
from dudley.lab.finding import PaperReading
from dudley.lab.shared.beyond_readings import FEW, agreement
from dudley.lab.statistics.bootstrap import Scatter
from dudley.lab.statistics.proportions import clopper_pearson
from dudley.lab.statistics.rates import resampled

Columns = dict[str, np.ndarray]
PlanConfig = dict[str, Any]
POSITIONS = {
    TRAINED: "trained positions",
    DRAWN: "positions drawn beforehand",
    WAVES: "sinusoids as positions",
}
NO_BOUND = "no bound applies: other lengths are another law than that of the training examples"


def concluded(config: PlanConfig, table: Columns) -> list[Finding]:
    """All findings; of networks that learnt the task at T₀, but for their counts."""
    able = learnt(config, table)
    arms = {arm: of_arm(config, table, arm) for arm in ARMS}
    some = {name: column[able] for name, column in table.items()}
    rows = {cls: cells(config, some, cls) for cls in (STAYS, MOVES)}
    findings = [retention(config, some, arm, counts, rows) for arm, counts in arms.items()]
    return [*findings, attention(config, some, rows), answers(config, rows)]


def learnt(config: PlanConfig, table: Columns) -> np.ndarray:
    """Rows of networks that learnt the task: at T₀ their accuracy is at least the level."""
    first = (table["T"] == config["lengths"][0]) & (table["accuracy"] >= config["learnt"])
    names = set(zip(table["arm"][first], table["trial"][first], strict=True))
    pairs = zip(table["arm"], table["trial"], strict=True)
    return np.array([pair in names for pair in pairs])


def of_arm(config: PlanConfig, table: Columns, arm: str) -> dict[str, int]:
    """How many networks of an arm there are, learnt the task, and fit their training data."""
    first = of(table, arm=arm, cls=STAYS, T=config["lengths"][0])
    able = first["accuracy"] >= config["learnt"]
    return {
        "networks": len(able), "learnt": int(able.sum()), "fitted": int((first["train"] == 1).sum())
    }  # fmt: skip


def of(table: Columns, **setting: Any) -> Columns:
    """The rows of a setting, by trial."""
    there = np.all([table[name] == value for name, value in setting.items()], axis=0)
    order = np.argsort(table["trial"][there])
    return {name: column[there][order] for name, column in table.items()}


def cells(config: PlanConfig, table: Columns, cls: str) -> list[dict[str, Any]]:
    """Means and shares over networks, by arm and T."""
    T0, rows = config["lengths"][0], []
    for arm in ARMS:
        first = of(table, arm=arm, cls=cls, T=T0)
        count = len(first["accuracy"])
        for T in config["lengths"] if count else ():
            here = of(table, arm=arm, cls=cls, T=T)
            good = int((here["accuracy"] >= config["learnt"]).sum())
            share = list(clopper_pearson(good, count, config["level"]))
            rows.append(
                {"arm": arm, "T": T, "bound": "does not apply" if T > T0 else "not asked for"}
                | {name: mean(config, here[name]) for name in OF}
                | {"learnt": {"mean": good / count, "interval": share, "trials": count}}
                | {"difference": mean(config, here["accuracy"] - first["accuracy"])}
                | {"beyond dilution": mean(config, here["mass"] - here["diluted"])}
            )
    return rows


def mean(config: PlanConfig, values: np.ndarray) -> dict[str, Any]:
    """The mean over networks with the percentiles of the bootstrap."""
    draws, seed = config["bootstrap"]["draws"], config["bootstrap"]["seed"]
    _, [average], drawn = resampled(np.zeros(len(values)), values, draws, seed)
    scatter = Scatter.of(drawn[:, 0], config["level"])
    interval = [scatter.lowest, scatter.highest]
    return {"mean": float(average), "interval": interval, "trials": len(values)}


def retention(
    config: PlanConfig,
    table: Columns,
    arm: str,
    counts: dict[str, int],
    rows: dict[str, list[dict]],
) -> Finding:
    """Is the accuracy at the longest T that at the trained one?"""
    T0, most = config["lengths"][0], config["lengths"][-1]
    readings = []
    for cls in (STAYS, MOVES):
        first, last = (of(table, arm=arm, cls=cls, T=T) for T in (T0, most))
        masks = {"learnt": first["accuracy"] >= 0, "fitted": first["train"] == 1}
        for networks, mask in masks.items():
            choices = {"[CLS]": cls, "networks": networks}
            ends = first["accuracy"][mask], last["accuracy"][mask]
            for margin in config["margins"]:
                words = choices | {"criterion": f"mean within {margin:g}"}
                readings.append(by_mean(config, words, margin, *ends))
            words = choices | {"criterion": "nine in ten"}
            readings.append(by_share(config, words, *ends))
    said = "; ".join(f"[CLS] {cls}: {in_words(arm, rows[cls])}" for cls in (STAYS, MOVES))
    text = (
        "of {networks} networks {learnt} learnt the task, {fitted} fit their training data. Mean "
        "accuracy of those that learnt it, ".format(**counts)
        + f"{said}. {agreement(readings)}; {NO_BOUND}"
    )
    numbers: dict[str, Any] = dict(counts)
    for cls in (STAYS, MOVES):
        numbers[f"cells, {cls}"] = [row for row in rows[cls] if row["arm"] == arm]
    claim = f"With {POSITIONS[arm]}, accuracy at T = {most} is that at T = {T0}, as trained"
    return Finding.under_readings(claim, readings, text, numbers)


def in_words(arm: str, rows: list[dict]) -> str:
    """The means of an arm, T by T."""
    parts = [(row["accuracy"]["mean"], row["T"]) for row in rows if row["arm"] == arm]
    return ", ".join(f"{value:.3f} at T = {T}" for value, T in parts) or "there is none"


def by_mean(
    config: PlanConfig, choices: dict[str, str], margin: float, first, last
) -> PaperReading:
    """Each network is its own control."""
    if len(first) < FEW:
        return PaperReading.ours(choices, "undecided", networks=len(first))
    change = mean(config, last - first)
    low, high = change["interval"]
    apart = "refuted" if high < -margin or low > margin else "undecided"
    answer = "confirmed" if -margin < low and high < margin else apart
    numbers = {"difference": change["mean"], "interval": [low, high], "networks": len(first)}
    return PaperReading.ours(choices, answer, **numbers)


def by_share(config: PlanConfig, choices: dict[str, str], first, last) -> PaperReading:
    """Of these networks, which had the accuracy at first, how many have it still?"""
    still, count = int((last >= config["learnt"]).sum()), len(first)
    if count < FEW:
        return PaperReading.ours(choices, "undecided", networks=count)
    low, high = clopper_pearson(still, count, config["level"])
    apart = "refuted" if high < config["share"] else "undecided"
    answer = "confirmed" if low > config["share"] else apart
    return PaperReading.ours(choices, answer, still=still, interval=[low, high], networks=count)


def attention(config: PlanConfig, table: Columns, rows: dict[str, list[dict]]) -> Finding:
    """The diagnosis: attention on the hidden bits, and what dilution alone would leave of it."""
    T0, most = config["lengths"][0], config["lengths"][-1]
    words, ranks = [], []
    for arm in ARMS:
        ends = {row["T"]: row for row in rows[STAYS] if row["arm"] == arm}
        if not ends:
            continue
        rank = rank_correlation(config, of(table, arm=arm, cls=STAYS, T=most))
        ranks.append({"arm": arm, **rank})
        together = "is not defined, one of them being the same in all networks"
        if rank["correlation"] is not None:
            low, high = rank["interval"]
            together = f"{rank['correlation']:+.2f} [{low:+.2f}, {high:+.2f}]"
        beyond = ends[most]["beyond dilution"]
        low, high = beyond["interval"]
        words.append(
            f"{POSITIONS[arm]}: {ends[T0]['mass']['mean']:.3f} at T = {T0}, "
            f"{ends[most]['mass']['mean']:.3f} at T = {most}, where dilution alone would leave "
            f"{ends[most]['diluted']['mean']:.3f} (difference {beyond['mean']:+.3f} "
            f"[{low:+.3f}, {high:+.3f}]); rank correlation with accuracy there {together}"
        )
    question = "How much of [CLS]'s attention is left on the hidden bits?"
    return Finding.of_question(question, said(words, ". "), {"ranks": ranks})


def rank_correlation(config: PlanConfig, columns: Columns) -> dict[str, Any]:
    """Spearman's, of mass and accuracy over networks, with the percentiles of the bootstrap.

    A draw in which all networks agree in one of the two has none, and is left out.
    """
    mass, accuracy = columns["mass"], columns["accuracy"]
    n, source = len(mass), np.random.default_rng(config["bootstrap"]["seed"])
    whole = correlation(mass, accuracy)
    if whole is None:
        return {"correlation": None, "interval": [None, None], "networks": n}
    picked = source.integers(n, size=(config["bootstrap"]["draws"], n))
    drawn = [correlation(mass[rows], accuracy[rows]) for rows in picked]
    scatter = Scatter.of([value for value in drawn if value is not None], config["level"])
    return {"correlation": whole, "interval": [scatter.lowest, scatter.highest], "networks": n}


def correlation(x: np.ndarray, y: np.ndarray) -> float | None:
    """Spearman's; None where one of them is constant.

    >>> correlation(np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.5, 7.0]))
    1.0
    """
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    return round(float(np.corrcoef(rankdata(x), rankdata(y))[0, 1]), 12)


def answers(config: PlanConfig, rows: dict[str, list[dict]]) -> Finding:
    """What networks answer where they err."""
    T0, most = config["lengths"][0], config["lengths"][-1]
    words = []
    for arm in ARMS:
        ends = {row["T"]: row["ones"] for row in rows[STAYS] if row["arm"] == arm}
        if not ends:
            continue
        low, high = ends[most]["interval"]
        words.append(
            f"{POSITIONS[arm]}: {ends[T0]['mean']:.3f} at T = {T0}, {ends[most]['mean']:.3f} "
            f"[{low:.3f}, {high:.3f}] at T = {most}"
        )
    truth = 2.0 ** -config["parts"][0]["task"]["s"]
    question = f"How often is the answer 1, where {truth:g} of all examples have that label?"
    return Finding.of_question(question, said(words, "; "))


def said(words: list[str], between: str) -> str:
    """What was found of each arm, if of any."""
    return f"{between.join(words)} ([CLS] stays)" if words else "no network learnt the task"
