"""What follows from the rankings: the control, five hypotheses, and what was left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dudley.lab.experiment import Finding
from dudley.lab.experiments.which_bound.ranking import (
    GROUPS,
    RankedMeasure,
    TableColumns,
    quantile,
    ranked,
    shuffled,
    spread,
)

PLAIN, SIZE = "sum of column norms", "reciprocal of m"
FLAT = "flatness"
OF_OUTPUTS = (
    "margin", "normalised margin", "sharpness", "flatness", "relative flatness", "PAC-Bayes",
    "Occam", "random", "training loss", "steps", "calculus",
)  # fmt: skip
REACHED, ALONG, ERRS = 0.5, 0.1, 0.5  # what H2, H3 and H5 speak of
TwoEnds = Sequence[float]


def concluded(table: TableColumns, refusals: TableColumns, draws: int, seed: int) -> list[Finding]:
    """All findings, from the tables alone."""
    groups = {group: ranked(table, group, draws, seed) for group in GROUPS}
    every = [ranking for some in groups.values() for ranking in some]
    z = quantile(len(every))
    return [
        best(every, z),
        control(table, every, z, draws, seed),
        plain_sum([groups["heads"], groups["blocks"]], z),
        weak([*groups["heads"], *groups["blocks"]], z),
        depth(groups["blocks"], z),
        flat(groups["pre-norm"], z),
        fragile(every, z),
        beyond_size([groups["heads"], groups["blocks"]], z),
        apart(table),
        silent(refusals),
    ]


def published(name: str) -> bool:
    """Is it a statement of the registry?"""
    return "/" in name and name.rpartition(" ")[2] in ("printed", "derived", "best")


def decided(intervals: Sequence[TwoEnds], limit: float) -> str:
    """Are all numbers below a limit, by their intervals?"""
    if not intervals or any(np.isnan(end) for pair in intervals for end in pair):
        return "undecided"
    if all(high < limit for _, high in intervals):
        return "confirmed"
    return "refuted" if any(low > limit for low, _ in intervals) else "undecided"


def best(every: list[RankedMeasure], z: float) -> Finding:
    """Every measure in every group, the highest τ first."""
    rows = [ranking.row(z) for ranking in sorted(every, key=lambda ranking: -ranking.value("τ"))]
    words = []
    for group in GROUPS:
        some = [row for row in rows if row["group"] == group]
        first = [f"{row['measure']} {shown(row['τ'], row['interval'])}" for row in some[:3]]
        bound = next((row for row in some if published(row["measure"])), None)
        if bound is not None:
            first.append(f"the first published bound, {bound['measure']}, "
                         f"{shown(bound['τ'], bound['interval'])}")  # fmt: skip
        words.append(f"{group}: {', '.join(first)}" if some else f"{group}: nothing to rank")
    error = max((ranking.error("τ") for ranking in every), default=np.nan)
    text = f"τ with the gap. {'; '.join(words)}. The largest standard error of a τ is {error:.3f}"
    numbers = {"ranking": rows, "rankings": len(rows), "z": z, "largest_error": error}
    return Finding.of_question("Which measures rank the gaps best?", text, numbers)


def control(
    table: TableColumns, every: list[RankedMeasure], z: float, draws: int, seed: int
) -> Finding:
    """The random number, and shuffled gaps."""
    random = [ranking for ranking in every if ranking.name == "random"]
    drawn = [
        {"group": ranking.group, "τ": ranking.value("τ"), "interval": ranking.interval("τ", z)}
        for ranking in random
    ]
    outside, largest, count = [], 0.0, 0
    for group in GROUPS:
        for name, τ, error in shuffled(table, group, draws, seed):
            count, largest = count + 1, max(largest, abs(τ))
            if abs(τ) > z * error:
                outside.append(f"{group}, {name}: {τ:+.3f}")
    wrong = [row for row in drawn if not row["interval"][0] <= 0 <= row["interval"][1]]
    words = ", ".join(f"{row['group']} {shown(row['τ'], row['interval'])}" for row in drawn)
    text = (
        f"the random number: {words or 'not ranked'}; with shuffled gaps {len(outside)} of {count} "
        f"measures have a τ outside their interval around 0, and the largest |τ| is {largest:.3f}"
    )
    answer = "undecided" if not count else "refuted" if wrong or outside else "confirmed"
    claim = "Control: a random number, and every measure with shuffled gaps, has τ = 0."
    return Finding.of_hypothesis(claim, answer, text, {"random": drawn, "outside": outside})


def plain_sum(groups: list[list[RankedMeasure]], z: float) -> Finding:
    """H1."""
    claim = (
        "H1: the plain sum of column norms ranks gaps better than every published bound (heads, "
        "blocks)."
    )
    return better(claim, groups, PLAIN, published, z)


def flat(pre_norm: list[RankedMeasure], z: float) -> Finding:
    """H4."""
    claim = "H4: flatness ranks gaps better than every measure of weights alone (pre-norm)."
    return better(claim, [pre_norm], FLAT, lambda name: name not in OF_OUTPUTS, z)


def beyond_size(groups: list[list[RankedMeasure]], z: float) -> Finding:
    """Asked after the laptop's record had been seen."""
    question = "Does a published bound rank gaps better than 1/m alone (heads, blocks)?"
    rows = differences(groups, SIZE, published, z)
    return Finding.of_question(question, compared(rows, SIZE), {"differences": rows})


