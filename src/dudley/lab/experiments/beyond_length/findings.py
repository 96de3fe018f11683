"""What follows from the tables of beyond-length, arm by arm."""

from __future__ import annotations

from typing import Any

import numpy as np

from dudley.lab.experiment import Finding
from dudley.lab.experiments.beyond_length.arms import BALLS, FIXED, FREE, fill
from dudley.lab.shared.beyond_readings import accuracies, agreement, prices
from dudley.lab.shared.beyond_trained import cells, flat, in_words, trend, validity

Columns = dict[str, np.ndarray]
OF = ("train", "holdout", "steps", "gap", "log10_needed_n")
ROUNDING = 1e-6  # of float32 projections, far below the slack that bounds add to radii
WHERE = {FREE: "", BALLS: ", in balls", FIXED: ", in balls with fixed positions"}


def concluded(config: dict[str, Any], table: Columns, fixed: Columns) -> list[Finding]:
    """All findings."""
    findings = []
    arms = table.get("arm", np.full(len(table["T"]), FREE))
    for arm in (FREE, BALLS, FIXED):
        for name in config["tasks"]:
            part = (table["task"] == name) & (arms == arm)
            if part.any():
                findings.append(accuracy(config, table, name, arm, part))
                if arm == FREE:
                    findings.append(price(config, table, name, part))
    if (arms != FREE).any():
        findings += [at_radii(config, table, arms), inside(table, arms)]
    findings.append(norms_of_one_run(config, fixed))
    return [*findings, validity(table)]


def accuracy(config, table: Columns, name: str, arm: str, part: np.ndarray) -> Finding:
    """Of one task in one arm."""
    decades = np.log10(table["T"])
    fitted = table["train"][part] == 1
    line = trend(decades[part], table["holdout"][part], config["accuracy_margin"])
    by = ("task", "arm", "T") if "arm" in table else ("task", "T")
    rows = cells({n: column[part] for n, column in table.items()}, by, OF)
    ends = ", ".join(f"{row['holdout']['mean']:.3f} at T = {row['T']}" for row in rows)
    claim = f"Sparse {name}{WHERE[arm]}: held-out accuracy does not depend on T at fixed m"
    text = (
        f"change of accuracy per decade of T: {in_words(line)}; training data fitted in "
        f"{fitted.mean():.0%} of runs; the hold-out is looked at once, at the end"
    )
    numbers = {"cells": rows, "trend": line, "fitted": float(fitted.mean())}
    if "accuracy_margins" not in config:
        return Finding.of_hypothesis(claim, flat(line), text, numbers)
    readings = accuracies(table, decades, config["accuracy_margins"], part)
    text += f"; means {ends}; {agreement(readings)}"
    return Finding.under_readings(claim, readings, text, numbers)


def grows(line) -> str:
    """The answer to "does not grow", from a trend."""
    return "confirmed" if line["interval"][1] < 0 else flat(line)


def price(config, table: Columns, name: str, part: np.ndarray) -> Finding:
    """The n that the bound at the trained norms asks for."""
    decades, margin = np.log10(table["T"]), config["price_margin"]
    line = trend(decades[part], table["log10_needed_n"][part], margin)
    by = ("task", "arm", "T") if "arm" in table else ("task", "T")
    rows = cells({n: column[part] for n, column in table.items()}, by, OF)
    claim = f"Sparse {name}: the derived bound at the trained norms does not grow with T"
    text = f"change of log₁₀ n, of the n it asks for, per decade of T: {in_words(line)}"
    numbers = {"cells": rows, "trend": line}
    if "bound_margin" not in config:
        return Finding.of_hypothesis(claim, grows(line), text, numbers)
    readings = prices(table, decades, margin, grows, part)
    text += f"; {agreement(readings)}"
    return Finding.under_readings(claim, readings, text, numbers)


def at_radii(config, table: Columns, arms: np.ndarray) -> Finding:
    """The n asked for at the declared radii, which are the same at every T."""
    rows, moved = [], {}
    for arm in (BALLS, FIXED):
        some = {name: column[arms == arm] for name, column in table.items()}
        for column in (name for name in table if name.startswith("log10_needed_n")):
            by_T = {int(T): float(n) for T, n in zip(some["T"], some[column], strict=True)}
            if all(map(np.isfinite, by_T.values())):
                moved[arm, column] = max(by_T.values()) - min(by_T.values())
                rows += [{"arm": arm, "bound": column, "T": T, "log10 n": n}
                         for T, n in sorted(by_T.items())]  # fmt: skip
    margin = config["price_margin"]
    still = {arm: [m for (a, _), m in moved.items() if a == arm] for arm in (BALLS, FIXED)}
    apart = max(still[FIXED]) < margin < min(still[BALLS])
    words = "; ".join(
        f"{arm}: " + ", ".join(f"10^{r['log10 n']:.2f} at T = {r['T']}" for r in rows
                               if r["arm"] == arm and r["bound"] == "log10_needed_n")
        for arm in (BALLS, FIXED)
    )  # fmt: skip
    return Finding.of_hypothesis(
        "At declared radii, the same at every T, the bound does not grow with T unless positions "
        "are trained",
        "confirmed" if apart else "refuted",
        f"the n it asks for, {words}; over the range log₁₀ n moves by {max(still[FIXED]):.3f} with "
        f"fixed positions and by {min(still[BALLS]):.3f} or more with trained ones (margin "
        f"{margin:g}, at both margins of the ramp)",
        {"bounds": rows},
    )


def inside(table: Columns, arms: np.ndarray) -> Finding:
    """Are the confined networks where the bound says that they are?"""
    confined = np.flatnonzero(arms != FREE)
    shares = [fill({name: column[i] for name, column in table.items()}) for i in confined]
    most = max(shares)
    return Finding.of_hypothesis(
        "Every confined network lies in its declared balls",
        "confirmed" if most <= 1 + ROUNDING else "refuted",
        f"of {len(shares)} networks the largest norm over its radius is {most:.7f}, and it is "
        f"above .999 in {sum(share > 0.999 for share in shares)}: there a ball binds",
        {"largest": most},
    )


def norms_of_one_run(config, fixed: Columns) -> Finding:
    """The norms of one run, held fixed while T grows."""
    low, high = min(fixed["T"]), max(fixed["T"])
    moved = {name: float(np.ptp(fixed[name])) for name in ("trained", "fixed")}
    margin = config["price_margin"]
    apart = moved["fixed"] < margin < moved["trained"]
    return Finding.of_hypothesis(
        "At fixed norms the bound does not depend on T unless positions are trained",
        "confirmed" if apart else "refuted",
        f"from T = {low} to {high}, log₁₀ of the n it asks for moves by "
        f"{moved['fixed']:.3f} with fixed positions and by {moved['trained']:.3f} with "
        f"trained ones (margin {margin:g})",
        {"moved": moved} | {name: fixed[name].tolist() for name in ("T", *moved)},
    )
