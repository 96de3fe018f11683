"""``dudley compare``: every applicable statement on one situation, or along an axis."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dudley.cli.output import Json, print_document, print_json
from dudley.cli.statements import Statements
from dudley.core.files import expect_place
from dudley.core.situation import Situation
from dudley.core.sweep import Sweep
from dudley.core.vocabulary import parse_assignments
from dudley.show.figures import figure
from dudley.show.pages import comparison as pages
from dudley.theorems import comparison
from dudley.theorems.comparison import FORMS, Comparison

PAGE = ".html"


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
        bool, typer.Option("--missing", help="List what every other statement still needs.")
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
            figure.matplotlib()
    bounds = comparison.compare(situation, axis, tuple(paper or ()), tuple(form or FORMS))
    if out is not None:
        write(bounds, out)
    if as_json:
        print_json("compare", [bounds.to_json()])
        return
    print_document(pages.summary(bounds, missing))
    if out is not None:
        print(f"\nwritten: {out}")


def write(bounds: Comparison, out: Path) -> None:
    """The figure or page."""
    if out.suffix == PAGE:
        from dudley.show import as_html

        as_html.write(pages.document(bounds), out)
    else:
        figure.draw(bounds, out)
