"""A report, without saying how it looks: blocks one below the other.

`as_text` shows it on a terminal, `as_html` makes of it one file that opens from disk, `as_markdown`
and `as_latex` text for papers.
Builders in `pages` read results (what commands print with ``--json``, certificates, folders of
experiments) and compute nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, TypeVar

from dudley.core.errors import InputError
from dudley.show.numbers import short

Part = TypeVar("Part")


@dataclass(frozen=True)
class Cell:
    """Text in a table. ``key`` sorts it, ``why`` is shown on asking, ``look`` is a verdict."""

    text: str
    key: float | None = None
    why: str = ""
    look: str = ""

    def __post_init__(self):
        if self.key is not None and not isinstance(self.key, int | float):
            raise InputError("key of a cell", "a number", type(self.key).__name__)

    @property
    def numeric(self) -> bool:
        return self.key is not None


@dataclass(frozen=True)
class Prose:
    """A paragraph; ``name`` in double backquotes is code."""

    text: str


@dataclass(frozen=True)
class Notice:
    """A paragraph that no reader may miss; ``look``: yes, no or claim."""

    text: str
    look: str


@dataclass(frozen=True)
class Formula:
    """LaTeX, on lines of its own."""

    latex: str


@dataclass(frozen=True)
class Listing:
    """Text as it stands: a tree, a command, its output."""

    text: str


@dataclass(frozen=True)
class Points:
    """A list of short paragraphs; on a terminal ``mark`` stands before each."""

    lines: tuple[str, ...]
    mark: str = "·"


@dataclass(frozen=True)
class Properties:
    """Names and what they are."""

    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Table:
    """Heads and rows of cells; ``numbers`` are the columns that are set to the right.

    >>> Table.of(["name", "n"], [["a", Cell("10", 10.0)]]).rows[0][1].numeric
    True
    """

    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @staticmethod
    def of(heads: Sequence[str], rows: Sequence[Sequence[Cell | str]]) -> Table:
        """A table; plain text becomes cells."""
        for row in rows:
            if len(row) != len(heads):
                raise InputError("row of a table", f"{len(heads)} cells", len(row))
        cells = [tuple(c if isinstance(c, Cell) else Cell(c) for c in row) for row in rows]
        return Table(tuple(heads), tuple(cells))

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(i for i in range(len(self.heads)) if any(row[i].numeric for row in self.rows))


@dataclass(frozen=True)
class Line:
    """One curve. ``form`` chooses the dash, ``order`` colour and marker, ``below`` marks points."""

    label: str
    y: tuple[float | None, ...]
    form: str = "derived"
    order: int = 0
    below: tuple[int, ...] = ()
    note: str = ""  # said beside the label


@dataclass(frozen=True)
class Chart:
    """Curves over one axis, to be hovered over; with ``powers`` ordinates are log₁₀.

    ``shaded`` says that a curve above a level says nothing, so that the place there is grey.
    """

    name: str
    meaning: str
    x: tuple[float, ...]
    lines: tuple[Line, ...]
    log: bool = False
    powers: bool = True
    levels: tuple[Line, ...] = ()
    crossings: tuple[tuple[float, str], ...] = ()
    shaded: bool = True

    def ends(self) -> Table:
        """The curves at the ends of the axis, for readers without pictures."""

        def shown(y: float | None) -> str:
            if y is None:
                return "–"
            past_digits = self.powers and abs(y) >= 6
            return f"10^{y:.2f}" if past_digits else short(10**y if self.powers else y)

        heads = ["curve", *(f"{self.name} = {short(x)}" for x in (self.x[0], self.x[-1]))]
        rows = [[curve.label, shown(curve.y[0]), shown(curve.y[-1])] for curve in self.lines]
        return Table.of(heads, rows)


@dataclass(frozen=True)
class Picture:
    """A drawing of ours as SVG text, what it shows, and its caption."""

    svg: str
    alt: str
    caption: str = ""


@dataclass(frozen=True)
class Folded:
    """What is shown on asking."""

    title: str
    blocks: tuple[DocumentBlock, ...]
    open: bool = False


@dataclass(frozen=True)
class Section:
    """A heading and what is below it."""

    title: str
    blocks: tuple[DocumentBlock, ...]


DocumentBlock = (
    Prose
    | Notice
    | Formula
    | Listing
    | Points
    | Properties
    | Table
    | Chart
    | Picture
    | Folded
    | Section
)


@dataclass(frozen=True)
class Document:
    """A title, a line below it, blocks, and what made it."""

    title: str
    blocks: tuple[DocumentBlock, ...]
    lead: tuple[str, ...] = ()
    made: str = ""
    kind: str = field(default="report")


def expect_shown(part: Part) -> Part:
    """The document, if its texts are texts and its curves finite: builders take values from files.

    >>> expect_shown(Document("Found", (Prose(3),)))
    Traceback (most recent call last):
    TypeError: a text of Prose is a number or a table: 3
    """

    def walk(value: Any, owner: str, kind: str) -> None:
        if kind.startswith("str"):
            if not isinstance(value, str):
                raise TypeError(f"a text of {owner} is a number or a table: {value!r}")
        elif isinstance(value, float) and owner in ("Chart", "Line"):
            if not math.isfinite(value):
                raise ValueError(f"a number of a {owner.lower()} is {value}")
        elif isinstance(value, tuple | list):
            for inner in value:
                walk(inner, owner, kind.removeprefix("tuple["))
        elif is_dataclass(value):
            for each in fields(value):
                walk(getattr(value, each.name), type(value).__name__, str(each.type))

    walk(part, "", "")
    return part
