"""What the tables of li2026-excess say: rates with intervals, beside printed and derived bounds.

A printed bound is *violated* at n if the excess risk is larger: the exact one, or the whole
interval of a measured mean. A printed rate is *violated* if the excess risk falls more slowly than
the printed bound does on the same n, by more than the margin and beyond its interval; *consistent*
if it falls as fast, again by the whole interval; else *undecided*. For trained heads a violated
rate on a finite range would refute no bound by itself, and is told apart from a violated value.

What the statements leave open is the constant, where it is hidden: they are read with c = 1, by
value, and with any c, by the rate alone. Both are readings of every claim. A value that is nowhere
below the excess risk is *not contradicted*: far above the data, it reproduces nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dudley.lab.experiments.li2026_excess.classes import PROBLEMS
from dudley.lab.finding import UPHELD, Finding, PaperReading
from dudley.lab.statistics.rates import (
    Rate,
    exact_power,
    log_ratio,
    rate,
    rate_of_means,
    sound,
)

RecordRows = Sequence[Mapping[str, Any]]
CLAIMS = {
    "noisy constants": "Theorem 4.4, Corollary 4.5: excess risk O(log N/n), whatever the noise",
    "clear constants": "Corollary 4.5 where Bernstein's condition holds (bias 0.1)",
    "one-hot": "Theorems 5.3, 5.8: excess risk O(log n/n) for bounded norms, or ranks, noise-free",
    "narrow one-hot": "Theorems 5.3, 5.8 at a fixed width, noise-free",
    "noisy one-hot": "Theorems 5.3, 5.8: excess risk O(log n/n) with label noise",
    "two points": "Theorem 4.4: the approximation error counts once",
}
CONSTANT = "the constant"
RATES = {"consistent": "holds", "violated": "fails", "undecided": "undecided"}
LIFTS = {"square": "regression", "logistic": "classification"}


def findings(
    rules: Mapping[str, Any], classes: RecordRows, heads: RecordRows, bounds: RecordRows
) -> list[Finding]:
    """All of them: one a problem, one a kind of labels, robust losses and truncation, and the
    derived bounds."""
    conclusions = [
        of_class(rules, name, of_this_kind, bounds)
        for name, of_this_kind in grouped(classes, "problem")
    ]
    arms = [
        arm_of(rules, name, of_this_kind, bounds) for name, of_this_kind in grouped(heads, "arm")
    ]
    for kind in ("regression", "classification"):
        of_this_kind = [one for one in arms if one["kind"] == kind]
        if of_this_kind:
            conclusions.append(of_kind(kind, of_this_kind))
    conclusions += [of_variants(rules, heads, *what) for what in VARIANTS]
    return [one for one in conclusions if one is not None] + [of_derived(classes, arms, bounds)]


def judged(lowest: float, highest: float, printed: float, margin: float) -> str:
    """A measured exponent's interval against the printed exponent."""
    if lowest > printed + margin:
        return "violated"
    return "consistent" if highest <= printed + margin else "undecided"


def of_class(rules, name: str, rows: RecordRows, bounds: RecordRows) -> Finding:
    """One of the exact problems."""
    n, exact = column(rows, "n"), column(rows, "exact")
    apart = deviation(rows)
    fitted = (n >= rules["from"]) & (exact > 0)
    numbers: dict[str, Any] = {"problem": name, "formula_against_draws": apart, "table": []}
    power = PROBLEMS[name].rate
    if power is not None and fitted.sum() > 1 and exact.std() > 0:
        numbers["exact"] = exact_power(n[fitted], exact[fitted]).as_json()
        drawn = fitted & sound(column(rows, "mean"), column(rows, "error"))
        if drawn.sum() > 1:
            means, errors = column(rows, "mean")[drawn], column(rows, "error")[drawn]
            rate = rate_of_means(n[drawn], means, errors, rules["draws"], rules["seed"])
            numbers["drawn"] = interval(rate)
    for statement, of_statement in grouped([b for b in bounds if b["name"] == name], "statement"):
        printed = by_size(of_statement, "printed")
        if not printed:
            continue
        above = [int(k) for k, e in zip(n, exact, strict=True) if e > printed.get(k, np.inf)]
        line: dict[str, Any] = {"statement": statement, "violated_at": above}
        line["up_to_a_constant"] = any(b["up_to_a_constant"] for b in of_statement)
        common = [k for k in n[fitted] if printed.get(k, 0) > 0]
        if "exact" in numbers and len(common) > 1:
            law = exact_power(common, [printed[k] for k in common])
            line["printed"] = law.as_json()
            low, high = numbers["exact"]["local"]
            line["rate"] = judged(low, high, law.exponent, rules["slope_margin"])
        numbers["table"].append(line)
    readings = [one for line in numbers["table"] for one in readings_of(line)]
    return Finding.of_claim(CLAIMS[name], readings, class_text(numbers), numbers)


