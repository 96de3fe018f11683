"""``dudley verify``: a certificate computed again from the model and the data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dudley.cli.folder import CERTIFICATE, DOCUMENTS, MODEL, TRAIN, beside, within
from dudley.cli.output import Json, paragraph, print_json
from dudley.core.errors import InputError
from dudley.core.rounding import ceiling


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

    model = model or beside(path, MODEL)
    data = data or beside(path, TRAIN) or beside(path, DOCUMENTS)
    path = within(path, CERTIFICATE)
    told = check.read(path)
    if model is None or data is None:
        absent = [f"no --{name}" for name, it in (("model", model), ("data", data)) if it is None]
        expected = "--model and --data, or a folder with certificate, model and data"
        raise InputError("verify", expected, " and ".join(absent))
    found = check.verify(told, *check.parts(told, model, data))
    if as_json:
        differences = [{"field": d.field, "what": str(d)} for d in found.differences]
        item = {
            "holds": found.holds,
            "value": found.value,
            "recomputed": found.recomputed,
            "differences": differences,
            "declarations": list(found.declarations),
        }
        print_json("verification", [item])
    else:
        if found.holds:
            print(f"holds: {told['quantity']} ≤ {ceiling(found.value, 6)}")
            print(f"  {found.recomputed} fields computed again and equal; method {told['method']}")
        else:
            print("does not hold")
        for difference in found.differences:
            print(paragraph(str(difference), 4, "  ✗ "))
        for words in found.declarations:
            print(paragraph(words, 4, "  · declared: "))
    if not found.holds:
        raise typer.Exit(1)
