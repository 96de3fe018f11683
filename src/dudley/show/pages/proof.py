"""A proof as a document: each lemma with its formula and source, then its numbers here."""

from __future__ import annotations

from typing import Any

from dudley.core.bound import Bound
from dudley.networks.proof.steps import Proof, written
from dudley.show.document import (
    Cell,
    Document,
    DocumentBlock,
    Formula,
    Listing,
    Prose,
    Section,
    Table,
)


def document(proof: Proof) -> Document:
    """The steps, and the bound to which they add up."""
    return Document("", blocks(proof.to_json(), proof.bound, proof.n), kind="proof")


def blocks(
    steps: list[dict[str, Any]], bound: Bound | None = None, n: float | None = None
) -> tuple[DocumentBlock, ...]:
    """The steps as sections, from their plain data."""
    sections = [step(f"{i}. {one['title']}", one) for i, one in enumerate(steps, 1)]
    if bound is None or n is None:
        return tuple(sections)
    return (*sections, Section(f"Together, at n = {n:g}", (Listing(str(bound)),)))


def step(title: str, record: dict[str, Any]) -> Section:
    """One lemma and what it says of this network."""
    inside: list[DocumentBlock] = [Prose(record["statement"]), Formula(record["latex"])]
    if record["citation"]:
        inside.append(Prose(f"({record['citation']})"))
    inside += map(Prose, record.get("here", ()))
    for numbers in record.get("tables", ()):
        table = Table.of(numbers["heads"], [list(map(cell, row)) for row in numbers["rows"]])
        inside.append(Section(numbers["title"], (table,)) if numbers["title"] else table)
    return Section(title, tuple(inside))


def cell(value: str | int | float) -> Cell | str:
    """A number in as many digits as a proof writes; it sorts as what it is."""
    return value if isinstance(value, str) else Cell(written(value), value)
