"""What rules of the calculus gained, from the record of ``benchmarks/calculus_gains.py``.

The record has the values before and after: of every statement's forms at its example, and of the
shipped networks. What did not change is not listed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dudley.show.markdown import code, section, table
from dudley.show.numbers import short
from dudley.theorems.order import reading_order

INTRO = """\
What peeled readouts, covers along few directions, the spending of what the allocator leaves over, \
fixed scales of Dudley's integral and one scale at a known training error gained, at the \
registered examples and on the shipped networks (`results/calculus/gains.json`, made by \
`benchmarks/calculus_gains.py`). For a network n is the number of examples from which the gap is \
at most half the range of the loss; the last column has n for a network that was trained to no \
error. `all-MiniLM-L6-v2` is a checkpoint whose norms are read off and paid for. Statements that \
are not listed did not change."""
STATEMENT_HEAD = ["statement", "form", "before", "after", "after/before"]
NETWORK_HEAD = ["network", "log₁₀ n before", "after", "after, no training error"]


@dataclass(frozen=True)
class Gains:
    """The record."""

    before: dict[str, Any]
    after: dict[str, Any]

    @property
    def changed(self) -> list[tuple[str, str, float, float]]:
        """(statement, form, before, after) where these differ, in the order of reading."""
        rows = [
            (name, form, self.before["statements"].get(name, {}).get(form), value)
            for name, forms in self.after["statements"].items()
            for form, value in forms.items()
        ]
        moved = [(n, f, old, new) for n, f, old, new in rows if old is not None and old != new]
        return sorted(moved, key=lambda row: (reading_order(row[0]), row[1]))


def load(path: Path) -> Gains:
    """Read a record."""
    return Gains(**json.loads(path.read_text(encoding="utf-8")))


def gains_section(gains: Gains) -> str:
    """The section of docs/tightness.md."""
    networks = [
        [code(name), f"{gains.before['networks'][name]['log10 n']:.2f}", f"{row['log10 n']:.2f}",
         f"{row['log10 n, no training error']:.2f}"]
        for name, row in gains.after["networks"].items()
    ]  # fmt: skip
    old, new = (
        side["networks"]["single-head"]["gap at 1e6"] for side in (gains.before, gains.after)
    )
    head = f"The gap of `single-head` at a million examples fell from {short(old)} to {short(new)}."
    statements = [
        [code(name), form, short(old), short(new), f"{new / old:.3f}"]
        for name, form, old, new in gains.changed
    ]
    parts = (INTRO, table(NETWORK_HEAD, networks), head, table(STATEMENT_HEAD, statements))
    return section("Gains", *parts)
