"""A verification as a document: does the certificate hold, what differs, what no one can check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dudley.core.rounding import ceiling
from dudley.show.document import Document, DocumentBlock, Points, Prose, Section
from dudley.show.pages import BUILDERS, made_by, records

if TYPE_CHECKING:
    from dudley.certificates.kernel.report import KernelReport
    from dudley.certificates.verify import Verification


def document(
    certificate: dict[str, Any], verification: Verification, kernel: KernelReport | None = None
) -> Document:
    """What was found when a certificate was computed again, and what a proof kernel says of it."""
    title, blocks = "does not hold", []
    if verification.holds:
        title = f"holds: {certificate['quantity']} ≤ {ceiling(verification.value, 6)}"
        equal = f"{verification.recomputed} fields computed again and equal"
        blocks.append(Prose(f"{equal}; method {certificate['method']}"))
    blocks += [
        Points(tuple(map(str, verification.differences)), mark="✗"),
        Points(verification.remarks, mark="≈"),
    ]
    if kernel is not None:
        return Document("", (Section(title, tuple(blocks)), *answers(kernel)), kind="verification")
    blocks.append(Points(tuple(f"declared: {words}" for words in verification.declarations)))
    return Document("", (Section(title, tuple(blocks)),), kind="verification")


@BUILDERS.register("verification")
def from_json(items: list[dict[str, Any]]) -> Document:
    """What ``dudley verify --json`` printed when it computed a certificate again."""
    (item,) = items
    holds, kernel = item["holds"], item.get("coq")
    blocks: list[DocumentBlock] = []
    if holds:
        words = f"The number {ceiling(item['value'], 6)}: "
        blocks.append(Prose(f"{words}{item['recomputed']} fields computed again and equal."))
    lists = {"What differs": item["differences"], "Remarks": item["remarks"]}
    blocks += [Section(title, (Points(tuple(lines)),)) for title, lines in lists.items() if lines]
    declared = Points(tuple(item["declarations"]))
    blocks.append(Section("Declared: what no one can check", (declared,)))
    if kernel is not None:
        blocks.append(Section("What the kernel of Coq says", tuple(records.blocks([kernel]))))
    title = "A certificate that holds" if holds else "A certificate that does not hold"
    return Document(title, tuple(blocks), made=made_by(), kind="verification")


def answers(kernel: KernelReport) -> tuple[Section, ...]:
    """Who answers for what: the kernel, the program, a docstring, or who declared it."""
    word = f"kernel-checked (Coq {kernel.version}, no axioms)"
    if not kernel.accepted:
        word = f"refused by the kernel (Coq {kernel.version}): its program does not confirm"
    supposed = Section("proved in docstrings, not by the kernel", (Points(kernel.supposed),))
    return (
        Section(word, (Points(kernel.checked, mark="✓" if kernel.accepted else "✗"),)),
        Section("recomputed by program", (Points(kernel.recomputed),)),
        *((supposed,) if kernel.supposed else ()),
        Section("declared: what no one can check", (Points(kernel.declared),)),
    )
