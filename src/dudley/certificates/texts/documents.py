"""Documents as a pass reads them: bytes, a byte 0 at the end, cut at a declared length.

Declared are the longest and the shortest size in bytes, the end counted. A longer text is cut at
the longest, or at most three bytes before it so that no character is cut, and has no end then. A
shorter one is left out. With ``distinct`` one of each is left: then the population is that of
different documents, each is drawn from those that had not come before, and so is the new one that a
certificate is about. Otherwise more copies than
chance explains are refused by the order (`UnitOrder`).

>>> made = Documents.of([b"a cat", b"the dog ran off", b"it", b"a cat"], longest=8, shortest=4)
>>> made.texts, made.cut, made.short, made.n
((b'a cat\\x00', b'the dog ', b'a cat\\x00'), 1, 1, 3)
>>> Documents.of([b"a cat", b"a dog", b"a cat"], longest=8, shortest=4, distinct=True).copies
1
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dudley.certificates.trainings.base import expect_number
from dudley.core.errors import InputError

END = b"\0"
MOST_LONG = 1 << 20  # bytes of a document
MOST_TEXTS = 10**7
MOST_BYTES = 1 << 32  # of all documents


@dataclass(frozen=True, eq=False)
class Documents:
    """The documents, and how many were cut, left out as too short, or as copies."""

    texts: tuple[bytes, ...]
    longest: int
    shortest: int
    cut: int = 0
    short: int = 0
    copies: int = 0
    distinct: bool = False

    @staticmethod
    def of(raw: Iterable[bytes], longest: int, shortest: int, distinct: bool = False) -> Documents:
        """Documents of texts without a byte 0."""
        expect_number("longest", longest, 1, MOST_LONG)
        expect_number("shortest", shortest, 1, longest)
        texts: list[bytes] = []
        seen: set[bytes] = set()
        counts, size = {"cut": 0, "short": 0, "copies": 0}, 0
        for text in raw:
            if END in text:
                fix = "the byte 0 is the end of a document"
                raise InputError("text", "no byte 0", f"one in text {len(texts)}", fix)
            whole = len(text) < longest
            document = text + END if whole else _whole_characters(text[: longest + 3], longest)
            if len(document) < shortest:
                counts["short"] += 1
                continue
            if distinct and document in seen:
                counts["copies"] += 1
                continue
            seen.add(document)
            counts["cut"] += not whole
            size += len(document)
            texts.append(document)
            if len(texts) > MOST_TEXTS or size > MOST_BYTES:
                expected = f"at most {MOST_TEXTS:,} of {MOST_BYTES:,} bytes in all"
                raise InputError("documents", expected, "more")
        if len(texts) < 2:
            fix = "each line is a document unless --separator says something else"
            got = f"{len(texts)}, and {counts['short']} shorter ones"
            raise InputError("documents", f"at least 2 of {shortest} bytes or more", got, fix)
        return Documents(tuple(texts), longest, shortest, **counts, distinct=distinct)

    @property
    def n(self) -> int:
        return len(self.texts)

    @cached_property
    def sizes(self) -> np.ndarray:
        """Bytes of each document, the end counted."""
        return np.array([len(text) for text in self.texts], np.int64)


def _whole_characters(text: bytes, longest: int) -> bytes:
    """The first bytes, without the beginning of a character of UTF-8 that is not whole."""
    for cut in range(longest, max(longest - 4, 0), -1):
        if cut == len(text) or text[cut] & 0xC0 != 0x80:  # the next byte begins a character
            return text[:cut]
    return text[:longest]
