"""The tour as a document: the model, its norms, every bound, a refutation, the certificate."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dudley.core.rounding import ceiling
from dudley.show.document import (
    Cell,
    Document,
    DocumentBlock,
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
            certificate.details(facts["certificate"], stamp),
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


@BUILDERS.register("standing")
def stands(items: list[dict[str, Any]]) -> Document:
    """What ``dudley certify picture --json`` prints: every bound on one model."""
    from dudley.certificates.standing.row import from_json

    (item,) = items
    return Document(
        "Every bound on one model",
        tuple(bounds(from_json(item))),
        lead=(f"n = {item['n']:,}", f"δ = {item['delta']:g}"),
        made=made_by(),
        kind="standing",
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


def norms(weights: dict[str, dict[str, float]]) -> Table:
    """Upper ends that are proved."""
    names = list(dict.fromkeys(norm for norms in weights.values() for norm in norms))
    rows = [
        [name, *(Cell(ceiling(norms[n]), norms[n]) if n in norms else Cell("–") for n in names)]
        for name, norms in weights.items()
    ]
    return Table.of(["weights", *names], rows)


def bounds(stands: Standing) -> list[DocumentBlock]:
    """The figure and its table."""
    from dudley.show import standing

    lost = tuple(f"{why}: {', '.join(n)}" for why, n in standing.reasons(stands).items())
    blocks: list[DocumentBlock] = [
        Prose(standing.measured(stands)),
        drawn(stands),
        standing.bounds(stands),
        Folded("What the columns and marks mean", (Prose(standing.NOTES.replace("*", "")),)),
    ]
    return blocks + (
        [Folded(f"What does not apply ({len(lost)})", (Points(lost),))] if lost else []
    )


def drawn(stands: Standing) -> Picture:
    """The picture of all bounds on one axis."""
    from dudley.show.figures import picture

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "picture.svg"
        picture.draw(stands, [path])
        return Picture(path.read_text(encoding="utf-8"), "all bounds on one axis")


def broken(item: dict[str, Any]) -> list[DocumentBlock]:
    """What the paper prints, what is wrong, and the instance that shows it."""
    return [
        Prose(f"{item['id']}: {item['says']}"),
        *statement.examined(item["verdict"]),
        Prose("Printed:"),
        Formula(item["latex"]["printed"]),
        Prose(item["erratum"]),
        Prose("With explicit constants this holds:"),
        Formula(item["latex"]["derived"]),
        *(statement.counterexample(c) for c in item["counterexamples"]),
    ]


def verified(record: dict[str, Any]) -> Properties:
    """What a stranger found."""
    return Properties(
        (
            ("holds", "yes" if record["holds"] else "no"),
            ("computed again", f"{record['recomputed']} fields, from the files alone"),
            ("a forged number", "is caught" if record["forgery_caught"] else "is not caught"),
            ("no file can prove", "; ".join(record["declarations"])),
        )
    )