def better(
    claim: str, groups: list[list[RankedMeasure]], name: str, against: Callable, z: float
) -> Finding:
    """Is τ of one measure above those of others of its group?"""
    rows = differences(groups, name, against, z)
    answer = decided([row["interval"] for row in rows], 0.0)
    return Finding.of_hypothesis(claim, answer, compared(rows, name), {"differences": rows})


def differences(
    groups: list[list[RankedMeasure]], name: str, against: Callable, z: float
) -> list[dict[str, Any]]:
    """τ of other measures less that of one, drawn together, the largest first."""
    rows = []
    for some in groups:
        mine = next((ranking for ranking in some if ranking.name == name), None)
        others = [ranking for ranking in some if ranking.name != name and against(ranking.name)]
        for other in others if mine is not None else []:
            difference = other.draws["τ"] - mine.draws["τ"]  # pyright: ignore
            value, half = float(difference[0]), z * spread(difference[1:])
            row = {"group": other.group, "measure": other.name, "difference": value}
            rows.append(row | {"interval": [value - half, value + half]})
    return sorted(rows, key=lambda row: -row["difference"])


def compared(rows: list[dict[str, Any]], name: str) -> str:
    """Such differences in words."""
    above = sum(row["interval"][0] > 0 for row in rows)
    below = sum(row["interval"][1] < 0 for row in rows)
    text = (
        f"of {len(rows)} rankings {below} are shown to be worse than that by {name}, {above} better"
    )
    if rows:
        first = rows[0]
        text += f"; the highest τ, of {first['measure']} ({first['group']}), differs by "
        text += shown(first["difference"], first["interval"])
    return text


def weak(papers: list[RankedMeasure], z: float) -> Finding:
    """H2."""
    some = [
        ranking
        for ranking in papers
        if published(ranking.name) and not ranking.name.endswith("printed")
    ]
    pairs = [ranking.interval("τ", z) for ranking in some]
    first = max(some, key=lambda ranking: ranking.value("τ"), default=None)
    text = f"{len(some)} forms were ranked"
    if first is not None:
        text += f"; the highest τ is that of {first.name} ({first.group}), "
        text += shown(first.value("τ"), first.interval("τ", z))
    claim = f"H2: no published bound, derived or best, reaches τ = {REACHED} (heads, blocks)."
    return Finding.of_hypothesis(claim, decided(pairs, REACHED), text)


