"""Near-copies: which texts say nearly the same, exactly and in nearly linear time.

The *words* of a text are its runs of letters and digits, case folded, without HTML tags. Its
*shingles* are the sequences of five consecutive words that occur in it (all its words, if they are
fewer). Two texts are near-copies if their sets of shingles A and B have

    |A ∩ B| ≥ t |A ∪ B|,   t = 4/5.

Claim. Sort all shingles by the number of texts that have them, rare ones first. If A and B are
near, the first |A| − ⌈t|A|⌉ + 1 shingles of A and the first |B| − ⌈t|B|⌉ + 1 of B have one in
common.

Proof. |A ∩ B| ≥ t |A ∪ B| ≥ t max(|A|, |B|), so both sets have at least ⌈t|A|⌉ and ⌈t|B|⌉ shingles
in common. Let w be the first common shingle. At least ⌈t|A|⌉ − 1 common ones come after it in A, so
at most |A| − ⌈t|A|⌉ come before it, and the same holds in B. ∎

So only texts that share a shingle among these are compared, and each comparison is exact: the
result is that of comparing all pairs. Most shingles occur in one text alone, which is why few pairs
are left.

>>> texts = ["a b c d e f g h i j k l m n", "A b, c d!", "b c d e f g h i j k l m n", "a b c d"]
>>> [first.tolist() for first in copies(texts)]
[[0, 1, 2, 1], [0, 1, 0, 1]]
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np

NUMERATOR, DENOMINATOR = 4, 5  # t
WIDTH = 5
MIXERS = np.random.default_rng(5).integers(1 << 62, 1 << 63, 2 * WIDTH, np.uint64) | np.uint64(1)
RULE = "equal words, or sets of five-word shingles with a Jaccard index of at least 4/5"
_TAG = re.compile(r"<[^<>]*>")
_WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """Runs of letters and digits, case folded; tags are no words.

    >>> words("It's <br />GREAT.")
    ['it', 's', 'great']
    """
    return _WORD.findall(_TAG.sub(" ", text).casefold())


def copies(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """For each text, the first one with the same words, and the first that near-copies lead to.

    Two texts are joined by a chain of texts, each a near-copy of the one before.
    """
    lists = _coded(texts)
    copy_of = _first_equal(lists)
    different = np.flatnonzero(copy_of == np.arange(len(texts)))
    shared = CommonShingles.of([lists[i] for i in different])
    roots = Roots(len(different))
    for a, b in shared.candidates():
        if roots.root(a) != roots.root(b) and shared.near(a, b):
            roots.join(a, b)
    first = different[roots.all()]
    return copy_of, first[np.searchsorted(different, copy_of)]


class Roots:
    """Disjoint sets of whole numbers; the root of a set is its least member."""

    def __init__(self, n: int):
        self.above = list(range(n))

    def root(self, i: int) -> int:
        while self.above[i] != i:
            self.above[i] = self.above[self.above[i]]
            i = self.above[i]
        return i

    def join(self, a: int, b: int) -> None:
        low, high = sorted((self.root(a), self.root(b)))
        self.above[high] = low

    def all(self) -> np.ndarray:
        return np.array([self.root(i) for i in range(len(self.above))], int)


@dataclass(frozen=True, eq=False)
class CommonShingles:
    """The shingles that several texts have: pairs of numbers (text, shingle), each once, sorted.

    ``alone`` counts, for each text, its shingles that no other text has.
    """

    text: np.ndarray
    shingle: np.ndarray
    alone: np.ndarray

    @classmethod
    def of(cls, lists: list[np.ndarray]) -> CommonShingles:
        """Of lists of numbers of words.

        A hash that comes once belongs to a shingle that comes once. The others are numbered
        exactly: by the number of the first words, times the words there are, plus the last word,
        ranked anew after each word.
        """
        n = len(lists)
        padded = [np.pad(row, (0, max(0, WIDTH - len(row)))) for row in lists]
        word = np.concatenate([*padded, np.zeros(0, np.int32)])
        text = np.repeat(np.arange(n, dtype=np.int32), [len(row) for row in padded])
        starts = np.flatnonzero(text[: 1 - WIDTH] == text[WIDTH - 1 :])
        starts = starts[_repeated(_hashes(word)[starts])]
        number = word[starts].astype(np.int64)
        for i in range(1, WIDTH):
            longer = number * (int(word.max()) + 1) + word[starts + i]
            number = np.unique(longer, return_inverse=True)[1]
        size = int(number.max(initial=0)) + 1
        pairs = np.unique(text[starts] * np.int64(size) + number)
        owner, shingle = pairs // size, pairs % size
        several = np.bincount(shingle, minlength=1)[shingle] > 1
        places = np.array([max(1, len(row) - WIDTH + 1) for row in lists], np.int64)
        repeats = np.bincount(text[starts], minlength=n) - np.bincount(owner, minlength=n)
        alone = places - repeats - np.bincount(owner[several], minlength=n)
        return cls(owner[several], shingle[several], alone)

    @cached_property
    def ends(self) -> np.ndarray:
        """Where the pairs of each text begin, and the last ends."""
        return np.searchsorted(self.text, np.arange(len(self.alone) + 1))

    @cached_property
    def sizes(self) -> np.ndarray:
        """How many shingles each text has."""
        return self.alone + np.diff(self.ends)

    def near(self, a: int, b: int) -> bool:
        """Whether two texts are near-copies, by their whole sets."""
        A, B = (self.shingle[self.ends[i] : self.ends[i + 1]] for i in (a, b))
        common = len(np.intersect1d(A, B, assume_unique=True))
        union = int(self.sizes[a] + self.sizes[b]) - common
        return DENOMINATOR * common >= NUMERATOR * union

    def candidates(self) -> Iterator[tuple[int, int]]:
        """Pairs of texts that share one of the first shingles of each."""
        first = self.sizes + (-NUMERATOR * self.sizes) // DENOMINATOR + 1  # |A| − ⌈t|A|⌉ + 1
        frequency = np.bincount(self.shingle, minlength=1)[self.shingle]
        shingle = self.shingle[np.lexsort((self.shingle, frequency, self.text))]
        # A text's shingles that no other has come before all of these.
        place = np.arange(len(shingle)) - self.ends[self.text] + self.alone[self.text]
        early = place < first[self.text]
        text, shingle = self.text[early], shingle[early]
        rank = np.lexsort((text, shingle))
        text, breaks = text[rank].tolist(), np.flatnonzero(np.diff(shingle[rank])) + 1
        for begin, end in pairwise([0, *breaks.tolist(), len(text)]):
            yield from combinations(text[begin:end], 2)


def _coded(texts: Sequence[str]) -> list[np.ndarray]:
    """The words of each text as numbers from 1 on."""
    places: dict[str, int] = {}
    return [
        np.array([places.setdefault(w, len(places) + 1) for w in words(text)], np.int32)
        for text in texts
    ]


def _first_equal(lists: list[np.ndarray]) -> np.ndarray:
    first: dict[bytes, int] = {}
    return np.array([first.setdefault(row.tobytes(), i) for i, row in enumerate(lists)], np.int64)


def _hashes(word: np.ndarray) -> np.ndarray:
    """A hash for the shingle that begins at each place; what is beyond the end counts as 0."""
    total = np.zeros(len(word), np.uint64)
    for i in range(WIDTH):
        mixed = (word[i:].astype(np.uint64) + np.uint64(1)) * MIXERS[i]
        mixed ^= mixed >> np.uint64(29)
        total[: len(word) - i] += mixed * MIXERS[-1 - i]
    return total


def _repeated(hashes: np.ndarray) -> np.ndarray:
    """Which entries come more than once."""
    ordered = np.sort(hashes)
    several = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    return np.isin(hashes, several)
