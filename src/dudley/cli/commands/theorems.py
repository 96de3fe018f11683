"""``dudley theorems``: published statements, with verdicts, errata and counterexamples."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from dudley.cli.output import Json, print_document, print_json
from dudley.cli.statements import Statements
from dudley.core.errors import UnknownName
from dudley.core.statement import Statement
from dudley.core.verdict import AsPrinted, Repair
from dudley.show.counterexamples import against
from dudley.show.pages import statement as pages
from dudley.theorems import registry
from dudley.theorems.order import in_reading_order

theorems = typer.Typer(invoke_without_command=True, rich_markup_mode=None)


@theorems.callback()
def list_statements(
    context: typer.Context,
    paper: Annotated[str | None, typer.Option(help="Only this paper's, by its key.")] = None,
    verdict: Annotated[
        str | None, typer.Option(help="Only those that are true, false or undecided as printed.")
    ] = None,
    repair: Annotated[
        str | None, typer.Option(help="Only those whose repair takes this, such as 'a symbol'.")
    ] = None,
    statements: Statements = None,
    as_json: Json = False,
) -> None:
    """List the published statements with their verdicts.

    Is each true as printed, in the version that was examined, and what does its repair take?

    Example: dudley theorems --paper trauger2024 --verdict false
    """
    if context.invoked_subcommand is not None:
        return
    chosen = select(paper, verdict, repair)
    if as_json:
        print_json("theorems", [s.to_json() for s in chosen])
        return
    print_document(pages.catalogue(chosen))


@theorems.command("show")
def show(
    id: Annotated[str, typer.Argument(help="The statement, such as trauger2024/theorem-4.1.")],
    statements: Statements = None,
    as_json: Json = False,
) -> None:
    """Show one statement with its verdict.

    Hypotheses, formulas, erratum and counterexamples stand beside it.

    Example: dudley theorems show trauger2024/lemma-3.5
    """
    statement = registry.load()[id]
    if as_json:
        refuted = [counterexample.to_json() for counterexample in against(id)]
        print_json("theorem", [statement.to_json() | {"counterexamples": refuted}])
        return
    print_document(pages.summary(statement, against(id)))


def select(paper: str | None, verdict: str | None, repair: str | None) -> list[Statement]:
    """The statements of a paper, with a verdict or a repair, in the order of the papers."""
    if paper is not None:
        registry.expect_paper(paper)
    _expect("verdict", verdict, AsPrinted)
    _expect("repair", repair, Repair)
    return [
        s
        for s in in_reading_order()
        if paper in (None, s.paper)
        and verdict in (None, s.verdict.as_printed.value)
        and repair in (None, s.verdict.repair.value)
    ]


def _expect(option: str, word: str | None, axis: type[Enum]) -> None:
    words = [member.value for member in axis]
    if word is not None and word not in words:
        raise UnknownName(option, word, words)
