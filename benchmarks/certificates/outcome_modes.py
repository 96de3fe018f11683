"""The other modes of outcomes on the two real tables of `outcomes.py`: how often each fails.

    DUDLEY_DATA=FOLDER python benchmarks/certificates/outcome_modes.py \
        --out results/certificates/outcome-modes.json

1,000 samples of 2,000 rows (of units: 200 units) with replacement, δ = .1, so that the table is the
population. Exact binomials are counted by their tails, as there; for fixed bets and for streams the
package's own code runs. A stream is looked at after every outcome: the bound fails if it is ever
below the error, the alarm if it ever comes at a level that is the error. Leaky variants stand
beside: the best of nine rules unpriced, rows of a unit as draws, Clopper and Pearson at every look.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

sys.path.insert(0, str(Path(__file__).parent))
from outcomes import CUTS, RealTable, below, last_passed, loans, payments

from dudley.calculus.inversion import binomial_lower
from dudley.certificates.methods.prequential.grid import BETS, WEIGHTS
from dudley.certificates.outcomes.difference import difference_upper
from dudley.certificates.outcomes.mean import mean_upper
from dudley.certificates.outcomes.question import LossQuestion
from dudley.certificates.outcomes.units import unit_first, unit_means
from dudley.certificates.stream.alarm import ALARMS
from dudley.core.provenance import provenance

δ, SAMPLES, ROWS, UNITS = 0.1, 1000, 2000, 200
C = -math.log(δ)
Fails = Callable[[RealTable, np.random.Generator], bool]


def rows_of(table: RealTable, rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, len(table.wrong), ROWS)


def lower_end(table: RealTable, rng: np.random.Generator) -> bool:
    wrong = table.wrong[rows_of(table, rng)]
    return below(ROWS - wrong.sum(), ROWS, 1 - table.wrong.mean(), δ)


def tests_of_slices(table: RealTable, rng: np.random.Generator) -> bool:
    """Holm's rule at a level that is the risk of the slice in the middle."""
    rows, codes, S = rows_of(table, rng), table.group.codes, len(table.group)
    rates = np.bincount(codes, table.wrong, S) / table.group.counts
    level = np.sort(rates)[S // 2]
    n, k = np.bincount(codes[rows], minlength=S), np.bincount(codes[rows], table.wrong[rows], S)
    left = n > 0
    while (done := left & below(k, n, np.full(S, level), δ / max(1, left.sum()))).any():
        if (rates[done] >= level).any():
            return True
        left &= ~done
    return False


@cache
def gate(table: RealTable) -> tuple[float, list[float]]:
    """The risk at the threshold in the middle, and the share that is answered at each."""
    masks = [table.score >= cut for cut in CUTS]
    risks = [table.wrong[mask].mean() for mask in masks if mask.any()]
    return float(np.median(risks)), [mask.mean() for mask in masks]


def coverage(table: RealTable, rng: np.random.Generator) -> bool:
    """Of the lowest threshold that a chain passes."""
    rows, (level, truth) = rows_of(table, rng), gate(table)
    answered = table.score[rows] >= CUTS[:, None]
    m, k = answered.sum(1), (answered & table.wrong[rows]).sum(1)
    i = last_passed(k, m, level)
    if i is None:
        return False
    return binomial_lower(int(m[i]), ROWS, C + math.log(len(CUTS))) > truth[i]


def chosen(share: float) -> Fails:
    """The rule with the fewest errors, at this share of δ."""

    def fails(table: RealTable, rng: np.random.Generator) -> bool:
        rows = rows_of(table, rng)
        k = table.candidates[:, rows].sum(1)
        truth = table.candidates.mean(1)
        return below(k.min(), ROWS, truth[k.argmin()], δ * share)

    return fails


def losses(table: RealTable, rng: np.random.Generator) -> bool:
    """Wrong answers weigh more the surer they are."""
    z = table.wrong * (1 + table.score) / 2
    return mean_upper(z[rows_of(table, rng)], C, False) < z.mean()


def difference_of_losses(table: RealTable, rng: np.random.Generator) -> bool:
    weight, rows = (1 + table.score) / 2, rows_of(table, rng)
    new, old = table.wrong * weight, table.old * weight
    upper = difference_upper(LossQuestion(new[rows], False, C), old[rows])
    return upper < (new - old).mean()


@cache
def wrong_by_unit(table: RealTable) -> tuple[list[np.ndarray], float]:
    """The errors of the rows of each unit, and the mean over units."""
    sort, counts = np.argsort(table.unit, kind="stable"), np.bincount(table.unit)
    units = np.split(table.wrong[sort] * 1.0, np.cumsum(counts)[:-1])
    return units, float(np.mean([unit.mean() for unit in units]))


def of_units(way: str) -> Fails:
    """200 units with replacement, each with its rows."""

    def fails(table: RealTable, rng: np.random.Generator) -> bool:
        units, truth = wrong_by_unit(table)
        drawn = [units[u] for u in rng.integers(0, len(units), UNITS)]
        unit, z = np.repeat(np.arange(UNITS), list(map(len, drawn))), np.concatenate(drawn)
        if way == "rows":
            return below(z.sum(), len(z), truth, δ)
        if way == "first":
            return below(unit_first(z, unit, int(rng.integers(1 << 32))).sum(), UNITS, truth, δ)
        return mean_upper(unit_means(z, unit), C, False) < truth

    return fails


def watched(table: RealTable, rng: np.random.Generator) -> bool:
    """Is the bound below the error after any outcome? Where Σ w Π (1 − θX)/(1 − θp) is 1/δ."""
    x, p = table.wrong[rows_of(table, rng)] * 1.0, table.wrong.mean()
    logs = np.cumsum(np.log1p(-np.outer(BETS, x)) - np.log1p(-BETS * p)[:, None], axis=1)
    return bool((WEIGHTS @ np.exp(logs) >= 1 / δ).any())


def alarm(kind: str) -> Fails:
    def fails(table: RealTable, rng: np.random.Generator) -> bool:
        x = table.wrong[rows_of(table, rng)] * 1.0
        return ALARMS[kind](float(table.wrong.mean()), 1 / δ).add(x) is not None

    return fails


def every_look(table: RealTable, rng: np.random.Generator) -> bool:
    wrong = table.wrong[rows_of(table, rng)]
    n = np.arange(1, ROWS + 1)
    return bool((stats.binom.cdf(np.cumsum(wrong), n, table.wrong.mean()) < δ).any())


MODES: dict[str, Fails] = {
    "lower end": lower_end, "tests of slices": tests_of_slices, "coverage": coverage,
    "candidates": chosen(1 / 9), "candidates, unpriced": chosen(1),
    "losses": losses, "difference of losses": difference_of_losses,
    "units, mean": of_units("mean"), "units, first": of_units("first"),
    "units, rows as draws": of_units("rows"),
    "watch": watched, "alarm ever": alarm("ever"), "alarm mean": alarm("mean"),
    "watch, Clopper and Pearson at every look": every_look,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    record: dict[str, Any] = {"benchmark": "outcome modes", "delta": δ, "samples": SAMPLES}
    record |= {"n": ROWS, "units": UNITS}
    for build in (loans, payments):
        table = build()
        failed = record[table.name] = {"rows": len(table.wrong), "error": table.wrong.mean()}
        for name, fails in MODES.items():
            rng = np.random.default_rng(0)
            failed[name] = sum(bool(fails(table, rng)) for _ in range(SAMPLES))
            print(table.name, name, failed[name], flush=True)
    record["provenance"] = provenance()
    options.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
