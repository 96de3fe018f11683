"""Tables of texts and labels: a CSV file in UTF-8 whose first row names its columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

import numpy as np

from dudley.core.boundary import limits
from dudley.core.boundary.refusal import refusal


def rows_of(raw: bytes, columns: Sequence[str], what: str) -> list[list[str]]:
    """The rows of a CSV file with exactly these columns."""
    try:
        lines = io.StringIO(raw.decode("utf-8"), newline="")
        rows = []
        for row in csv.reader(lines, strict=True):
            if len(row) != len(columns) or len(rows) > limits.ROWS:
                raise refusal(what, f"at most {limits.ROWS:,} rows of {len(columns)}", row)
            rows.append(row)
    except (UnicodeDecodeError, csv.Error) as error:
        raise refusal(what, "a CSV file in UTF-8", error) from None
    if not rows or rows[0] != list(columns):
        raise refusal(what, f"columns {', '.join(columns)}", rows[:1])
    return rows[1:]


def labelled(
    raw: bytes, columns: Sequence[str], labels: Mapping[str, int], what: str
) -> tuple[tuple[str, ...], np.ndarray]:
    """Texts and labels: the first two of the columns.

    >>> labelled(b"text,label\\nfine,yes\\n", ("text", "label"), {"no": 0, "yes": 1}, "toy")
    (('fine',), array([1]))
    """
    rows = rows_of(raw, columns, what)
    for row in rows:
        if row[1] not in labels:
            raise refusal(what, f"labels {' or '.join(labels)}", row[1])
    y = np.array([labels[row[1]] for row in rows], np.int64)
    return tuple(row[0] for row in rows), y
