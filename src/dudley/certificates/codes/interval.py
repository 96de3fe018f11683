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
LARGE = 1 << 15  # bits from which python-flint divides faster
LEADING, WINDOW = 2048, 64  # digits of a reader's window, choices made in it


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
    """The interval [low, low + width)/whole that is left.

    Choices are composed: after (l, w, t) the choice (l′, w′, t′) leaves (l·t′ + w·l′, w·w′, t·t′).
    Composition is associative, so runs of equal length are composed first. The factors of each
    product are then of equal size, and many choices cost little more than the last product, not
    the square of their number.
    """

    def __init__(self):
        self._runs: list[tuple[int, int, int, int]] = []  # choices in the run, low, width, whole

    def put(self, start: int, stop: int, total: int) -> None:
        """Take the part [start, stop)/total."""
        if not 0 <= start < stop <= total:
            raise InputError("a choice", f"0 ≤ start < stop ≤ {total}", (start, stop))
        run = 1, start, stop - start, total
        while self._runs and self._runs[-1][0] == run[0]:
            run = _composed(self._runs.pop(), run)
        self._runs.append(run)

    def uniform(self, index: int, total: int) -> None:
        """One of ``total`` equal parts."""
        self.put(index, index + 1, total)

    def bits(self) -> CodeWord:
        """The word of what is left."""
        run = 0, 0, 1, 1
        for earlier in reversed(self._runs):
            run = _composed(earlier, run)
        low, width, whole = map(_divisible, run[1:])
        length = max(0, run[3].bit_length() - run[2].bit_length() - 1)
        while True:
            first = -(-(low << length) // whole)
            if (first + 1) * whole <= (low + width) << length:
                return CodeWord(int(first), length)
            length += 1


def _composed(
    first: tuple[int, int, int, int], then: tuple[int, int, int, int]
) -> tuple[int, int, int, int]:
    """The interval after both runs of choices."""
    n, low, width, whole = first
    m, inner, part, total = then
    return n + m, low * total + width * inner, width * part, whole * total


def _divisible(number: int) -> Any:
    """The number, of a type whose division of large numbers is not quadratic."""
    if number.bit_length() < LARGE:
        return number
    from flint import fmpz

    return fmpz(number)


class Reader:
    """Where a word's number stands inside the interval that is left: at over/whole of it.

    The leading digits of both decide most choices. With a = ⌊over/2^s⌋ and b = ⌊whole/2^s⌋ the
    place is between a/(b + 1) and (a + 1)/b; while both ends fall into one part, so does the place.
    Choices made in this window are composed, and are made in the exact numbers when the window is
    used up or its ends are parted.
    """

    def __init__(self, bits: CodeWord):
        self.over, self.whole = bits.value, 1 << bits.length
        self._ends: list[tuple[int, int]] = []
        self._open()

    def spot(self, total: int) -> int:
        """Which of ``total`` equal parts holds it."""
        spots = {over * total // whole for over, whole in self._ends}
        if len(spots) == 1:
            return spots.pop()
        self._settle()
        return self.over * total // self.whole

    def take(self, start: int, stop: int, total: int) -> None:
        """Go on in the part [start, stop)/total."""
        width = stop - start
        self._run = _composed(self._run, (1, start, width, total))
        self._ends = [(over * total - start * whole, whole * width) for over, whole in self._ends]
        if not self._ends or self._run[0] == WINDOW:
            self._settle()
            self._open()

    def uniform(self, total: int) -> int:
        """The index of the part, and go on in it."""
        index = self.spot(total)
        self.take(index, index + 1, total)
        return index

    def _open(self) -> None:
        """Begin a window at the leading digits; short numbers are taken whole."""
        drop = self.whole.bit_length() - LEADING
        over, whole = self.over >> max(drop, 0), self.whole >> max(drop, 0)
        ends = [(over, whole + 1), (over + 1, whole)] if drop > 0 else [(over, whole)]
        self._run, self._ends = (0, 0, 1, 1), ends

    def _settle(self) -> None:
        """Make the choices of the window in the exact numbers, and close it."""
        _, low, width, whole = self._run
        self.over = self.over * whole - low * self.whole
        self.whole *= width
        self._run, self._ends = (0, 0, 1, 1), []
