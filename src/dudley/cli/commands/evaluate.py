"""``dudley evaluate``: one published statement on numbers, as printed and as derived."""

from __future__ import annotations

from typing import Annotated

import typer

from dudley.cli.output import Json, print_document, print_json
from dudley.cli.statements import Statements
from dudley.core.vocabulary import split_assignments
from dudley.show.pages.statement import evaluated
from dudley.theorems import registry


def evaluate(
    id: Annotated[str, typer.Argument(help="The statement, such as trauger2024/lemma-3.6.")],
    values: Annotated[list[str] | None, typer.Argument(help="name=value for each input.")] = None,
    form: Annotated[
        str | None, typer.Option(help="printed, derived or best; all if absent.")
    ] = None,
    statements: Statements = None,
    as_json: Json = False,
) -> None:
    """One statement on numbers, in every form it has.

    Example: dudley evaluate trauger2024/lemma-3.6 d=64 k=64 W.l11=1 X.row2inf=1 epsilon=0.5
    """
    statement = registry.load()[id]
    inputs = split_assignments(values or [])
    names = list(statement.forms) if form is None else [form]
    bounds = {name: statement.evaluate_on(inputs, name) for name in names}
    if as_json:
        verdict = statement.verdict_json
        items = [
            {"id": id, "form": name, "verdict": verdict} | bound.to_json()
            for name, bound in bounds.items()
        ]
        print_json("evaluate", items)
        return
    print_document(evaluated(statement, bounds))
