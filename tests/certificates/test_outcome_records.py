"""The records of outcomes on two real tables: what fails, what is tighter, and how fast it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from certificates.validity import allowed, leaks

RESULTS = Path(__file__).parents[2] / "results/certificates"
TABLES = ("loans", "payments")
LEAKY = {
    "outcomes": ("slices, unsplit", "gate, chosen freely"),
    "outcome-modes": ("units, rows as draws", "watch, Clopper and Pearson at every look"),
}
UNPRICED = "candidates, unpriced"  # nine cuts of one column: nearly one rule, so it fails by less
FACTS = ("rows", "error", "level")


def record(name: str) -> dict[str, Any]:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def failures(name: str, table: str) -> dict[str, int]:
    counts = record(name)[table]
    counts = counts.get("failures", counts)
    return {mode: failed for mode, failed in counts.items() if mode not in FACTS}


def test_every_mode_fails_as_often_as_it_may_and_leaky_twins_more_often():
    for name, leaky in LEAKY.items():
        of = record(name)
        assert of["samples"] >= 1000
        for table in TABLES:
            for mode, failed in failures(name, table).items():
                if mode not in (*leaky, UNPRICED):
                    assert allowed(failed, of["samples"], of["delta"]), (table, mode, failed)
        for mode in leaky:
            worst = max(failures(name, table)[mode] for table in TABLES)
            assert leaks(worst, of["samples"], of["delta"]), (mode, worst)
    unpriced = failures("outcome-modes", "payments")[UNPRICED]
    assert not allowed(unpriced, 1000, 0.1), unpriced


def test_slices_are_never_looser_than_others_and_a_tenth_tighter_than_hoeffding():
    """Where a mean bound is not, not even bounds that do not hold together are."""
    of = record("outcomes")
    for table in TABLES:
        for part in ("whole", "part"):
            row = of[table][part]
            assert row["never_looser_than_hoeffding_bentkus"] and row["never_looser_than_binary"]
            assert row["tighter_than_bonferroni_hoeffding"]["excess_over_the_observed_share"] >= 0.1
        tighter = of[table]["whole"]["tighter_than_bonferroni_hoeffding"]
        assert tighter["mean_bound"] >= 0.1 or tighter["mean_bound_if_unsplit"] < 0.1, table
    assert of["mapie"]["tables"] >= 1000 and of["mapie"]["largest_difference"] <= 1e-12


def test_the_speeds_that_were_set_before():
    table = record("outcomes-speed")
    assert (table["rows"], table["slices"]) == (10**6, 50)
    assert table["seconds"] < 5 and table["memory_over_table"] < 3
    rates = record("watch-speed")["lines_a_second"].values()
    assert min(rate for kinds in rates for rate in kinds.values()) >= 10**5