def readings_of(line: Mapping[str, Any]) -> list[PaperReading]:
    """A statement by its value, c = 1 where it hides a constant, and by its rate."""
    hidden, statement = line["up_to_a_constant"], line["statement"]
    paper = "hides a constant" if hidden else "prints every constant"
    at = {"violated_at": line["violated_at"]}
    value = "fails" if line["violated_at"] else UPHELD
    if "rate" not in line and not hidden:
        return [PaperReading.printed(value, statement=statement, **at)]
    choice, named, other = CONSTANT, "c = 1", "any c, by its rate"
    if not hidden:
        choice, named, other = "values or rates", "its value", "its rate"
    rate = RATES[line["rate"]] if "rate" in line else UPHELD if value == UPHELD else "undecided"
    return [
        PaperReading({"statement": statement, choice: named}, paper, value, at),
        PaperReading({"statement": statement, choice: other}, paper, rate),
    ]


def class_text(numbers: Mapping[str, Any]) -> str:
    """In words."""
    parts = []
    if "exact" in numbers:
        low, high = numbers["exact"]["local"]
        parts.append(
            f"the exact excess risk falls like n^{numbers['exact']['exponent']:.2f} "
            f"(local slopes {low:.2f} to {high:.2f}; {numbers['exact']['goodness']['against']})"
        )
    for line in numbers["table"]:
        where = (
            f"below the exact excess risk from n = {line['violated_at'][0]:,}"
            if line["violated_at"]
            else "never below it on this range"
        )
        slope = f", slope {line['printed']['exponent']:.2f}" if "printed" in line else ""
        c = " with c = 1" if line["up_to_a_constant"] else ""
        parts.append(f"{line['statement']} as printed{c} is {where}{slope}")
    return "; ".join(parts) + "."


def deviation(rows: RecordRows) -> float:
    """The largest distance of drawn means from exact values, in standard errors."""
    z = [
        (row["mean"] - row["exact"]) / row["error"]
        for row in rows
        if np.isfinite(row["mean"]) and row["error"] > 0
    ]
    return float(max(map(abs, z), default=0.0))


def arm_of(rules, name: str, rows: RecordRows, bounds: RecordRows) -> dict[str, Any]:
    """Rate, floor and bounds of one way to learn."""
    n, first = column(rows, "n").astype(int), rows[0]
    whole = rate(n, column(rows, "excess"), rules["draws"], rules["seed"], rules["level"])
    losses = column(rows, "own")
    line: dict[str, Any] = {key: first[key] for key in ("kind", "law", "noise", "loss")}
    line |= {"arm": name, "truncation": first["truncation"], "slope": interval(whole)}
    line["means"] = [
        {"n": a, "mean": b, "interval": [low, high]}
        for a, b, low, high in zip(whole.n, whole.means, whole.low, whole.high, strict=True)
    ]
    largest = n == n.max()
    line["cut"] = float(column(rows, "cut").mean())
    line["floor"] = None
    if first["kind"] == "regression" and first["noise"] == 0:
        line["floor"] = float(column(rows, "train_loss")[largest].mean() / losses[largest].mean())
    line["statements"] = []
    if np.isfinite(losses).all():
        mine = rate(n, losses, rules["draws"], rules["seed"], rules["level"])
        line["statements"] = [
            against(rules, mine, line["floor"], int(largest.sum()), statement, some)
            for statement, some in grouped([b for b in bounds if b["name"] == name], "statement")
        ]
    return line


