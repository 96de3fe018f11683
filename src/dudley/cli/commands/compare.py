"""``dudley compare``: every applicable statement on one situation, or along an axis."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dudley.cli.output import Json, paragraph, print_json, width
from dudley.cli.statements import Statements
from dudley.core.files import expect_place
from dudley.core.situation import Situation
from dudley.core.sweep import Sweep
from dudley.core.vocabulary import parse_assignments
from dudley.show import cells
from dudley.show.figures import figure
from dudley.theorems import comparison
from dudley.theorems.comparison import FORMS, Comparison, ComparisonRow

PAGE = ".html"
NEAR = 1  # a statement that misses so few names is named


def compare(
    values: Annotated[
        list[str] | None, typer.Argument(help="name=value for what is known.")
    ] = None,
    sweep: Annotated[
        str | None, typer.Option(help="An axis, such as n=1e3:1e9:log40 or T=16:512:lin32.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="A figure (.svg, .pdf, .png) or a page (.html) to write.")
    ] = None,
    paper: Annotated[list[str] | None, typer.Option(help="Only these papers, by key.")] = None,
    form: Annotated[list[str] | None, typer.Option(help="Only printed, derived or best.")] = None,
    missing: Annotated[
        bool, typer.Option("--missing", help="Say of every other statement what it misses.")
    ] = False,
    statements: Statements = None,
    as_json: Json = False,
) -> None:
    """Set every published bound that applies side by side.

    The answer also says which inputs followed from others, and what other statements miss.

    Example: dudley compare d=64 k=64 X.row2inf=1 W.l11=2 epsilon=0.5 --sweep n=1e3:1e7:log5
    """
    situation = Situation(parse_assignments(values or []))
    axis = None if sweep is None else Sweep.parse(sweep)
    if out is not None:
        expect_place(out, (*figure.ENDINGS, PAGE))
        if out.suffix != PAGE:
            figure.expect_axis(axis)
            figure.pyplot()
    found = comparison.compare(situation, axis, tuple(paper or ()), tuple(form or FORMS))
    if out is not None:
        write(found, out)
    if as_json:
        print_json("compare", [found.to_json()])
        return
    print("\n".join(report(found, missing)))
    if out is not None:
        print(f"\nwritten: {out}")


def write(found: Comparison, out: Path) -> None:
    """The figure or page."""
    if out.suffix == PAGE:
        from dudley.show import as_html
        from dudley.show.pages.comparison import document

        as_html.write(document(found), out)
    else:
        figure.draw(found, out)


def report(found: Comparison, every_missing: bool = False) -> list[str]:
    """The answer for people, line by line."""
    lines: list[str] = []
    for measure, rows in found.groups.items():
        lines += [f"{measure}{_along(found)}", *table(found, rows), ""]
    if not found.rows:
        lines += ["no statement applies to what is given", ""]
    lines += [paragraph(f"{mark} {text}") for mark, text in cells.marks(found).items()]
    lines = lines if lines[-1] else lines[:-1]
    lines += _listed("refused", cells.refusals(found))
    lines += _listed("parameter counting against norms", cells.crossings(found))
    title = f"derived from what is given{cells.when_derived(found)}"
    lines += _listed(title, cells.derivations(dict(found.derived)))
    lines += _listed("names that statements read in different ways", cells.readings(found))
    if found.unused:
        lines += ["", paragraph(f"not used: {', '.join(found.unused)}")]
    return lines + _missing(found, every_missing)


def _along(found: Comparison) -> str:
    if found.sweep is None:
        return ""
    x = found.points
    return f", {found.sweep.name} from {cells.short(x[0])} to {cells.short(x[-1])}"


def table(found: Comparison, rows: list[ComparisonRow]) -> list[str]:
    """One line for each statement, in columns; on a narrow terminal, one line for each form."""
    forms = [form for form in FORMS if any(form in row.curves for row in rows)]
    heads = ["statement", "verdict", *forms]
    body = [
        [row.id, row.statement.verdict.value, *(cells.cell(row, form) for form in forms)]
        for row in rows
    ]
    if found.sweep is not None and any(row.can_inform for row in rows):
        heads.append(cells.informs(found))
        for row, line in zip(rows, body, strict=True):
            line.append(cells.informative(found, row, "derived") or "–")
    sizes = [max(map(len, column)) for column in zip(heads, *body, strict=True)]
    if 2 + sum(sizes) + 2 * (len(sizes) - 1) <= width():
        return ["  " + _joined(line, sizes) for line in (heads, *body)]
    narrow = []
    for line in body:
        narrow.append(f"  {line[0]}  [{line[1]}]")
        narrow += [
            f"    {head}: {text}" for head, text in zip(heads[2:], line[2:], strict=True) if text
        ]
    return narrow


def _joined(texts: list[str], sizes: list[int]) -> str:
    """Names to the left, numbers to the right."""
    left = [f"{text:<{size}}" for text, size in zip(texts[:2], sizes[:2], strict=True)]
    right = [f"{text:>{size}}" for text, size in zip(texts[2:], sizes[2:], strict=True)]
    return "  ".join(left + right).rstrip()


def _listed(title: str, lines: list[str]) -> list[str]:
    return ["", f"{title}:", *(paragraph(line, 4, "  ") for line in lines)] if lines else []


def _missing(found: Comparison, every: bool) -> list[str]:
    """What the other statements miss: the nearest by name, the rest by what they want most."""
    groups = cells.lacking(found)
    near = {names: ids for names, ids in groups.items() if every or len(names) <= NEAR}
    lines = [f"{', '.join(names)}: {', '.join(ids)}" for names, ids in near.items()]
    rest = len(found.missing) - sum(map(len, near.values()))
    if rest:
        wanted = ", ".join(cells.most_wanted(found))
        lines.append(f"several names: {rest} others; most wanted are {wanted}")
    count = len(found.missing)
    told = "" if every or not rest else " (--missing lists all)"
    return _listed(f"missing, for {count} other statement{'s' * (count > 1)}{told}", lines)
