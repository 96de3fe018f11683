"""A table of trials: what its columns hold; a row for each trial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, final

from dudley.core.boundary.text import line
from dudley.show.document import Document, Section, Table
from dudley.show.numbers import short
from dudley.show.views.base import VIEWS, ResultView

FEW = 6  # values that are named
LONGEST = 60  # letters of a value


class Trials(Protocol):
    """Rows by the names of columns; the table itself is of the room above."""

    @property
    def rows(self) -> Sequence[dict[str, Any]]: ...

    @property
    def names(self) -> list[str]: ...


@final
@VIEWS.register("trials")
class TrialsView(ResultView[Trials]):
    """A line for each column, for there are more columns than fit a line."""

    def document(self) -> Document:
        rows, names = self.result.rows, self.result.names
        columns = {name: [row[name] for row in rows if name in row] for name in names}
        lines = [[name, str(len(v)), _described(v)] for name, v in columns.items()]
        title = f"{_counted(len(rows), 'row')}, {_counted(len(names), 'column')}"
        return Document(title, (Section("", (Table.of(["column", "rows", "values"], lines),)),))

    def rows(self) -> list[dict[str, Any]]:
        return [dict(row) for row in self.result.rows]


def _described(values: Sequence[Any]) -> str:
    """The values, if they are few; else their range, or how many there are."""
    texts = list(dict.fromkeys(_text(value) for value in values))
    if len(texts) <= FEW:
        return ", ".join(texts)
    if all(isinstance(value, int | float) for value in values):
        return f"{_text(min(values))} … {_text(max(values))}, {len(texts)} different"
    return f"{texts[0]}, … ({len(texts)} different)"


def _text(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return str(value)
    text = short(value) if isinstance(value, float) else line(str(value))
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
