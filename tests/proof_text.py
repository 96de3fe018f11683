"""A proof as a reader of its text has it: the steps, their sentences, and tables of numbers."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

NUMBER = r"(\d[\d.e+-]*|10\^-?[\d.]+)"


@dataclass
class Read:
    """A step of the text: its words in one line, and its tables by the line above them."""

    words: str
    tables: list[tuple[str, list[dict[str, str]]]] = field(default_factory=list)


def read(text: str) -> dict[str, Read]:
    """The steps of a proof by their titles; what stands at the end is the step Together."""
    steps = re.split(r"^(?:\d+\. |(?=Together))(.*)$", text, flags=re.MULTILINE)[1:]
    return {title: _step(body) for title, body in zip(steps[::2], steps[1::2], strict=True)}


def _step(body: str) -> Read:
    step, above, rows = Read(" ".join(body.split())), "", None
    for line in body.split("\n"):
        cells = re.split(r" {2,}", line.strip())
        if cells[0] in ("node", "block", "number", "j") and len(cells) > 2:
            heads, rows = cells, []
            step.tables.append((above.strip(), rows))
        elif rows is not None and line.strip():
            rows.append(dict(zip(heads, cells + [""] * (len(heads) - len(cells)), strict=True)))
        else:
            above, rows = line, None
    return step


def log(written: str) -> float:
    """The log of a number as it is written, a power of ten or a float."""
    if written.startswith("10^"):
        return float(written[3:]) * math.log(10)
    return math.log(float(written)) if float(written) > 0 else -math.inf


def after(words: str, text: str) -> float:
    """The number that follows these words."""
    match = re.search(re.escape(words) + " *" + NUMBER, text)
    assert match, (words, text)
    return float(match[1].rstrip("."))
