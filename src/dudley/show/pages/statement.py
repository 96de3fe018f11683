"""Published statements as a document: hypotheses, formulas, verdict, erratum, counterexamples."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite, log10
from typing import Any

from dudley.core.bound import Bound
from dudley.core.statement import Input, Statement
from dudley.core.verdict import AsPrinted, Extent, Repair, Verdict
from dudley.show.counterexamples import Counterexample, words
from dudley.show.document import (
    Cell,
    Chart,
    Document,
    DocumentBlock,
    Folded,
    Formula,
    Line,
    Listing,
    Points,
    Properties,
    Prose,
    Section,
    Table,
)
from dudley.show.numbers import power, short
from dudley.show.pages import BUILDERS, made_by
from dudley.theorems import registry


@BUILDERS.register("theorem")
def document(items: list[dict[str, Any]]) -> Document:
    """What ``dudley theorems show ID --json`` prints."""
    (item,) = items
    blocks: list[DocumentBlock] = [Prose(item["says"]), *examined(item["verdict"])]
    blocks.append(Section("Hypotheses", hypotheses(item)))
    blocks += [
        Section(f"{form.capitalize()} form", (Formula(latex),))
        for form, latex in item["latex"].items()
    ]
    if item["erratum"]:
        blocks.append(Section("Erratum", (Prose(item["erratum"]),)))
    blocks += [counterexample(c) for c in item["counterexamples"]]
    return Document(
        item["id"],
        tuple(blocks),
        lead=(worded(item["verdict"]), f"bounds: {item['quantity']}"),
        made=made_by(),
        kind="statement",
    )


@BUILDERS.register("theorems")
def listed(items: list[dict[str, Any]]) -> Document:
    """What ``dudley theorems --json`` prints: what each statement says, and its verdict."""
    rows = [[item["id"], worded(item["verdict"]), item["says"]] for item in items]
    errata = [(item["id"], item["erratum"]) for item in items if item["erratum"]]
    blocks: list[DocumentBlock] = [Table.of(["statement", "verdict", "says"], rows)]
    if errata:
        blocks.append(Folded(f"Errata ({len(errata)})", (Properties(tuple(errata)),)))
    count = f"{len(items)} statement{'s' * (len(items) != 1)}"
    return Document("Statements", tuple(blocks), lead=(count,), made=made_by(), kind="statements")


@BUILDERS.register("evaluate")
def from_json(items: list[dict[str, Any]]) -> Document:
    """What ``dudley evaluate --json`` prints: the number of each form, and its terms."""
    rows = []
    for item in items:
        x = item["log_value"] if item["value"] is None else item["value"]
        log = "–" if x is None else f"e^{x:.6g}"
        shown = log if item["value"] is None else f"{x:.6g}"
        remark = "negative: it bounds nothing" if item["negative"] else ""
        remark = remark or ("says nothing" if item["vacuous"] else "")
        rows.append([item["form"], Cell(shown, x), item["sense"], remark])
    blocks: list[DocumentBlock] = [
        Prose(f"Bounds: {items[0]['quantity']}."),
        *examined(items[0]["verdict"]),
        Table.of(["form", "value", "holds", ""], rows),
    ]
    for item in items:
        if item["terms"]:
            terms = [[t["name"], cell_of(t["value"]), t["note"]] for t in item["terms"]]
            table = Table.of(["term", "value", ""], terms)
            blocks.append(Section(f"Terms of the {item['form']} form", (table,)))
    assumptions = {f"{a['statement']} ({a['status']})" for i in items for a in i["assumptions"]}
    if assumptions:
        blocks.append(Folded("What it rests on", (Points(tuple(sorted(assumptions))),)))
    lead = (worded(items[0]["verdict"]),)
    return Document(items[0]["id"], tuple(blocks), lead, made=made_by(), kind="evaluation")


def cell_of(x: float | None) -> Cell:
    return Cell("–") if x is None else Cell(f"{x:.6g}", x)


def worded(verdict: dict[str, str | None]) -> str:
    """The verdict of a statement's JSON in words."""
    fails = None if verdict["fails"] is None else Extent(verdict["fails"])
    axes = AsPrinted(verdict["as_printed"]), Repair(verdict["repair"]), fails
    return f"as printed {Verdict(*axes)}"


def examined(verdict: dict[str, str | None]) -> list[DocumentBlock]:
    """Which version the verdict is about, where something is to mend."""
    if verdict["repair"] == Repair.NOTHING.value or not verdict["examined"]:
        return []
    return [Prose(f"Examined: {verdict['examined']}. Not examined: {verdict['unexamined']}.")]


def hypotheses(item: dict[str, Any]) -> tuple[DocumentBlock, ...]:
    """Inputs, and what is assumed beyond them."""
    inputs = Properties(tuple((i["name"], i["meaning"]) for i in item["inputs"]))
    return (inputs, Points(tuple(item["assumptions"]))) if item["assumptions"] else (inputs,)