def few(rules: Mapping[str, Any], trials: int) -> bool:
    """Too few trials a size for an interval by resampling?"""
    return trials < rules["least_trials"]


def against(
    rules, mine: Rate, floor: float | None, trials: int, statement: str, rows: RecordRows
) -> dict[str, Any]:
    """The excess risk of the trained loss beside a statement."""
    line: dict[str, Any] = {"statement": statement}
    line["up_to_a_constant"] = any(b["up_to_a_constant"] for b in rows)
    for form in ("printed", "derived", "best"):
        values = by_size(rows, form)
        if values:
            line[form] = [values[k] for k in mine.n]
            line[f"{form}_violated_at"] = [
                k for k, low in zip(mine.n, mine.low, strict=True) if low > values[k]
            ]
    if "printed" in line and min(line["printed"]) > 0:
        law = exact_power(mine.n, line["printed"])
        line["printed_law"] = law.as_json()
        line["rate"] = judged(mine.lowest, mine.highest, law.exponent, rules["slope_margin"])
        if floor is not None and floor > rules["floor"]:
            line["rate"] = "undecided"  # what is measured is how well it was trained
        if few(rules, trials):
            line["rate"] = "undecided"
    return line


def of_kind(kind: str, arms: Sequence[Mapping[str, Any]]) -> Finding:
    """Printed values and rates over all arms of regression or classification."""
    lines = [one for arm in arms for one in arm["statements"]]
    above = sum(bool(one.get("printed_violated_at")) for one in lines)
    rates = [one["rate"] for one in lines if "rate" in one]
    counts = {word: rates.count(word) for word in ("consistent", "violated", "undecided")}
    least = "undecided"
    if rates and counts["consistent"] == len(rates):
        least = "holds"
    elif counts["violated"]:
        least = "fails"
    paper = "hides constants"
    readings = [
        PaperReading({CONSTANT: "c = 1"}, paper, "fails" if above else UPHELD, {"above": above}),
        PaperReading({CONSTANT: "any c, by the rates"}, paper, least, counts),
    ]
    stuck = sum(arm["floor"] is not None for arm in arms)
    text = (
        f"{len(lines)} comparisons of trained heads with printed bounds (c = 1): the bound is "
        f"below the measured excess risk in {above}; the rate is consistent in "
        f"{counts['consistent']}, slower than printed in {counts['violated']}, undecided in "
        f"{counts['undecided']}."
    )
    if stuck:
        text += (
            " Without noise a minimiser has training loss 0; where the trained heads do not come "
            "near it, their excess risk is one of training, and no rate is told."
        )
    claim = f"li2026, sections 5 and 6, {kind}: the printed bounds hold and their rates are met"
    numbers = {"arms": list(arms), "rates": counts, "above": above}
    return Finding.of_claim(claim, readings, text, numbers)


# (title, column that varies, same data?)
VARIANTS = (
    ("What do robust losses (Catoni, log-truncated) do, against the plain loss?", "loss", True),
    ("What does truncating inputs do, against whole ones?", "truncation", False),
)


