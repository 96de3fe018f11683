"""``dudley report``: results as a page, or as tables for a paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dudley.cli.folder import CERTIFICATE, beside, named
from dudley.cli.output import Json, print_json
from dudley.core.errors import InputError

FORMATS = {".html": "html", ".md": "Markdown", ".tex": "LaTeX"}


def report(
    source: Annotated[
        Path,
        typer.Argument(
            help="A certificate, JSON that a command printed with --json, or the folder of an "
            "experiment; sparse-and is shipped."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="File to write: .html, .md (Markdown) or .tex (LaTeX tables)."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Results as one page that opens from disk; Markdown on the screen where no file is named.

    Example: dudley report sparse-and
    """
    from dudley.core.files import expect_place
    from dudley.report.pages.read import document_of

    if out is not None:
        expect_place(out, tuple(FORMATS))
    document = document_of(found(source))
    if out is not None:
        write(document, out)
    if as_json:
        about = {"id": str(source), "kind": document.kind, "title": document.title}
        print_json("report", [about | {"file": None if out is None else str(out)}])
    elif out is None:
        from dudley.report.as_markdown import markdown

        print(markdown(document), end="")
    else:
        print(f"{document.title}\nwritten: {out}")


def found(source: Path) -> Path:
    """The file or folder that is meant; of a folder with a certificate, or an example, that."""
    place = named(source)
    if not place.exists():
        raise InputError("report", "a file or folder", f"{source}, which is not there")
    return beside(source, CERTIFICATE) or place


def write(document, out: Path) -> None:
    """As the ending of the file says."""
    from dudley.core.files import written
    from dudley.report import as_html
    from dudley.report.as_latex import latex
    from dudley.report.as_markdown import markdown

    if out.suffix == ".html":
        as_html.write(document, out)
        return
    text = markdown(document) if out.suffix == ".md" else latex(document)
    with written(out) as temporary:
        temporary.write_text(text, encoding="utf-8")
