"""``dudley verify``: a certificate computed again from the model and the data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dudley.cli.folder import CERTIFICATE, DOCUMENTS, MODEL, TRAIN, beside, within
from dudley.cli.output import Json, print_document, print_json
from dudley.core.errors import InputError


def verify(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="CERT",
            help="The certificate file, a folder that certify train wrote, or an example.",
        ),
    ],
    model: Annotated[Path | None, typer.Option(help="The model file.")] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="What it was made on: examples, or a language model's documents (.npz)."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compute a certificate again from the model and the data.

    Exit code 1 if it does not hold.

    Example: dudley verify sparse-and
    """
    from dudley.certificates import verify as check
    from dudley.show.pages.verification import document

    model = model or beside(path, MODEL)
    data = data or beside(path, TRAIN) or beside(path, DOCUMENTS)
    path = within(path, CERTIFICATE)
    certificate = check.read(path)
    if model is None or data is None:
        absent = [f"no --{name}" for name, it in (("model", model), ("data", data)) if it is None]
        expected = "--model and --data, or a folder with certificate, model and data"
        raise InputError("verify", expected, " and ".join(absent))
    verification = check.verify(certificate, *check.parts(certificate, model, data))
    if as_json:
        differences = [{"field": d.field, "what": str(d)} for d in verification.differences]
        item = {
            "holds": verification.holds,
            "value": verification.value,
            "recomputed": verification.recomputed,
            "differences": differences,
            "remarks": list(verification.remarks),
            "declarations": list(verification.declarations),
        }
        print_json("verification", [item])
    else:
        print_document(document(certificate, verification))
    if not verification.holds:
        raise typer.Exit(1)
