"""The tour as a document: the model, its norms, every bound, a refutation, the certificate."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dudley.core.rounding import ceiling
from dudley.show.document import (
    Block,
    Cell,
    Document,
    Folded,
    Formula,
    Picture,
    Points,
    Properties,
    Prose,
    Section,
    Table,
)
from dudley.show.pages import BUILDERS, certificate, made_by, statement
from dudley.show.pages.stamp import Stamp

if TYPE_CHECKING:
    from dudley.certificates.standing.row import Standing


@BUILDERS.register("tour")
def document(items: list[dict[str, Any]], stamp: Stamp | None = None) -> Document:
    """What ``dudley tour --json`` prints, or what it left in its folder.

    The tour itself has just verified its certificate, and says so by a stamp.
    """
    from dudley.certificates.standing.row import (
        from_json,  # needs torch, which other reports do not
    )

    (facts,) = items
    stamp = stamp or Stamp(fix="``dudley tour`` makes such a page and computes every number on it.")
    how, value = facts["training"], certificate.checked(facts["certificate"])["value"]
    stands = from_json(facts["standing"])
    ending = "Verified" if stamp.holds else "What the file says of its verification"
    return Document(
        stamp.title("from a trained head to a certificate"),
        (
            stamp.notice(),
            *(stamp.sections() if stamp.holds is False else ()),
            Section("The model", (trained(how),)),
            Section("Its norms", (norms(facts["norms"]),)),
            Section("Every bound beside the measured error", tuple(bounds(stands))),
            Section("A published statement, broken", tuple(broken(facts["broken"]))),
            certificate.one(facts["certificate"], stamp),
            Section(ending, (verified(facts["verified"]),)),
        ),
        lead=(
            f"{how['weights']} weights",
            f"n = {how['n']:,}",
            stamp.says(f"at most {certificate.percent(value)} errors"),
        ),
        made=made_by(),
        kind="tour",
    )


def trained(how: dict[str, Any]) -> Properties:
    """What was trained, on what, and how it did."""
    task, wrong = how["task"], how["errors"]
    return Properties(
        (
            ("task", f"{task['name']} of {task['s']} hidden bits among {task['T']}"),
            ("network", f"one attention head with a fixed query, {how['weights']} weights"),
            ("training", f"{how['n']:,} examples, seed {how['seed']}, {how['seconds']:g} s"),
            ("errors", f"{wrong['train']} on the training examples, {wrong['test']} on as many "
                       "fresh ones"),
        )
    )  # fmt: skip


def norms(found: dict[str, dict[str, float]]) -> Table:
    """Upper ends that are proved."""
    names = list(dict.fromkeys(norm for own in found.values() for norm in own))
    rows = [
        [name, *(Cell(ceiling(own[n]), own[n]) if n in own else Cell("–") for n in names)]
        for name, own in found.items()
    ]
    return Table.of(["weights", *names], rows)


def bounds(found: Standing) -> list[Block]:
    """The figure and its table."""
    from dudley.certificates.standing.row import KINDS
    from dudley.show import standing

    rows = []
    for kind in KINDS:
        every = standing.merged(found.of(kind))
        for line, row in zip(standing.lines(found, kind), every, strict=True):
            name, printed, proved, best, needed, culprit = line
            numbers = ((printed, row.printed), (proved, row.value), (best, row.best))
            cells = [Cell(text, key) for text, key in numbers]
            rows.append([name, *cells, Cell(needed, row.needed.get("value")), culprit])
    lost = tuple(f"{why}: {', '.join(n)}" for why, n in standing.reasons(found).items())
    blocks: list[Block] = [
        Prose(standing.measured(found)),
        drawn(found),
        Table.of(standing.HEAD, rows),
        Folded("What the columns and marks mean", (Prose(standing.NOTES.replace("*", "")),)),
    ]
    return blocks + (
        [Folded(f"What does not apply ({len(lost)})", (Points(lost),))] if lost else []
    )


def drawn(found: Standing) -> Picture:
    """The picture of all bounds on one axis."""
    from dudley.show.figures import picture

    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "picture.svg"
        picture.draw(found, [path])
        return Picture(path.read_text(encoding="utf-8"), "all bounds on one axis")


def broken(item: dict[str, Any]) -> list[Block]:
    """What the paper prints, what is wrong, and the instance that shows it."""
    return [
        Prose(f"{item['id']}: {item['says']}"),
        Prose("Printed:"),
        Formula(item["latex"]["printed"]),
        Prose(item["erratum"]),
        Prose("With explicit constants this holds:"),
        Formula(item["latex"]["derived"]),
        *(statement.counterexample(one) for one in item["counterexamples"]),
    ]


def verified(told: dict[str, Any]) -> Properties:
    """What a stranger found."""
    return Properties(
        (
            ("holds", "yes" if told["holds"] else "no"),
            ("computed again", f"{told['recomputed']} fields, from the files alone"),
            ("a forged number", "is caught" if told["forgery_caught"] else "is not caught"),
            ("rests on the word of who declared it", "; ".join(told["declarations"])),
        )
    )