def counterexample(example: dict[str, Any]) -> Section:
    """Its story, its numbers, and the family along which it gets worse."""
    forms = {name: value for name, value in example["forms"].items() if value is not None}
    numbers = {"printed": forms.get("printed"), "at least (proved)": example["lower_bound"]}
    numbers |= {name: value for name, value in forms.items() if name != "printed"}
    rows = [[name, Cell(short(x), x)] for name, x in numbers.items() if x is not None]
    checked = Folded("Hypotheses that it keeps", (Points(tuple(example["hypotheses"])),))
    blocks: list[DocumentBlock] = [
        Prose(example["story"]),
        Prose("Inputs: " + ", ".join(f"``{word}``" for word in words(example["inputs"])) + "."),
        checked,
        Table.of(["form", "value"], rows),
    ]
    if formal := example.get("formal"):
        place = f"{formal['file']}, theorem {formal['theorem']} ({formal['says']})"
        blocks.append(Prose(f"Checked by the Coq kernel: {place}."))
    if example.get("family"):
        blocks += family(example["family"])
    return Section(f"{example['kind'].capitalize()} {example['name']}", tuple(blocks))


def family(record: dict[str, Any]) -> list[DocumentBlock]:
    """The printed value and what is provably exceeded, as the instance grows."""
    lines = [
        Line("printed", logs(record["printed"]), "printed", 1),
        Line("at least (proved)", logs(record["lower_bounds"]), "proved", 0),
    ]
    letter = record["grows"]
    grows = f"As {letter} grows, at least/printed grows like {letter}^{record['exponent']:.2f}."
    return [Chart(letter, "", tuple(record["sizes"]), tuple(lines), log=True), Prose(grows)]


def logs(values: list[float]) -> tuple[float | None, ...]:
    """log₁₀, where there is one."""
    return tuple(log10(v) if v > 0 else None for v in values)


def catalogue(statements: list[Statement]) -> Document:
    """For a terminal: what each statement says, with its verdict."""
    rows = [[s.id, s.standing, repair(s), s.says] for s in statements]
    count = f"{len(statements)} statement{'s' * (len(statements) != 1)}"
    versions = map(Prose, registry.caveats(statements))
    heads = ["statement", "as printed", "repair takes", "says"]
    return Document("", (Table.of(heads, rows), *versions, Prose(count)), kind="statements")


def repair(s: Statement) -> str:
    """What the repair takes; nothing is said where nothing is to mend."""
    return "" if s.verdict.stands else s.verdict.repair.value


def summary(s: Statement, counterexamples: list[Counterexample]) -> Document:
    """For a terminal: hypotheses, formulas, rates, erratum and counterexamples."""
    numbers = f" = {', '.join(s.also)}" if s.also else ""
    names = [[" or ".join((i.name, *i.aliases)), i.text + optional(i)] for i in s.inputs]
    assumptions = Points(tuple(map(str, s.assumptions)))
    blocks: list[DocumentBlock] = [
        Prose(s.says),
        *doubts(s),
        Section(f"bounds: {s.quantity}", ()),
        Folded("inputs", (Table.of(["", ""], names), assumptions)),
    ]
    blocks += [
        Folded(f"{name}, {form.sense.value}", (Formula(form.latex),))
        for name, form in s.forms.items()
    ]
    if s.rates:
        rates = ", ".join(f"{form} n^({power(exponent)})" for form, exponent in s.rates.items())
        blocks.append(Section(f"rates, up to logarithms: {rates}", ()))
    if s.erratum:
        blocks.append(Section(f"erratum: {s.erratum}", ()))
    title = f"{s.id}{numbers}  [{s.standing}]"
    return Document(title, (*blocks, *map(refutation, counterexamples)), kind="statement")


def doubts(s: Statement) -> list[DocumentBlock]:
    """The verdict in words and the version that was examined, where something is to mend."""
    if s.verdict.stands:
        return []
    version = [] if s.source is None else [Prose(s.source.caveat)]
    return [Prose(f"As printed: {s.judgement}."), *version]


def optional(i: Input) -> str:
    """What holds of an input that is not given."""
    if i.default is None:
        return ""
    return f" (default {i.default:g})" if isfinite(i.default) else " (optional)"


def refutation(c: Counterexample) -> Section:
    """For a terminal: the printed value, the provable one, and the derived ones."""
    printed, *others = [(form, value(bound)) for form, bound in c.values.items()]
    known = ("at least", f"{c.lower_bound:.6g}   (proved)")
    premises = ("keeps", "; ".join(c.hypotheses))
    rows = [premises, ("inputs", " ".join(words(c.inputs))), printed, known, *others]
    if c.formal is not None:
        rows.append(("formal", str(c.formal)))
    if c.family is not None:
        letter, sizes = c.family.grows, c.family.sizes
        grows = f"at least/printed grows like {letter}^{c.family.exponent:.2f}"
        rows.append(("family", f"{letter} = {sizes[0]:g} … {sizes[-1]:g}: {grows}"))
    return Section(f"{c.kind} {c.name}: {c.story}", (Properties(tuple(rows)),))


def value(bound: Bound) -> str:
    """A value by itself."""
    text = f"{bound.value:.6g}" if isfinite(bound.value) else f"e^{bound.log_value:.6g}"
    return text + ("   (the formula is negative here)" if bound.negative is not None else "")


def evaluated(s: Statement, bounds: dict[str, Bound]) -> Document:
    """For a terminal: each form's number; what the statement assumes is said once, at the end."""
    blocks: list[DocumentBlock] = []
    for form, bound in bounds.items():
        first, *rest = str(replace(bound, assumptions=())).splitlines()
        details = (Listing("\n".join(rest)),) if rest else ()
        blocks.append(Section("", (Points((f"{form}: {first}",), mark=""), *details)))
    if s.assumptions:
        blocks.append(Section("", (Points(tuple(map(str, s.assumptions))),)))
    return Document(f"{s.id}  [{s.standing}]", tuple(blocks), kind="evaluation")
