"""From choices to bits and back, exactly: arithmetic coding with whole numbers of any size.

A thing is told by a sequence of choices; each takes the part [start, stop)/total of the interval
that is left. Different things end in disjoint intervals of [0, 1). The code word of an interval is
its longest dyadic part [c, c+1)/2^ℓ (the first, of equal ones), the ℓ bits of c. Disjoint intervals
have disjoint dyadic parts, so no code word is a prefix of another, Σ 2^{−ℓ} ≤ 1 (Kraft), and

    ℓ ≤ ⌈log₂ 1/width⌉ + 1:

however many choices, one rounding for all. Rissanen 1976; Elias, in Abramson 1963.

>>> out = Writer()
>>> for choice in (4, 0, 2):
...     out.put(choice, choice + 1, 5)
>>> out.bits()
CodeWord('11010001')
>>> source = Reader(out.bits())
>>> [source.uniform(5) for _ in range(3)]
[4, 0, 2]
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

from dudley.core.errors import InputError

LONGEST = 1 << 26  # bits in a code word


@dataclass(frozen=True, repr=False)
class CodeWord:
    """A string of bits: those of ``value``, written with ``length`` places."""

    value: int
    length: int

    def __post_init__(self):
        if not (0 <= self.length <= LONGEST and 0 <= self.value < 1 << self.length):
            raise InputError("code word", "a number below 2^length", f"length {self.length}")

    def __str__(self) -> str:
        return format(self.value, "b").zfill(self.length) if self.length else ""

    def __repr__(self) -> str:
        return f"CodeWord({str(self)!r})"

    def to_json(self) -> dict[str, Any]:
        """The number of bits, and the bits with zeros up to a byte, in base64."""
        size = -(-self.length // 8)
        padded = self.value << (8 * size - self.length)
        return {
            "bits": self.length,
            "base64": base64.b64encode(padded.to_bytes(size, "big")).decode(),
        }

    @staticmethod
    def from_json(table: Any) -> CodeWord:
        """The inverse of ``to_json``; anything that is not exactly such a word is refused.

        >>> CodeWord.from_json(CodeWord(5, 4).to_json())
        CodeWord('0101')
        """
        expected = "bits (a number) and base64 (that many bits, then zeros)"
        if not isinstance(table, dict) or not {"bits", "base64"} <= set(table):
            raise InputError("code", expected, type(table).__name__)
        length, text = table["bits"], table["base64"]
        if type(length) is not int or not 0 <= length <= LONGEST or not isinstance(text, str):
            raise InputError("code", expected, f"{length!r}")
        try:
            raw = base64.b64decode(text, validate=True)
        except ValueError as error:
            raise InputError("code", expected, error) from None
        padded, spare = int.from_bytes(raw, "big"), 8 * len(raw) - length
        if len(raw) != -(-length // 8) or padded & ((1 << spare) - 1):
            raise InputError("code", expected, f"{len(raw)} bytes for {length} bits")
        word = CodeWord(padded >> spare, length)
        if word.to_json()["base64"] != text:
            raise InputError("code", "canonical base64", text)
        return word


class Writer:
    """The interval [low, low + width)/whole that is left."""

    def __init__(self):
        self.low, self.width, self.whole = 0, 1, 1

    def put(self, start: int, stop: int, total: int) -> None:
        """Take the part [start, stop)/total."""
        if not 0 <= start < stop <= total:
            raise InputError("a choice", f"0 ≤ start < stop ≤ {total}", (start, stop))
        self.low = self.low * total + start * self.width
        self.width *= stop - start
        self.whole *= total

    def uniform(self, index: int, total: int) -> None:
        """One of ``total`` equal parts."""
        self.put(index, index + 1, total)

    def bits(self) -> CodeWord:
        """The word of what is left."""
        length = max(0, self.whole.bit_length() - self.width.bit_length() - 1)
        while True:
            first = -(-(self.low << length) // self.whole)
            if (first + 1) * self.whole <= (self.low + self.width) << length:
                return CodeWord(first, length)
            length += 1


class Reader:
    """Where a word's number stands inside the interval that is left: at over/whole of it."""

    def __init__(self, bits: CodeWord):
        self.over, self.whole = bits.value, 1 << bits.length

    def spot(self, total: int) -> int:
        """Which of ``total`` equal parts holds it."""
        return self.over * total // self.whole

    def take(self, start: int, stop: int, total: int) -> None:
        """Go on in the part [start, stop)/total."""
        self.over = self.over * total - start * self.whole
        self.whole *= stop - start

    def uniform(self, total: int) -> int:
        """The index of the part, and go on in it."""
        index = self.spot(total)
        self.take(index, index + 1, total)
        return index
