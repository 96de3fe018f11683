"""The table of families in docs/measure.md: every family, checked or refused with the reason."""

from __future__ import annotations

import re
from pathlib import Path

from dudley.weights.layout import LAYOUTS
from library_models import MEASURED, MODELS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "measure.md"
CHECKED = {name.split()[0] for name in MODELS}


def rows() -> dict[str, tuple[str, str]]:
    """Model type ↦ (checked, bound) as the page says."""
    table = PAGE.read_text(encoding="utf-8").partition("| checked | bound |\n")[2]
    cells = [line.strip("| ").split("|") for line in table.split("\n\n")[0].splitlines()[1:]]
    entries = [[cell.strip() for cell in row] for row in cells]
    return {
        name: (checked, bound)
        for _, names, _, checked, bound in entries
        for name in re.findall(r"`([^`]+)`", names)
    }


def test_the_table_names_every_family_once():
    families = {name for name in LAYOUTS if not name.startswith("torch-")}
    assert set(rows()) == families
    assert families == CHECKED | set(MEASURED)


def test_the_table_says_what_is_checked_and_what_is_refused():
    for name, (checked, bound) in rows().items():
        refused = LAYOUTS[name].refused
        assert (checked, bound) == (("", refused) if refused else ("yes", "yes")), name
        assert (name in MEASURED) == bool(refused) and (name in CHECKED) == (checked == "yes")
