"""What the calculus gained: nothing in the record got worse, and only what moved is listed."""

from __future__ import annotations

from pathlib import Path

from dudley.show.generated import gains
from dudley.theorems import registry

RECORD = gains.load(Path(__file__).parents[2] / "results/calculus/gains.json")


def test_nothing_got_worse():
    assert RECORD.before["statements"].keys() == RECORD.after["statements"].keys()
    assert {row[0] for row in RECORD.changed} <= set(registry.load())
    assert all(new < old for _, _, old, new in RECORD.changed)
    assert "all-MiniLM-L6-v2" in RECORD.after["networks"]  # a checkpoint, besides the shipped ones
    for name, row in RECORD.after["networks"].items():
        assert row["log10 n"] <= RECORD.before["networks"][name]["log10 n"]
        assert row["log10 n, no training error"] < row["log10 n"]


def test_the_record_is_that_of_these_rules():
    name, form, _, new = RECORD.changed[0]
    statement = registry.load()[name]
    assert abs(statement.evaluate_on(statement.example, form).value / new - 1) < 1e-12


def test_only_what_moved_is_listed():
    made = gains.gains_section(RECORD)
    assert "`mwigo2026/lemma-1` | best |" in made
    still = RECORD.after["statements"].keys() - {row[0] for row in RECORD.changed}
    assert still and not any(f"`{name}`" in made for name in still)
