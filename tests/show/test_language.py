"""The page of language models says what its records show."""

from __future__ import annotations

import json
from pathlib import Path

from dudley.show.generated import language

FOLDER = Path(__file__).parents[2] / "results/certificates"


def test_what_was_expected_stands_beside_what_came():
    rows = json.loads((FOLDER / "language-reviews.json").read_text(encoding="utf-8"))["rows"]
    judged = [row["expected"] for row in rows if "within_margin" in row["expected"]]
    records = language.load(FOLDER)
    assert len(judged) == len(records.whole) >= 4
    page = language.page(records)
    within, below = (sum(row[name] for row in judged) for name in ("within_margin", "below_xz"))
    assert f"The first came for {within} of {len(judged)} (" in page
    assert f", the second for {below}." in page
    apart = [row.totals - row.totals_loss for row in records.whole]
    assert f"totals {min(apart):.2f} to {max(apart):.2f} above" in page
