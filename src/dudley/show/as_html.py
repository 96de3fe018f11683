"""A document as one HTML file: no network, no other file; it opens from disk and prints.

Curves are drawn by uPlot (vendored, inlined): hover for values, click a name to hide a curve.
Tables sort by their heads and can be copied. Light or dark as the reader's system asks, or as the
button says; it prints in light. Formulas are MathML, which browsers typeset and screen readers
read: no script and no fonts, so that a page stays small.
"""

from __future__ import annotations

import html as markup
import json
import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from dudley.core.boundary.text import line, screen
from dudley.core.files import written
from dudley.show import document as doc
from dudley.show.figures.figure import COLOURS

# A tag of MathML whose attributes are of layout: no address, no style, no handler.
MATHML = re.compile(
    r"</?m[a-z]+(?: (?:display|xmlns|stretchy|fence|form|minsize|maxsize|lspace|rspace|width|height"
    r"|depth|mathvariant|displaystyle|scriptlevel|linethickness|accent|accentunder|movablelimits"
    r"|columnalign|columnspacing|rowspacing|separator|symmetric|largeop)=\"[^\"<>]*\")* ?/?>"
)
LONG = 40  # letters of a cell that may be broken into lines


def write(document: doc.Document, path: Path) -> None:
    """Write the page; nothing is left at ``path`` if anything fails."""
    text = html(document)
    with written(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def html(document: doc.Document) -> str:
    """The whole page."""
    charts = [_chart(chart) for chart in _charts(document.blocks)]
    parts = {
        "TITLE": escape(document.title),
        "CSS": asset("vendor/uPlot.min.css") + asset("page.css") if charts else asset("page.css"),
        "LEAD": "".join(f"<li>{escape(text)}</li>" for text in document.lead),
        "BODY": _Body().all(document.blocks),
        "MADE": escape(document.made) + (". Curves: uPlot (MIT)." if charts else ""),
        "DATA": as_data({"colours": COLOURS, "charts": charts}),
        "UPLOT": asset("vendor/uPlot.iife.min.js") if charts else "",
        "SCRIPT": (asset("charts.js") if charts else "") + asset("tables.js") + asset("page.js"),
    }
    return filled(asset("page.html"), parts)


def fragment(document: doc.Document) -> dict[str, Any]:
    """What a page of another kind puts in its place: the body, and the data of its charts."""
    return {
        "title": line(document.title),
        "lead": [line(text) for text in document.lead],
        "html": _Body().all(document.blocks),
        "charts": [_chart(chart) for chart in _charts(document.blocks)],
    }


def still(document: doc.Document) -> str:
    """What a notebook shows: the document without a script, curves as the table of their ends."""
    heads = [f"<h3>{escape(document.title)}</h3>"] if document.title else []
    lead = [f"<p>{escape(text)}</p>" for text in document.lead]
    body = _Body(still=True).all(document.blocks)
    made = [f"<p><small>{escape(document.made)}</small></p>"] if document.made else []
    return "\n".join(["<div>", *heads, *lead, body, *made, "</div>"])


def escape(text: str) -> str:
    """Text whose signs mean themselves, and steer no direction of writing."""
    return markup.escape(screen(text))


def asset(name: str) -> str:
    return (resources.files("dudley.show") / name).read_text(encoding="utf-8")


def filled(page: str, parts: dict[str, str]) -> str:
    """A template with each <!--NAME--> replaced, in one pass: what is put in is not looked at."""
    return re.sub(r"<!--([A-Z]+)-->", lambda mark: parts[mark[1]], page)


def as_data(data: Any) -> str:
    """JSON that may stand inside a script element."""
    return json.dumps(data, allow_nan=False, ensure_ascii=False).replace("<", "\\u003c")


def inline(text: str) -> str:
    """Plain text with ``code``.

    >>> inline("``n`` < 3")
    '<code>n</code> &lt; 3'
    """
    pieces = re.split(r"``([^`]+)``", text)
    return "".join(
        f"<code>{escape(piece)}</code>" if i % 2 else escape(piece)
        for i, piece in enumerate(pieces)
    )


def mathml(latex: str) -> str:
    """A formula as MathML; as LaTeX where latex2mathml is not installed."""
    try:
        from latex2mathml.converter import convert
    except ImportError:
        return f"<pre>{escape(latex)}</pre>"
    tree = convert(latex, display="block")
    if not all(MATHML.fullmatch(tag) for tag in re.findall(r"<[^>]*>?", tree)):
        return f"<pre>{escape(latex)}</pre>"  # \text and its like let markup through
    for escaped, sign in ((r"\{", "{"), (r"\}", "}"), (r"\|", "‖")):  # left after \bigl
        tree = tree.replace(f">{escaped}<", f">{sign}<")
    return tree


class _Body:
    """The blocks as HTML; counts charts, which the script finds by their number.

    Where it is to stand ``still`` there is no script: no buttons, and tables instead of charts.
    """

    def __init__(self, *, still: bool = False):
        self.charts, self.still = 0, still

    def all(self, blocks: Sequence[doc.DocumentBlock]) -> str:
        return "\n".join(self.block(block) for block in blocks)

    def block(self, block: doc.DocumentBlock) -> str:
        match block:
            case doc.Prose(text):
                return f"<p>{inline(text)}</p>"
            case doc.Notice(text, look):
                return f'<p role="note"{_class(f"notice {look}")}>{inline(text)}</p>'
            case doc.Formula(latex):
                return f'<div class="wide formula" tabindex="0">{mathml(latex)}</div>'
            case doc.Listing(text):
                return f'<pre class="wide" tabindex="0">{escape(text)}</pre>'
            case doc.Points(lines):
                return f"<ul>{''.join(f'<li>{inline(line)}</li>' for line in lines)}</ul>"
            case doc.Properties(rows):
                named = (f"<dt>{escape(a)}</dt><dd>{inline(b)}</dd>" for a, b in rows)
                return f"<dl>{''.join(named)}</dl>"
            case doc.Table():
                return _table(block, still=self.still)
            case doc.Chart():
                return _table(block.ends(), still=True) if self.still else self._chart(block)
            case doc.Picture():
                return _picture(block)
            case doc.Folded(title, blocks, shown):
                head = f"<details{' open' if shown else ''}><summary>{escape(title)}</summary>"
                return f"{head}\n{self.all(blocks)}</details>"
            case doc.Section(title, blocks):
                head = f"<h2>{escape(title)}</h2>\n" if title or not self.still else ""
                return f"<section>{head}{self.all(blocks)}</section>"
            case _:
                raise TypeError(f"no block: {type(block).__name__}")

    def _chart(self, block: doc.Chart) -> str:
        self.charts += 1
        words = f"{len(block.lines)} curves over {block.name}"
        return (
            f'<div class="chart" data-chart="{self.charts - 1}">'
            f'<div class="plot" role="img" aria-label="{escape(words)}"></div></div>'
        )


def _table(block: doc.Table, *, still: bool) -> str:
    right = set(block.numbers)
    heads = [escape(head) if still else f"<button>{escape(head)}</button>" for head in block.heads]
    top = "".join(
        f'<th scope="col"{_class("number" if i in right else "")}>{head}</th>'
        for i, head in enumerate(heads)
    )
    rows = "\n".join(
        "<tr>" + "".join(_cell(cell, i in right) for i, cell in enumerate(row)) + "</tr>"
        for row in block.rows
    )
    return (
        '<div class="wide" tabindex="0" role="region" aria-label="table">'
        f"<table><thead><tr>{top}</tr></thead><tbody>\n{rows}\n</tbody></table></div>"
    )


def _picture(block: doc.Picture) -> str:
    drawn = re.sub(r"^.*?(?=<svg\b)", "", block.svg, flags=re.S)
    caption = f"<figcaption>{inline(block.caption)}</figcaption>" if block.caption else ""
    return (
        f'<figure><div class="drawing" role="img" aria-label="{escape(block.alt)}">{drawn}'
        f"</div>{caption}</figure>"
    )


def _cell(cell: doc.Cell, right: bool) -> str:
    key = f' data-key="{"" if cell.key is None else f"{cell.key:.12g}"}"' if right else ""
    why = f' title="{escape(cell.why)}"' if cell.why else ""
    long = "long" if len(cell.text) > LONG else ""
    looks = " ".join(filter(None, ["number" if right else "", long, cell.look]))
    return f"<td{_class(looks)}{key}{why}>{inline(cell.text)}</td>"


def _class(names: str) -> str:
    return f' class="{escape(names)}"' if names else ""


def _charts(blocks: Sequence[doc.DocumentBlock]) -> list[doc.Chart]:
    """All charts, in the order in which they are shown."""
    charts = []
    for block in blocks:
        if isinstance(block, doc.Chart):
            charts.append(block)
        elif isinstance(block, doc.Section | doc.Folded):
            charts += _charts(block.blocks)
    return charts


def _chart(chart: doc.Chart) -> dict[str, Any]:
    return {
        "name": line(chart.name),
        "meaning": line(chart.meaning),
        "x": chart.x,
        "log": chart.log,
        "powers": chart.powers,
        "shaded": chart.shaded,
        "curves": [
            {
                "label": line(c.label),
                "note": line(c.note),
                "form": c.form,
                "order": c.order,
                "y": c.y,
                "below": c.below,
            }
            for c in chart.lines
        ],
        "levels": [{"label": line(level.label), "y": level.y} for level in chart.levels],
        "crossings": [{"at": at, "label": line(label)} for at, label in chart.crossings],
    }
