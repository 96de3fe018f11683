"""The page that says which certificate to take, and the page on texts: numbers are the records'."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from dudley.certificates import side_by_side
from dudley.core.rounding import ceiling

ROOT = Path(__file__).parents[2]
RECORDS = ROOT / "results/certificates"


def record(name: str) -> dict[str, Any]:
    return json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8"))


def short(value: float) -> str:
    """As the page writes a number: three digits, rounded up, without the 0 before the point."""
    return f"{float(ceiling(value, 3)):.10f}".strip("0")


def values(task: str, method: str, n: int) -> list[float]:
    passes = (RECORDS / "one-pass.json", RECORDS / "one-pass-pools.json")
    rows = side_by_side.read(RECORDS / "methods.json", *passes).of(task, method, n)
    assert rows
    return [row.value for row in rows]


PICKS, SHARE = "pick-to-learn", "pick-to-learn after a share"
STATED = [
    ("mnist", "hold-out", 60_000), ("and", "hold-out", 1_000), ("and", "hold-out", 100_000),
    ("and", PICKS, 100_000), ("mnist", PICKS, 60_000), ("imdb", SHARE, 40_000),
    ("imdb", PICKS, 40_000), ("mnist", "occam", 60_000),
    ("mnist01", "hold-out", 10_000), ("mnist01", PICKS, 10_000), ("mnist", "pac-bayes", 60_000),
    ("mnist01", "pac-bayes", 10_000), ("imdb", "hold-out", 40_000), ("imdb", "one pass", 40_000),
    ("mnist01", "one pass", 10_000),
]  # fmt: skip


@pytest.mark.parametrize(("task", "method", "n"), STATED)
def test_numbers_of_methods_stand_on_the_page(task, method, n):
    page, numbers = (ROOT / "docs/which.md").read_text(encoding="utf-8"), values(task, method, n)
    for value in {min(numbers), max(numbers)}:
        assert f" {short(value)}" in page, short(value)


def test_numbers_of_a_pass_and_of_a_norm_cover_stand_on_the_page():
    page = (ROOT / "docs/which.md").read_text(encoding="utf-8")
    rows = record("one-pass")["rows"]
    bits = {row["value"] for row in rows if row["learner"] == "transformer"}
    assert [short(value) for value in bits] == [".0000503"] and ".0000503" in page
    covers = [
        cell["certificate"] for cell in record("norm-cover")["cells"]
        if cell["task"]["name"] == "and" and cell["n"] == 100_000 and cell["seed"] == 0
    ]  # fmt: skip
    assert any(f" {short(value)}" in page for value in covers)


def test_numbers_of_a_code_stand_on_the_page():
    page = (ROOT / "docs/which.md").read_text(encoding="utf-8")
    rows = [row["value"] for row in record("occam")["rows"] if row["case"] == "head and n=100000"]
    assert len(rows) == 3 and all(f" {short(value)}" in page for value in rows)


def test_language_models_on_reviews_keep_their_limits_and_stand_on_the_page():
    """Within .01 of the mean that was measured, and the totals below xz: the largest model."""
    page, made = (ROOT / "docs/which.md").read_text(encoding="utf-8"), record("language-reviews")
    whole = [row for row in made["rows"] if row["run"]["units"] == 0]
    largest = max(whole, key=lambda row: row["weights"])
    mean, totals = largest["forms"]["mean"], largest["forms"]["totals"]
    assert 20e6 <= largest["weights"] <= 100e6 and 2 * mean["counted"] > 49_000
    assert all(r["forms"]["mean"]["value"] - r["forms"]["mean"]["mean_loss"] <= 0.01 for r in whole)
    xz = next(each["totals"] for each in largest["beside"] if each["name"] == "xz -9, one file")
    assert totals["mean_loss"] < totals["value"] < xz
    assert f"{math.ceil(1000 * mean['value']) / 1000} bits per byte on reviews" in page
    assert f"{largest['weights'] / 1e6:.0f} million weights, .005 above" in page
    assert round(mean["value"] - mean["mean_loss"], 3) == 0.005


def test_the_record_of_a_language_model_keeps_its_limit_and_stands_on_its_page():
    made, page = record("language-pass"), (ROOT / "docs/howto/language.md").read_text("utf-8")
    for row in made["rows"]:
        mean, totals = row["forms"]["mean"], row["forms"]["totals"]
        assert row["n"] == 50_000 and mean["counted"] == 25_000
        assert mean["mean_loss"] < mean["value"] <= 2.0 and row["cpu_seconds"] <= 180
        assert totals["mean_loss"] < totals["value"]
        beside = {r["name"]: r["totals"] for r in row["beside"]}
        assert totals["value"] < beside["xz -9, one file"] < beside["gzip -9, one file"]
        for number in (mean["value"], totals["value"]):
            assert f" {math.ceil(1000 * number) / 1000:.3f} " in page
        for number in (beside["xz -9, one file"], beside["gzip -9, one file"]):
            assert f"{number:.3f}" in page
        assert f"{row['cpu_seconds']:.0f} processor seconds" in page
