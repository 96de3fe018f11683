"""``dudley theorems`` and ``dudley evaluate``: published statements, printed and derived."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Annotated

import typer

from dudley.cli.output import formula, paragraph, print_json, width
from dudley.core.bound import Bound
from dudley.core.errors import UnknownName
from dudley.core.statement import Input, Statement, Verdict
from dudley.core.vocabulary import split_assignments
from dudley.theorems import registry

theorems_app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)
Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]


@theorems_app.callback()
def theorems(
    context: typer.Context,
    paper: Annotated[str | None, typer.Option(help="Only this paper's, by its key.")] = None,
    verdict: Annotated[str | None, typer.Option(help="Only those with this verdict.")] = None,
    as_json: Json = False,
) -> None:
    """List the published statements with their verdicts.

    Example: dudley theorems --paper trauger2024 --verdict false
    """
    if context.invoked_subcommand is not None:
        return
    chosen = select(paper, verdict)
    if as_json:
        print_json("theorems", [summary(s) for s in chosen])
        return
    for s in chosen:
        head = f"{s.id:<30} {s.verdict.value:<16} "
        if width() < 110:
            print(head.rstrip())
            head = "    "
        print(paragraph(s.says, len(head), head))
    print(f"{len(chosen)} statements")


@theorems_app.command("show")
def show(
    id: Annotated[str, typer.Argument(help="The statement, such as trauger2024/theorem-4.1.")],
    as_json: Json = False,
) -> None:
    """Hypotheses, both formulas, verdict and erratum of one statement.

    Example: dudley theorems show trauger2024/lemma-3.5
    """
    s = registry.load()[id]
    if as_json:
        print_json("theorem", [summary(s)])
        return
    print("\n".join(described(s)))


def evaluate(
    id: Annotated[str, typer.Argument(help="The statement, such as trauger2024/lemma-3.6.")],
    values: Annotated[list[str] | None, typer.Argument(help="name=value for each input.")] = None,
    form: Annotated[
        str | None, typer.Option(help="printed, derived or best; all if absent.")
    ] = None,
    as_json: Json = False,
) -> None:
    """One statement on numbers, in every form it has.

    Example: dudley evaluate trauger2024/lemma-3.6 d=64 k=64 W.l11=1 X.row2inf=1 epsilon=0.5
    """
    statement = registry.load()[id]
    given = split_assignments(values or [])
    names = list(statement.forms) if form is None else [form]
    bounds = {name: statement.evaluate_on(given, name) for name in names}
    if as_json:
        verdict = statement.verdict.value
        items = [
            {"id": id, "form": name, "verdict": verdict} | bound.to_json()
            for name, bound in bounds.items()
        ]
        print_json("evaluate", items)
        return
    print(f"{id}  [{statement.verdict.value}]")
    for name, bound in bounds.items():
        print("\n" + answer(name, bound))
    if statement.assumptions:
        print()
    for assumption in statement.assumptions:
        print(paragraph(str(assumption), 4, "  · "))


def described(s: Statement) -> list[str]:
    """A statement for people, line by line."""
    numbers = f" = {', '.join(s.also)}" if s.also else ""
    lines = [f"{s.id}{numbers}  [{s.verdict.value}]", paragraph(s.says, 0), ""]
    lines += [paragraph(s.quantity, 8, "bounds: "), "inputs:"]
    names = {i.name: " or ".join((i.name, *i.aliases)) for i in s.inputs}
    column = max(map(len, names.values()))
    for i in s.inputs:
        lines.append(paragraph(i.text + optional(i), column + 4, f"  {names[i.name]:<{column}}  "))
    lines += [paragraph(str(assumption), 4, "  · ") for assumption in s.assumptions]
    for name, form in s.forms.items():
        lines += ["", f"{name}, {form.sense.value}:", formula(form.latex)]
    return [*lines, "", paragraph(s.erratum, 2, "erratum: ")] if s.erratum else lines


def optional(i: Input) -> str:
    """What holds of an input that is not given."""
    if i.default is None:
        return ""
    return f" (default {i.default:g})" if math.isfinite(i.default) else " (optional)"


def answer(name: str, bound: Bound) -> str:
    """One form's number; what the statement assumes is said once, after all forms."""
    first, *rest = str(replace(bound, assumptions=())).splitlines()
    return "\n".join([paragraph(first, 4, f"{name}: "), *rest])


def select(paper: str | None, verdict: str | None) -> list[Statement]:
    """The statements of a paper or with a verdict, in the order of the papers."""
    if paper is not None and paper not in registry.PAPERS:
        raise UnknownName("paper", paper, registry.PAPERS)
    words = [v.value for v in Verdict]
    if verdict is not None and verdict not in words:
        raise UnknownName("verdict", verdict, words)
    statements = [s for _, s in registry.load().items()]
    return [
        s
        for s in sorted(statements, key=lambda s: reading_order(s.id))
        if paper in (None, s.paper) and verdict in (None, s.verdict.value)
    ]


def reading_order(id: str) -> tuple:
    """Papers by key, numbers before letters, 4.2 before 4.10."""
    paper, _, rest = id.partition("/")
    number = rest.partition("-")[2]
    parts = [(0, int(p), "") if p.isdigit() else (1, 0, p) for p in number.split(".")]
    return paper, parts, rest


def summary(s: Statement) -> dict:
    """A statement as plain data."""
    return {
        "id": s.id,
        "kind": s.kind,
        "says": s.says,
        "quantity": s.quantity,
        "verdict": s.verdict.value,
        "erratum": s.erratum,
        "inputs": [{"name": i.name, "meaning": i.text} for i in s.inputs],
        "latex": {name: form.latex for name, form in s.forms.items()},
        "assumptions": [str(a) for a in s.assumptions],
        "also": list(s.also),
    }
