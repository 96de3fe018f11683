"""Certificates as a document: the number, what it cost, what it rests on, what would lower it.

Each page is stamped (`stamp`): what was not computed again is what the file claims.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from dudley.certificates.certificate import RISK
from dudley.certificates.comparison.vacuity import blamed, why_vacuous
from dudley.certificates.comparison.winner import contenders_of, winner
from dudley.certificates.possible import expect_possible
from dudley.certificates.verify import expect_shape
from dudley.core.confidence import confidence
from dudley.core.rounding import ceiling, floor
from dudley.show.document import (
    Cell,
    Document,
    DocumentBlock,
    Folded,
    Listing,
    Points,
    Properties,
    Prose,
    Section,
    Table,
)
from dudley.show.pages import BUILDERS, made_by, short_hash

if TYPE_CHECKING:
    from dudley.show.pages.stamp import Stamp


@BUILDERS.register("certificates")
def document(items: list[dict[str, Any]], stamp: Stamp | None = None) -> Document:
    """All of them, the smallest first; nothing was computed again where no stamp says so."""
    from dudley.show.pages.stamp import COMMAND, OF_DATA, Stamp  # which the summary does without

    for item in items:
        checked(item)
    alone = all(item["method"] == "outcomes" for item in items)
    stamp = stamp or Stamp(fix=OF_DATA if alone else COMMAND)
    ordered = sorted(items, key=lambda item: (item["quantity"] != RISK, item["value"]))
    best = ordered[0]
    number = f"at most {amount(best, best['value'])}" + " errors" * (best["quantity"] == RISK)
    overviews = [overview(ordered, stamp)] if len(ordered) > 1 else []
    sections = (*overviews, *(details(item, stamp) for item in ordered))
    blocks: list[DocumentBlock] = [stamp.notice()]
    if stamp.holds is False:
        blocks += [*stamp.sections(), Folded("What the file claims", sections)]
    else:
        blocks += [*sections, *stamp.sections()]
    lead = (
        best["quantity"],
        f"with probability at least {confidence(best['delta'])} over the examples",
        f"n = {best['data']['n']:,}" if not units_of(best) else counted(best),
    )
    return Document(
        stamp.title(number),
        tuple(blocks),
        lead=() if stamp.holds is False else lead,
        made=made_by(),
        kind="certificate",
    )


def checked(item: Any) -> dict[str, Any]:
    """The certificate itself, if it has the shape of one and numbers that could be true."""
    return expect_possible(expect_shape(item))


def overview(items: list[dict[str, Any]], stamp: Stamp) -> Table:
    """One line for each certificate."""
    rows = [
        [
            item["method"],
            Cell(amount(item, item["value"]), item["value"]),
            says(item),
            Cell(f"{item['nats']:.4g}", item["nats"]),
        ]
        for item in items
    ]
    return Table.of(["method", stamp.says("at most"), "informative", "paid (nats)"], rows)


def details(item: dict[str, Any], stamp: Stamp) -> Section:
    """Everything that a certificate holds."""
    facts = measured(item)
    paid = [
        [p["name"], p.get("note", ""), Cell(f"{p['nats']:.4g}", p["nats"]),
         Cell(f"{p['nats'] / math.log(2):.4g}", p["nats"])]
        for p in item["prices"]
    ]  # fmt: skip
    declared = [
        (name, fact(value))
        for name, value in item["declared"].items()
        if value not in (None, "", [])
    ]
    low = item["facts"].get("at_least")
    ends = () if low is None else ((stamp.says("at least"), least(item, low)),)
    blocks: list[DocumentBlock] = [
        Properties(
            (
                ("what", item["quantity"]),
                (stamp.says("at most"), amount(item, item["value"])),
                *ends,
                ("informative", says(item).text),
                ("guessing", f"at least {least(item, item['baseline']['error_at_least'])}"),
                ("δ", f"{item['delta']}"),
            )
        ),
        Table.of(["choice", "which", "nats", "bits"], paid),
    ]
    blocks += answers_of(item, drawn=True)
    if item["advice"]:
        blocks.append(Folded("What would lower it", (Points(tuple(item["advice"])),), open=True))
    blocks += [
        Folded("Measured", (Properties(tuple(facts)),)),
        Folded("Declared before the data", (Properties(tuple(declared)),)),
        Folded("What it rests on", (Points(tuple(item["declarations"])),)),
        Properties(
            (
                ("model", f"{_size(item['model'])}sha256 "
                          f"{short_hash(item['model']['sha256'])}…"),
                ("data", f"{item['data']['n']:,} examples, "
                         f"sha256 {short_hash(item['data']['sha256'])}…"),
            )
        ),
    ]  # fmt: skip
    number = stamp.says(f"at most {amount(item, item['value'])}")
    return Section(f"{item['method']}: {number}", tuple(blocks))


def units_of(item: dict[str, Any]) -> int | None:
    """How many units the rows of a table of outcomes are of, where units were declared."""
    columns = item["declared"].get("columns")
    declared = isinstance(columns, dict) and columns.get("unit")
    return item["facts"]["n"] if item["method"] == "outcomes" and declared else None


def counted(item: dict[str, Any]) -> str:
    """What the number was counted on."""
    units, n = units_of(item), item["data"]["n"]
    return f"{n:,} examples" if units is None else f"{units:,} units of {n:,} rows"


def answers_of(item: dict[str, Any], drawn: bool = False) -> list[DocumentBlock]:
    """What a certificate of outcomes answers beside its number; nothing for other methods."""
    if item["method"] != "outcomes":
        return []
    from dudley.show.pages.outcomes import answered, charts

    return answered(item) + (charts(item) if drawn else [])


def measured(item: dict[str, Any]) -> list[tuple[str, str]]:
    """The facts that have no section of their own; a lower end is rounded down."""
    return [
        (name, floor(value, 6) if name == "at_least" else fact(value))
        for name, value in item["facts"].items()
        if value not in ([], {}) and not _is_answer(value)
    ]


def _is_answer(value: Any) -> bool:
    """Is it a table of answers, which has a section of its own?"""
    if isinstance(value, dict):
        return "level" in value or "at_most" in value
    return isinstance(value, list) and any(isinstance(part, dict) for part in value)


def _size(model: dict[str, Any]) -> str:
    """The number of weights, where the model has weights."""
    return f"{model['weights']:,} weights, " if "weights" in model else ""


APART = (
    "Each number holds with its own confidence: whoever takes the smaller one has chosen among "
    "several, and none of them has paid for that (name all methods, and they do)"
)


def ranking(items: list[dict[str, Any]], refused: dict[str, str], ending: str) -> Document:
    """For a terminal: the best certificate, what stands beside it, who wins, and what to do next.

    The ending may be a command, which is copied whole: its line is not broken.
    """
    others = [f"{item['method']}: {beside(item)}" for item in items[1:]]
    others += [f"{method} refused: {why}" for method, why in refused.items()]
    best, sentence = summary(items[0]), winner(contenders_of(items))
    if sentence and any(item["declared"]["among"] < len(items) for item in items):
        sentence += f". {APART}"
    rows = Properties(tuple(("beside it", words) for words in others))
    compared = (Section("", (Prose(sentence),)),) if sentence else ()
    return Document(
        "",
        (Section(best.title, (*best.blocks, rows)), *compared, Section("", (Listing(ending),))),
        kind="certificate",
    )


def beside(item: dict[str, Any]) -> str:
    """A certificate in a few words: the number, and what is to blame where it says nothing."""
    number = ceiling(item["value"], 6)
    return f"{number}, vacuous ({blamed(item)})" if item["vacuous"] else number


def summary(item: dict[str, Any]) -> Section:
    """For a terminal: the number, why it is what it is, what it rests on.

    A number that says nothing takes three lines; the file and the page hold the rest.
    """
    if item["vacuous"]:
        number, *lines = why_vacuous(item)
        return Section(number, (*(Prose(line) for line in lines), *answers_of(item)))
    over = f"over {counted(item)}; method {item['method']}"
    sure = f"with probability at least {confidence(item['delta'])} {over}"
    blocks: list[DocumentBlock] = [Prose(sure)]
    population = item["declared"]["population"]
    rows = [("population", population)] if population else []
    rows += [(name.replace("_", " "), words) for name, words in measured(item)]
    paid = f"{item['nats']:.6g} nats for what was chosen after the data"
    rows.append(("price", paid if item["prices"] else "0 nats: no choice to pay for"))
    rows += [("", f"{p['nats']:>8.4g}  {p['name']}: {p['note']}") for p in item["prices"]]
    most = item["baseline"]
    always = ""
    if "class" in most:
        count = f"{most['errors']:,} error{'s' * (most['errors'] != 1)}"
        always = f"always answering {most['class']} makes {count} here; "
    rows.append(("guessing", f"{always}its risk is at least {floor(most['error_at_least'])}"))
    blocks += [
        Properties(tuple(rows)),
        *answers_of(item),
        *([Prose("the number, and what would lower it:")] if item["advice"] else []),
        Points(tuple(item["advice"]), mark="→"),
        Points(tuple(item["declarations"])),
    ]
    return Section(f"{item['quantity']} ≤ {ceiling(item['value'], 6)}", tuple(blocks))


def says(item: dict[str, Any]) -> Cell:
    """Is it below what guessing gives?"""
    least = min(item["baseline"].get("worst", 1.0), item["baseline"]["error_at_least"])
    vacuous = item["vacuous"] or item["value"] >= least
    return Cell("no, vacuous", look="no") if vacuous else Cell("yes", look="yes")


def amount(item: dict[str, Any], value: float) -> str:
    """A risk in per cent, anything else as it is; rounded up."""
    return percent(value) if item["quantity"] == RISK else ceiling(value, 4)


def least(item: dict[str, Any], value: float) -> str:
    """The same, rounded down."""
    if item["quantity"] != RISK:
        return floor(value, 4)
    return f"{floor(Decimal(repr(value)).scaleb(2), 3)} %"


def percent(value: float) -> str:
    """A risk in per cent, three digits, rounded up; the number is the decimal of the file.

    >>> percent(0.01319), percent(0.000284), percent(1.0)
    ('1.32 %', '0.0284 %', '100 %')
    """
    return f"{ceiling(Decimal(repr(value)).scaleb(2), 3)} %"


def fact(value: Any) -> str:
    """A fact in a line."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return ", ".join(map(fact, value)) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{name} {fact(inner)}" for name, inner in value.items())
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
