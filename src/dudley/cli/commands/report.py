"""``dudley report``: results as a page, or as tables for a paper."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dudley.cli.folder import (
    CERTIFICATE,
    DOCUMENTS,
    MODEL,
    OUTCOME_TABLE,
    TRAIN,
    beside,
    named_path,
    within,
)
from dudley.cli.output import Json, print_json
from dudley.core.errors import InputError

if TYPE_CHECKING:
    from dudley.show.document import Document
    from dudley.show.pages.stamp import Stamp

FORMATS = {".html": "html", ".md": "Markdown", ".tex": "LaTeX"}


def report(
    source: Annotated[
        Path,
        typer.Argument(
            help="A certificate, JSON that a command printed with --json, or the folder of an "
            "experiment or of a certified model; sparse-and is shipped."
        ),
    ],
    model: Annotated[
        Path | None, typer.Option(help="The model file of a certificate, to verify it.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="What the certificate was made on, to verify it.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="File to write: .html, .md (Markdown) or .tex (LaTeX tables)."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Make one page of results that opens from disk.

    Without --out the page is Markdown on the screen. A certificate is verified first where its
    model and data are named (for a certificate of outcomes, the data alone), or where a folder is
    named that holds all three; the page says so, and exit code 1 says that it does not hold. Any
    other number on a page is what the file claims, and the page says that too.

    Example: dudley report sparse-and
    """
    from dudley.core.files import expect_place
    from dudley.show.pages.stamp import Stamp

    if out is not None:
        expect_place(out, tuple(FORMATS))
    if model is not None and data is None:
        raise InputError("report", "--model and --data, or neither", "one of them")
    path = file_of(source)
    named = data is not None
    if beside(source, CERTIFICATE) and not named:
        model, data = beside(source, MODEL), beside(source, TRAIN) or beside(source, DOCUMENTS)
    if data is None or (model is None and not named):
        document, stamp = document_of(path), Stamp()
    else:
        document, stamp = page_verified(path, model, data)
    if out is not None:
        write(document, out)
    if as_json:
        about = {"id": str(source), "kind": document.kind, "title": document.title}
        about |= stamp.to_json() if document.kind == "certificate" else {}
        print_json("report", [about | {"file": None if out is None else str(out)}])
    elif out is None:
        from dudley.show.as_markdown import markdown

        print(markdown(document), end="")
    else:
        print(f"{document.title}\nwritten: {out}")
    if stamp.holds is False:
        raise typer.Exit(1)


def page_verified(path: Path, model: Path | None, data: Path) -> tuple[Document, Stamp]:
    """The page of a certificate that is computed again from its files; outcomes have no model."""
    from dudley.show.pages.read import built, certificate_in, read_json
    from dudley.show.pages.stamp import stamped

    certificate = certificate_in(read_json(path))
    if certificate["method"] == "outcomes":
        data = within(data, OUTCOME_TABLE)
    elif model is None:
        raise InputError("report", "--model and --data, or neither", "one of them")
    stamp = stamped(certificate, model, data)
    return built("certificates", [certificate], stamp), stamp


def file_of(source: Path) -> Path:
    """The file or folder that is meant; of a folder with a certificate, or an example, that."""
    path = named_path(source)
    if not path.exists():
        raise InputError("report", "a file or folder", f"{source}, which is not there")
    return beside(source, CERTIFICATE) or path


def document_of(path: Path) -> Document:
    """The document of a file or of a results folder; nothing is computed again."""
    if path.is_dir():
        from dudley.lab.pages.document import document

        return document(path)
    from dudley.show.pages.read import of_file

    return of_file(path)


def write(document: Document, out: Path) -> None:
    """As the ending of the file says."""
    from dudley.core.files import written
    from dudley.show import as_html
    from dudley.show.as_latex import latex
    from dudley.show.as_markdown import markdown

    if out.suffix == ".html":
        as_html.write(document, out)
        return
    text = markdown(document) if out.suffix == ".md" else latex(document)
    with written(out) as temporary:
        temporary.write_text(text, encoding="utf-8")
