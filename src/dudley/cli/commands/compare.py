"""``dudley compare``: every applicable statement on one situation, or along an axis."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dudley.cli.output import Json, print_document, print_json
from dudley.cli.statements import Statements
from dudley.core.files import expect_place
from dudley.core.situation import Situation
from dudley.core.sweep import Sweep
from dudley.core.vocabulary import parse_assignments
from dudley.show.document import Document
from dudley.show.figures import figure
from dudley.show.pages import comparison as pages, gaps as gap_pages
from dudley.theorems import comparison, gaps
from dudley.theorems.comparison import FORMS, Comparison
from dudley.theorems.gaps import Gaps

PAGE = ".html"


class ComparedAs(StrEnum):
    """What is compared with what."""

    KIND = "kind"
    GAP = "gap"


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
    view: Annotated[
        ComparedAs, typer.Option("--as", help="Each kind for itself, or all that can be as gaps.")
    ] = ComparedAs.KIND,
    missing: Annotated[
        bool, typer.Option("--missing", help="List what every other statement still needs.")
    ] = False,
    statements: Statements = None,
    as_json: Json = False,
) -> None:
    """Set every published bound that applies side by side.

    The answer also says which inputs followed from others, and what other statements miss. With
    ``--as gap`` every bound that can be is turned into risk − training loss at your n, delta and
    loss (margin, or loss.lipschitz and loss.range), best first.

    Example: dudley compare d=64 k=64 X.row2inf=1 W.l11=2 epsilon=0.5 --sweep n=1e3:1e7:log5
    """
    situation = Situation(parse_assignments(values or []))
    axis = None if sweep is None else Sweep.parse(sweep)
    if out is not None:
        expect_place(out, (*figure.ENDINGS, PAGE))
        if out.suffix != PAGE:
            figure.expect_axis(axis)
            figure.matplotlib()
    papers, forms = tuple(paper or ()), tuple(form or FORMS)
    result: Comparison | Gaps
    if view is ComparedAs.GAP:
        result = gaps.gaps(situation, axis, papers, forms, network=not papers)
    else:
        result = comparison.compare(situation, axis, papers, forms)
    if out is not None:
        write(result, out)
    if as_json:
        print_json("gaps" if view is ComparedAs.GAP else "compare", [result.to_json()])
        return
    print_document(summary(result, missing))
    if out is not None:
        print(f"\nwritten: {out}")


def summary(result: Comparison | Gaps, missing: bool) -> Document:
    """What is printed."""
    if isinstance(result, Gaps):
        return gap_pages.summary(result, missing)
    return pages.summary(result, missing)


def write(result: Comparison | Gaps, out: Path) -> None:
    """The figure or page."""
    if out.suffix == PAGE:
        from dudley.show import as_html

        builder = gap_pages if isinstance(result, Gaps) else pages
        as_html.write(builder.document(result), out)  # pyright: ignore[reportArgumentType]
    else:
        figure.draw(result, out)
