"""The stamp of a certificate's page: verified now, not verified, or does not hold.

A file may say anything. A page says a number in its own voice only where the number was computed
again from the model and the data; anywhere else it says what the file claims.

>>> Stamp().title("at most 1.32 % errors")
'Not verified: the file claims at most 1.32 % errors'
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dudley.show.document import DocumentBlock, Notice, Points, Section

if TYPE_CHECKING:
    from dudley.certificates.verify import Verification

COMMAND = "``dudley report CERT --model MODEL --data DATA`` computes every field again."
OF_DATA = "``dudley report CERT --data DATA`` computes every field again."  # which has no model


@dataclass(frozen=True)
class Stamp:
    """``holds`` is None where nothing was computed again; ``fix`` says how it would be."""

    holds: bool | None = None
    recomputed: int = 0
    files: tuple[str, ...] = ()
    at: str = ""
    differences: tuple[str, ...] = ()
    declarations: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    fix: str = COMMAND

    @staticmethod
    def of(verification: Verification, *files: Path) -> Stamp:
        """What a verification that ended just now says of a certificate."""
        return Stamp(
            verification.holds,
            verification.recomputed,
            tuple(path.name for path in files),
            f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
            tuple(map(str, verification.differences)),
            verification.declarations,
            verification.remarks,
        )

    def title(self, number: str) -> str:
        """The head of a page; a number that was refuted does not stand there."""
        if self.holds is None:
            return f"Not verified: {self.says(number)}"
        return f"Verified: {number}" if self.holds else "Does not hold"

    def says(self, number: str) -> str:
        """A number as this page may say it."""
        return number if self.holds else f"the file claims {number}"

    def notice(self) -> Notice:
        """The first lines of a page."""
        of = " and ".join(self.files)
        if self.holds is None:
            words = "Not verified. Every number on this page is what the file claims, and nothing "
            return Notice(f"{words}was computed again. {self.fix}", "claim")
        if self.holds:
            words = f"Verified now ({self.at}): {self.recomputed} fields were computed again from "
            accepted = " (counts within the declared tolerance, see below)" * bool(self.remarks)
            return Notice(f"{words}{of}, and equal those of the file{accepted}.", "yes")
        words = f"Does not hold. What was computed again from {of} ({self.at}) differs from the "
        first = f"The first difference is {self.differences[0]}."
        return Notice(f"{words}file, whose numbers prove nothing. {first}", "no")

    def sections(self) -> list[DocumentBlock]:
        """What differs, and what no one can check."""
        blocks: list[DocumentBlock] = []
        if self.differences:
            blocks.append(Section("Differences", (Points(self.differences),)))
        if self.holds and self.remarks:
            blocks.append(Section("Where this machine counts otherwise", (Points(self.remarks),)))
        if self.holds and self.declarations:
            blocks.append(Section("Declared, and not verifiable", (Points(self.declarations),)))
        return blocks

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "holds": self.holds,
            "recomputed": self.recomputed,
            "differences": list(self.differences),
            "remarks": list(self.remarks),
        }


def stamped(certificate: dict[str, Any], model: Path | None, data: Path) -> Stamp:
    """Compute a certificate again from the model's file, if it has one, and the data's."""
    from dudley.certificates import verify

    verification = verify.verify(certificate, *verify.parts(certificate, model, data))
    return Stamp.of(verification, *filter(None, (model, data)))
