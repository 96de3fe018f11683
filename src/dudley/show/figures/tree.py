"""A network's tree as a figure: its nodes with their facts, its blocks with what they cost.

One line for each node (radius of its inputs → of its outputs, Lipschitz constant) and, below it,
one for each block of weights: shape, constraint, winning cover, and a bar as long as its share of
the entropy. The SVG is written by the program itself, so that it is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from dudley.networks.capacity import Capacity
from dudley.networks.explain import BlockCost, Branch, branches, culprit, power, shared
from dudley.show.figures.figure import COLOURS

WIDTH, LINE, INDENT, MARGIN = 940, 22, 20, 16
RADIUS, LIPSCHITZ, BAR = 410, 560, 700  # where the columns begin
LONGEST = 160  # of a bar: the whole entropy
TEXT, GREY = "#222222", "#767676"


@dataclass(frozen=True)
class TreeLine:
    """A line of the figure: how deep it stands, under which line, and what it is about."""

    depth: int
    under: int | None
    about: Branch | BlockCost


def svg(capacity: Capacity, title: str) -> str:
    """The tree of a network with the cost of each block at the scale that costs most."""
    _, log_ε, log_n = capacity.shares
    lines = list(_lines(branches(capacity), 0, None, 0))
    lines += [TreeLine(1, None, row) for row in shared(capacity)]
    top = MARGIN + 2 * LINE + 10
    height = top + LINE * (len(lines) + 1) + MARGIN
    where = f"shares at ε = {power(log_ε)}, n = {power(log_n)}"
    parts = [
        _text(MARGIN, MARGIN + 14, title, bold=True),
        _text(MARGIN, MARGIN + LINE + 14, "node or block", GREY),
        _text(RADIUS, MARGIN + LINE + 14, "radius in → out", GREY),
        _text(LIPSCHITZ, MARGIN + LINE + 14, "Lipschitz, or cover", GREY),
        _text(BAR, MARGIN + LINE + 14, where, GREY),
    ]
    for i, line in enumerate(lines):
        parts += _draw(line, top + LINE * i, top)
    parts.append(_text(MARGIN, top + LINE * len(lines) + 18, f"culprit: {culprit(capacity)}"))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img" font-family="sans-serif" font-size="13">\n'
        f"<title>{escape(title)}</title>\n"
        f'<rect width="{WIDTH}" height="{height}" rx="6" fill="#ffffff"/>\n'
    )
    return head + "\n".join(parts) + "\n</svg>\n"


def _lines(branch: Branch, depth: int, under: int | None, at: int) -> Iterator[TreeLine]:
    """The lines of a branch, the first of which stands at number ``at``."""
    yield TreeLine(depth, under, branch)
    below = at + 1
    for inner in branch.inside:
        for line in _lines(inner, depth + 1, at, below):
            yield line
            below += 1
    for row in branch.rows:
        yield TreeLine(depth + 1, at, row)


def _draw(line: TreeLine, y: int, top: int) -> Iterator[str]:
    x = MARGIN + INDENT * line.depth
    if line.under is not None:
        from_y = top + LINE * line.under + 17
        path = f"M{x - 12.5} {from_y}V{y + 9.5}H{x - 3}"
        yield f'<path d="{path}" fill="none" stroke="#bbbbbb" shape-rendering="crispEdges"/>'
    about = line.about
    if isinstance(about, Branch):
        yield _text(x, y + 14, about.label + about.kind, bold=True)
        yield _text(RADIUS, y + 14, " → ".join(about.radius))
        yield _text(LIPSCHITZ, y + 14, about.lipschitz)
        return
    leaf = about.block.rpartition(".")[2]
    size = f"{about.shape[0]}×{about.shape[1]}" if about.shape else "shared"
    times = f" ×{about.count}" if about.count > 1 else ""
    yield _text(x, y + 14, leaf, COLOURS[0])
    yield _text(x + 44, y + 14, f"{size}{times} {about.constraint}".rstrip(), GREY)
    yield _text(LIPSCHITZ, y + 14, about.cover, GREY)
    length = round(LONGEST * about.share, 1)
    yield f'<rect x="{BAR}" y="{y + 4}" width="{length:g}" height="12" fill="{COLOURS[0]}"/>'
    yield _text(BAR + round(length) + 6, y + 14, f"{about.share:.1%}")


def _text(x: int, y: int, words: str, fill: str = TEXT, *, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x}" y="{y}" fill="{fill}"{weight}>{escape(words)}</text>'