def depth(blocks: list[RankedMeasure], z: float) -> Finding:
    """H3."""
    rows = []
    for ranking in blocks:
        draws = ranking.along.get("depth", np.array([np.nan]))
        if published(ranking.name) and not np.isnan(draws[0]):
            value, half = float(draws[0]), z * spread(draws[1:])
            row = {"measure": ranking.name, "ψ": value}
            rows.append(row | {"interval": [value - half, value + half]})
    rows.sort(key=lambda row: -row["ψ"])
    answer = decided([row["interval"] for row in rows], ALONG)
    text = f"{len(rows)} forms were evaluated at more than one depth"
    if rows:
        first, last = rows[0], rows[-1]
        text += f"; ψ_depth goes from {shown(last['ψ'], last['interval'])} ({last['measure']}) "
        text += f"to {shown(first['ψ'], first['interval'])} ({first['measure']})"
    claim = f"H3: along depth alone no published bound orders gaps rightly (ψ below {ALONG})."
    return Finding.of_hypothesis(claim, answer, text, {"depth": rows})


def fragile(every: list[RankedMeasure], z: float) -> Finding:
    """H5."""
    some = [ranking for ranking in every if not np.isnan(ranking.worst[0])]
    intervals = [ranking.interval("worst", z) for ranking in some]
    answer = decided([(-high, -low) for low, high in intervals], -ERRS)
    sturdy = min(some, key=lambda ranking: ranking.worst[0], default=None)
    text = f"of {len(some)} rankings {sum(low > ERRS for low, _ in intervals)} are shown to"
    if sturdy is not None:
        text += f"; the least largest sign error is that of {sturdy.name} ({sturdy.group}), "
        text += shown(sturdy.worst[0], sturdy.interval("worst", z)) + f" at {sturdy.worst[1]}"
    claim = "H5: every measure errs in at least half of the pairs of some environment."
    return Finding.of_hypothesis(claim, answer, text)


def apart(table: TableColumns) -> Finding:
    """The models that did not reach the training loss."""
    rows, missed = [], table["reached"] == 0
    keys = zip(table["family"], table["task"], table["depth"], strict=True)
    cells = np.array(["\t".join(map(str, key)) for key in keys])
    for cell in np.unique(cells):
        of_cell = cells == cell
        family, task, level = cell.split("\t")
        rows.append({
            "family": family, "task": task, "depth": int(level), "models": int(of_cell.sum()),
            "apart": int((of_cell & missed).sum()), "gap": float(table["gap"][of_cell].mean()),
        })  # fmt: skip
    text = (
        f"{int(missed.sum())} of {len(missed)} models did not, and are ranked nowhere; the gaps of "
        f"the others have mean {table['gap'][~missed].mean():.3f} and standard deviation "
        f"{table['gap'][~missed].std():.3f}"
    )
    question = "Which models did not reach the training loss?"
    return Finding.of_question(question, text, {"reached": rows})


def silent(refusals: TableColumns) -> Finding:
    """The statements that have no number on some models, and why."""
    columns = ("family", "statement", "reason", "models")
    each = zip(*(refusals[name].tolist() for name in columns), strict=True)
    rows: list[dict[str, Any]] = [dict(zip(columns, row, strict=True)) for row in each]
    of_blocks = {row["statement"] for row in rows if row["family"] == "blocks"}
    text = (
        f"{len(of_blocks)} of them have no number on some of the papers' networks, for the reasons "
        "below; none speaks of pre-norm Transformers: no class has residual branches, norm layers, "
        "MLPs or trained positions"
    )
    whole = [row for row in rows if row["family"] == "blocks"]
    question = "Which statements cannot be evaluated on a trained network, and why?"
    return Finding.of_question(question, text, {"refusals": whole})


def shown(value: float, interval: Sequence[float]) -> str:
    """A number with its interval.

    >>> shown(0.25, [0.1, 0.4])
    '+0.25 [+0.10, +0.40]'
    """
    return f"{value:+.2f} [{interval[0]:+.2f}, {interval[1]:+.2f}]"
