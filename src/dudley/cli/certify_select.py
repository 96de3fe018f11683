"""``dudley certify select``: the best of a declared list."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dudley.cli.declarations import Declare, DeltaOption, declarations
from dudley.cli.folder import CANDIDATES, CERTIFICATE, OUTCOMES, beside, within
from dudley.cli.output import Json
from dudley.core.errors import InputError

FEWEST = 20  # examples of which parts can be held out


def certify_select(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Labels y, and predictions or scores of every candidate (.npz); or an example.",
        ),
    ],
    candidates: Annotated[
        Path | None, typer.Option(help="The list that was declared before the data (.json).")
    ] = None,
    delta: DeltaOption = 0.05,
    declare: Declare = None,
    out: Annotated[Path | None, typer.Option(help="Folder for list, data, certificate.")] = None,
    as_json: Json = False,
) -> None:
    """Choose one of a declared list, and bound its error.

    The list says what each candidate costs; predictions have a column for each, scores one for all
    thresholds of a candidate.

    Example: dudley certify select label-words
    """
    from dudley.certificates.auto import Ranking
    from dudley.certificates.methods.selection.candidates import read_list
    from dudley.certificates.methods.selection.method import Selection
    from dudley.certificates.methods.selection.outcomes import read_outcomes
    from dudley.certificates.selection import CertifiedSelection
    from dudley.cli.commands.certify import print_ranking
    from dudley.cli.hold_out import print_beside

    if out is not None and out.exists() and not out.is_dir():
        raise InputError("--out", "a folder", f"the file {out}")
    method, tables = Selection(), declarations(declare)
    if set(tables) - {method.name}:
        raise InputError("--declare", f"{method.name}.name=value", ", ".join(tables))
    candidates = candidates or beside(data, CANDIDATES)
    if candidates is None:
        raise InputError("list of candidates", "--candidates", "none", "declare it before the data")
    listed, outcomes = read_list(candidates), read_outcomes(within(data, OUTCOMES))
    table = tables.get(method.name, {}) | {"delta": delta, "candidates": listed.sha256}
    certificate = method.made(listed, outcomes, method.read_declared(table))
    result = CertifiedSelection(certificate, listed, outcomes)
    if out is not None:
        result.save(out)
    place = None if out is None else out / CERTIFICATE
    print_ranking(Ranking((certificate,), {}), place, f"dudley verify {out}", as_json)
    if not as_json and outcomes.prediction is None and outcomes.n >= FEWEST:
        print_beside(result.beside(), certificate)
