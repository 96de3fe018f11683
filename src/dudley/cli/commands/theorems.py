"""``dudley theorems`` and ``dudley evaluate``: published statements, printed and derived."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Annotated

import typer

from dudley.cli.output import Json, formula, paragraph, print_json, width
from dudley.cli.statements import Statements
from dudley.core.bound import Bound
from dudley.core.errors import UnknownName
from dudley.core.statement import Input, Statement, Verdict
from dudley.core.vocabulary import split_assignments
from dudley.show.cells import power
from dudley.show.counterexamples import Counterexample, against, words
from dudley.theorems import registry
from dudley.theorems.order import in_reading_order

theorems_app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)


@theorems_app.callback()
def theorems(
    context: typer.Context,
    paper: Annotated[str | None, typer.Option(help="Only this paper's, by its key.")] = None,
    verdict: Annotated[str | None, typer.Option(help="Only those with this verdict.")] = None,
    statements: Statements = None,
    as_json: Json = False,
) -> None:
    """List the published statements with their verdicts.

    Example: dudley theorems --paper trauger2024 --verdict false
    """
    if context.invoked_subcommand is not None:
        return
    chosen = select(paper, verdict)
    if as_json:
        print_json("theorems", [s.to_json() for s in chosen])
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
    statements: Statements = None,
    as_json: Json = False,
) -> None:
    """Show one statement with its verdict.

    Hypotheses, formulas, erratum and counterexamples stand beside it.

    Example: dudley theorems show trauger2024/lemma-3.5
    """
    s = registry.load()[id]
    if as_json:
        found = [c.to_json() for c in against(id)]
        print_json("theorem", [s.to_json() | {"counterexamples": found}])
        return
    print("\n".join(described(s)))


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
    if s.rates:
        said = ", ".join(f"{form} n^({power(exponent)})" for form, exponent in s.rates.items())
        lines += ["", paragraph(said, 2, "rates, up to logarithms: ")]
    if s.erratum:
        lines += ["", paragraph(s.erratum, 2, "erratum: ")]
    for counterexample in against(s.id):
        lines += ["", *told(counterexample)]
    return lines


def told(c: Counterexample) -> list[str]:
    """A counterexample for people: the printed value, the provable one, and the derived ones."""
    lines = [paragraph(c.story, 2, f"counterexample {c.name}: ")]
    lines.append(paragraph(" ".join(words(c.inputs)), 14, "  inputs      "))
    printed, *others = [(form, number(bound)) for form, bound in c.values.items()]
    known = ("at least", f"{c.lower_bound:.6g}   (proved)")
    lines += [f"  {name:<10}  {text}" for name, text in (printed, known, *others)]
    if c.family is not None:
        sizes = c.family.sizes
        grown = f"{c.family.grows} = {sizes[0]:g} … {sizes[-1]:g}: at least/printed grows like "
        grown += f"{c.family.grows}^{c.family.exponent:.2f}"
        lines.append(paragraph(grown, 14, "  family      "))
    return lines


def number(bound: Bound) -> str:
    """A value by itself."""
    text = f"{bound.value:.6g}" if math.isfinite(bound.value) else f"e^{bound.log_value:.6g}"
    return text + ("   (the formula is negative here)" if bound.negative is not None else "")


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
    if paper is not None:
        registry.expect_paper(paper)
    words = [v.value for v in Verdict]
    if verdict is not None and verdict not in words:
        raise UnknownName("verdict", verdict, words)
    return [
        s
        for s in in_reading_order()
        if paper in (None, s.paper) and verdict in (None, s.verdict.value)
    ]
