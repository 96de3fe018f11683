"""A verification as a document: does the certificate hold, what differs, what no one can check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dudley.core.rounding import ceiling
from dudley.show.document import Document, DocumentBlock, Points, Prose, Section

if TYPE_CHECKING:
    from dudley.certificates.verify import Verification


def document(certificate: dict[str, Any], verification: Verification) -> Document:
    """What was found when a certificate was computed again."""
    title, blocks = "does not hold", []
    if verification.holds:
        title = f"holds: {certificate['quantity']} ≤ {ceiling(verification.value, 6)}"
        equal = f"{verification.recomputed} fields computed again and equal"
        blocks.append(Prose(f"{equal}; method {certificate['method']}"))
    rest: tuple[DocumentBlock, ...] = (
        Points(tuple(map(str, verification.differences)), mark="✗"),
        Points(verification.remarks, mark="≈"),
        Points(tuple(f"declared: {words}" for words in verification.declarations)),
    )
    return Document("", (Section(title, (*blocks, *rest)),), kind="verification")
