"""A number on each line: the loss, 1 for an error and 0 for none.

>>> NumberLines().losses(["0", "1", "0.25"])
[0.0, 1.0, 0.25]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dudley.certificates.stream.line_format import FORMATS, LineFormat, Unreadable, number


@FORMATS.register("numbers")
@dataclass(frozen=True)
class NumberLines(LineFormat):
    """Final: with ``correct`` a 1 is a right answer."""

    name = "numbers"
    correct: bool = False

    @classmethod
    def begin(cls, first: str, column: str | None, correct: bool) -> NumberLines | None:
        try:
            float(first)  # whether it is a loss is seen with the others
        except ValueError:
            return None
        return cls(correct)

    def losses(self, lines: Sequence[str]) -> list[float]:
        losses = []
        for i, text in enumerate(lines):
            try:
                value = number(text)
            except Unreadable as error:
                error.at = i
                raise
            losses.append(1 - value if self.correct else value)
        return losses
