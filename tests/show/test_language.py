"""The page of language models says what its records show."""

from __future__ import annotations

import json
from pathlib import Path

from dudley.certificates.texts.forms import TOTALS_FORM
from dudley.show.generated import language

FOLDER = Path(__file__).parents[2] / "results/certificates"


def read(name: str) -> list[dict]:
    return json.loads((FOLDER / f"language-{name}.json").read_text(encoding="utf-8"))["rows"]


def test_what_was_expected_stands_beside_what_came():
    whole = [row for row in read("reviews") if row["run"]["units"] == 0]
    today = [row for row in whole if row["totals_form"] == TOTALS_FORM]
    assert len(whole) == len(language.load(FOLDER).whole) > len(today) >= 3
    page = language.page(language.load(FOLDER))
    means, totals = ([row["apart"]["mean"] for row in whole], [r["apart"]["totals"] for r in today])
    for words, apart in (("The mean lies so near in", means), ("totals without † in", totals)):
        within = sum(x <= language.MARGIN for x in apart)
        span = f"({min(apart):.4f} to {max(apart):.4f} above)"
        assert f"{words} {within} of {len(apart)} {span}" in page
    below = sum(row["expected"]["below_xz"] for row in today)
    assert f"and they are below `xz` in {below} of {len(today)}." in page


def test_totals_of_an_earlier_form_are_marked():
    rows = [row for name in ("reviews", "packages", "start") for row in read(name)]
    earlier = sum(row["totals_form"] != TOTALS_FORM for row in rows)
    page = language.page(language.load(FOLDER))
    assert 0 < earlier < len(rows) and page.count(" † |") == earlier
