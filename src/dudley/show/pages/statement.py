"""Published statements as a document: hypotheses, formulas, verdict, erratum, counterexamples."""

from __future__ import annotations

from math import log10
from typing import Any

from dudley.show.cells import short
from dudley.show.document import (
    Block,
    Cell,
    Chart,
    Document,
    Formula,
    Line,
    Points,
    Properties,
    Prose,
    Section,
    Table,
)
from dudley.show.pages import BUILDERS, made_by


@BUILDERS.register("theorem")
def document(items: list[dict[str, Any]]) -> Document:
    """What ``dudley theorems show ID --json`` prints."""
    (item,) = items
    blocks: list[Block] = [Prose(item["says"]), Section("Hypotheses", hypotheses(item))]
    blocks += [
        Section(f"{form.capitalize()} form", (Formula(latex),))
        for form, latex in item["latex"].items()
    ]
    if item["erratum"]:
        blocks.append(Section("Erratum", (Prose(item["erratum"]),)))
    blocks += [counterexample(one) for one in item["counterexamples"]]
    return Document(
        item["id"],
        tuple(blocks),
        lead=(item["verdict"], f"bounds: {item['quantity']}"),
        made=made_by(),
        kind="statement",
    )


def hypotheses(item: dict[str, Any]) -> tuple[Block, ...]:
    """Inputs, and what is assumed beyond them."""
    inputs = Properties(tuple((one["name"], one["meaning"]) for one in item["inputs"]))
    return (inputs, Points(tuple(item["assumptions"]))) if item["assumptions"] else (inputs,)


def counterexample(one: dict[str, Any]) -> Section:
    """Its story, its numbers, and the family along which it gets worse."""
    forms = {name: value for name, value in one["forms"].items() if value is not None}
    numbers = {"printed": forms.get("printed"), "at least (proved)": one["lower_bound"]}
    numbers |= {name: value for name, value in forms.items() if name != "printed"}
    rows = [[name, Cell(short(x), x)] for name, x in numbers.items() if x is not None]
    blocks: list[Block] = [Prose(one["story"]), Table.of(["form", "value"], rows)]
    if one.get("family"):
        blocks += family(one["family"])
    return Section(f"Counterexample {one['name']}", tuple(blocks))


def family(told: dict[str, Any]) -> list[Block]:
    """The printed value and what is provably exceeded, as the instance grows."""
    lines = [
        Line("printed", logs(told["printed"]), "printed", 1),
        Line("at least (proved)", logs(told["lower_bounds"]), "proved", 0),
    ]
    letter = told["grows"]
    words = f"As {letter} grows, at least/printed grows like {letter}^{told['exponent']:.2f}."
    return [Chart(letter, "", tuple(told["sizes"]), tuple(lines), log=True), Prose(words)]


def logs(values: list[float]) -> tuple[float | None, ...]:
    """log₁₀, where there is one."""
    return tuple(log10(v) if v > 0 else None for v in values)