def of_variants(rules, heads: RecordRows, title: str, what: str, paired: bool) -> Finding | None:
    """Mean log ratio of excess risks (square, or logistic) of a variant to the plain one."""
    lines = []
    arms = dict(grouped(heads, "arm"))
    for name, rows in arms.items():
        plain = next((other for other in arms.values() if is_plain(rows[0], other[0], what)), None)
        if plain is None:
            continue
        n = column(rows, "n")
        excess, other = column(rows, "excess"), column(plain, "excess")
        scatter = log_ratio(n, excess, other, rules["draws"], rules["seed"], paired, rules["level"])
        inner = log_ratio(n, excess, other, rules["draws"], rules["seed"], paired, 0.9)
        margin = rules["ratio_margin"]
        word = "undecided"
        if few(rules, len(n) // len(np.unique(n))):
            word = "undecided: too few trials"
        elif scatter.highest < 0:
            word = "smaller"
        elif scatter.lowest > 0:
            word = "larger"
        within = word in ("undecided", "smaller", "larger")
        if within and -margin < inner.lowest and inner.highest < margin:
            word = "no different" if word == "undecided" else f"{word}, within the margin"
        ratio = {"log_ratio": float(np.median(scatter.values)), "margin": margin}
        ratio["interval"] = [scatter.lowest, scatter.highest]
        ratio["interval_of_the_test"] = [inner.lowest, inner.highest]  # 90 %
        lines.append({"arm": name, "against": plain[0]["arm"], "excess_is": word} | ratio)
    if not lines:
        return None
    counts = {word: sum(x["excess_is"] == word for x in lines) for x in lines
              for word in (x["excess_is"],)}  # fmt: skip
    text = "; ".join(f"{word} in {k}" for word, k in sorted(counts.items()))
    rule = (
        f"{rules['level']:.0%} intervals of the mean log ratio; no different: within "
        f"±{rules['ratio_margin']:g} by two one-sided tests, which is to say by 90 % intervals"
    )
    sentence = f"The excess risk is {text} of {len(lines)} ({rule})."
    return Finding.of_question(title, sentence, {"comparisons": lines})


def is_plain(row: Mapping[str, Any], other: Mapping[str, Any], what: str) -> bool:
    """Does ``other`` differ from the row in this alone, and is it plain there?"""
    same = all(row[key] == other[key] for key in ("kind", "law", "noise"))
    rest = "truncation" if what == "loss" else "loss"
    plain = other["loss"] in LIFTS if what == "loss" else other["truncation"] == "whole"
    return same and row[rest] == other[rest] and plain and row[what] != other[what]


def of_derived(
    classes: RecordRows, arms: Sequence[Mapping[str, Any]], bounds: RecordRows
) -> Finding:
    """Is a derived bound ever below what it bounds?"""
    exact = {(row["problem"], row["n"]): row["exact"] for row in classes}
    sound = [b for b in bounds if b["form"] != "printed"]
    broken = [
        {key: b[key] for key in ("name", "n", "statement", "form", "value")}
        for b in sound
        if exact.get((b["name"], b["n"]), -np.inf) > b["value"]
    ]
    for arm in arms:
        for statement in arm["statements"]:
            for form in ("derived", "best"):
                broken += [
                    {"name": arm["arm"], "n": k, "statement": statement["statement"], "form": form}
                    for k in statement.get(f"{form}_violated_at", [])
                ]
    telling = sum(b["value"] < b["trivial"] * (1 - 1e-9) for b in sound)
    text = (
        f"{len(sound)} evaluations of derived bounds, {telling} of them below the trivial bound: "
        f"{len(broken) or 'none'} below the excess risk."
    )
    answer = "refuted" if broken else "confirmed" if telling else "undecided"
    numbers = {"broken": broken, "evaluations": len(sound), "telling": telling}
    return Finding.of_hypothesis("The derived bounds hold", answer, text, numbers)


def grouped(rows: Iterable[Mapping[str, Any]], key: str) -> list[tuple[str, list]]:
    """Rows by the value of a column, in order of appearance."""
    groups: dict[str, list] = {}
    for row in rows:
        groups.setdefault(row[key], []).append(row)
    return list(groups.items())


def by_size(rows: RecordRows, form: str) -> dict[int, float]:
    """Values of a form by n."""
    return {row["n"]: row["value"] for row in rows if row["form"] == form}


def column(rows: RecordRows, name: str) -> np.ndarray:
    return np.array([np.nan if row[name] is None else row[name] for row in rows], dtype=float)


def interval(rate: Rate) -> dict[str, Any]:
    """An exponent, its interval, and the test of the law."""
    return {
        "slope": rate.slope,
        "interval": [rate.lowest, rate.highest],
        "goodness": rate.goodness.as_json(),
    }
