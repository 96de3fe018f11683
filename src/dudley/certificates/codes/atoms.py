"""Codes of simple things: whole numbers, subsets, strings of levels, steps.

Each writes to a :class:`Writer` and reads back from a :class:`Reader`; alone, ``encode`` makes it a
prefix code of its own.

>>> encode(GAMMA, 5), decode(GAMMA, encode(GAMMA, 5))
(CodeWord('00101'), 5)
>>> len(str(encode(Subset(30, 3), (1, 12, 29))))     # log₂ C(30, 3) = 11.99
12
>>> decode(STEP, encode(STEP, 0.375))                # 3·2⁻³
0.375
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from dudley.certificates.codes.interval import CodeWord, Reader, Writer
from dudley.certificates.codes.stock import Stock
from dudley.core.errors import InputError

LARGEST = 40  # of the exponents in a code of numbers
FINEST = 64  # steps are m·2^e with |e| up to this
MANTISSA = 1 << 12
FEW = 64  # elements of a subset that is coded by its rank


class Atom(ABC):
    """Abstract: what is written and read back."""

    @abstractmethod
    def put(self, out: Writer, x: Any) -> None:
        """Write x."""

    @abstractmethod
    def get(self, source: Reader) -> Any:
        """Read it."""


def encode(atom: Atom, x: Any) -> CodeWord:
    """The code word of x."""
    out = Writer()
    atom.put(out, x)
    return out.bits()


def decode(atom: Atom, bits: CodeWord) -> Any:
    """The x of a code word; a string that is no code word is refused."""
    x = atom.get(Reader(bits))
    if encode(atom, x) != bits:
        raise InputError("code word", "one that the encoder writes", repr(bits))
    return x


@dataclass(frozen=True)
class OneOf(Atom):
    """0, …, size − 1: log₂ size bits each."""

    size: int

    def put(self, out, x):
        out.uniform(x, self.size)

    def get(self, source):
        return source.uniform(self.size)


@dataclass(frozen=True)
class Gamma(Atom):
    """1, 2, …: 2⌊log₂ n⌋ + 1 bits (Elias 1975): as many zeros as digits follow the first."""

    def put(self, out, x):
        if not 1 <= x < 2 << LARGEST:
            raise InputError("number to code", f"1 to 2^{LARGEST + 1} − 1", x)
        out.uniform(x, 1 << (2 * x.bit_length() - 1))

    def get(self, source):
        zeros = 0
        while source.uniform(2) == 0:
            zeros += 1
            if zeros > LARGEST:
                raise InputError("code word", f"a number below 2^{LARGEST + 1}", "a larger one")
        return (1 << zeros) + (source.uniform(1 << zeros) if zeros else 0)


@dataclass(frozen=True)
class Delta(Atom):
    """1, 2, …: ⌊log₂ n⌋ + 2⌊log₂(⌊log₂ n⌋ + 1)⌋ + 1 bits (Elias 1975): the length in gamma."""

    def put(self, out, x):
        if not 1 <= x < 2 << LARGEST:
            raise InputError("number to code", f"1 to 2^{LARGEST + 1} − 1", x)
        length = x.bit_length()
        GAMMA.put(out, length)
        out.uniform(x - (1 << (length - 1)), 1 << (length - 1))

    def get(self, source):
        length = GAMMA.get(source)
        if length > LARGEST + 1:
            raise InputError("code word", f"a number below 2^{LARGEST + 1}", "a larger one")
        return (1 << (length - 1)) + source.uniform(1 << (length - 1))


GAMMA, DELTA = Gamma(), Delta()


@dataclass(frozen=True)
class Subset(Atom):
    """k of the numbers 0, …, p − 1, increasing: log₂ C(p, k) bits.

    Few by their rank among all subsets (Cover 1973); many by going through the numbers, one of m
    that are left being in with probability (how many are still to come)/m: the same product.
    """

    p: int
    k: int

    def put(self, out, x):
        x = tuple(int(i) for i in x)
        if len(x) != self.k or list(x) != sorted(set(x)) or (x and not 0 <= x[0] <= x[-1] < self.p):
            raise InputError("subset", f"{self.k} increasing numbers below {self.p}", x)
        if self.k > FEW:
            return self._walk.put(out, np.isin(np.arange(self.p), x))
        rank = sum(math.comb(place, j) for j, place in enumerate(x, 1))
        out.uniform(rank, math.comb(self.p, self.k))

    def get(self, source):
        if self.k > FEW:
            return tuple(int(i) for i in np.flatnonzero(self._walk.get(source)))
        rank, top, chosen = source.uniform(math.comb(self.p, self.k)), self.p, []
        for j in range(self.k, 0, -1):
            low, high = j - 1, top - 1
            while low < high:
                middle = (low + high + 1) // 2
                low, high = (middle, high) if math.comb(middle, j) <= rank else (low, middle - 1)
            rank -= math.comb(low, j)
            chosen.append(low)
            top = low
        return tuple(reversed(chosen))

    @property
    def _walk(self) -> Arrangement:
        return Arrangement((self.p - self.k, self.k))


@dataclass(frozen=True)
class Arrangement(Atom):
    """A string in which letter l comes counts[l] times: log₂ (Σ counts)!/∏ counts! bits.

    Letter by letter, each with the share of what is left of it.
    """

    counts: tuple[int, ...]

    def put(self, out, x):
        left, total = Stock(self.counts), sum(self.counts)
        for letter in np.asarray(x, np.int64).ravel().tolist():
            start = left.below(letter)
            out.put(start, start + left.counts[letter], total)
            left.remove(letter)
            total -= 1
        if total:
            raise InputError("string", f"letters as often as {self.counts}", f"{total} less")

    def get(self, source):
        left, total = Stock(self.counts), sum(self.counts)
        letters = np.zeros(total, np.int64)
        for i in range(total):
            letter, start = left.at(source.spot(total - i))
            source.take(start, start + left.counts[letter], total - i)
            letters[i] = letter
            left.remove(letter)
        return letters


@dataclass(frozen=True)
class Levels(Atom):
    """A string of ``length`` letters 0, …, letters − 1: how often each comes, then in which order.

    log₂[ C(length + letters − 1, letters − 1) · length!/∏ n_l! ] bits: uniform over compositions,
    then over the strings with that composition.
    """

    length: int
    letters: int

    def put(self, out, x):
        x = np.asarray(x, np.int64).ravel()
        if len(x) != self.length or (len(x) and not 0 <= x.min() <= x.max() < self.letters):
            raise InputError("levels", f"{self.length} letters below {self.letters}", x)
        counts = tuple(int(c) for c in np.bincount(x, minlength=self.letters))
        self._bars.put(out, np.cumsum([c + 1 for c in counts])[:-1] - 1)
        Arrangement(counts).put(out, x)

    def get(self, source):
        ends = [-1, *self._bars.get(source), self.length + self.letters - 1]
        counts = tuple(ends[i + 1] - ends[i] - 1 for i in range(self.letters))
        return Arrangement(counts).get(source)

    @property
    def _bars(self) -> Subset:
        """A composition is the places of letters − 1 bars among length + letters − 1."""
        return Subset(self.length + self.letters - 1, self.letters - 1)


@dataclass(frozen=True)
class Step(Atom):
    """m·2^e > 0, m odd: gamma of (m + 1)/2 and of 1, 2, 3, … for e = 0, −1, 1, −2, …"""

    def put(self, out, x):
        m, e = dyadic(x)
        if m > MANTISSA or abs(e) > FINEST:
            raise InputError("step", f"m·2^e with m ≤ {MANTISSA}, |e| ≤ {FINEST}", x)
        GAMMA.put(out, (m + 1) // 2)
        GAMMA.put(out, 2 * e + 1 if e >= 0 else -2 * e)

    def get(self, source):
        m, folded = 2 * GAMMA.get(source) - 1, GAMMA.get(source)
        e = folded // 2 if folded % 2 else -folded // 2
        if m > MANTISSA or abs(e) > FINEST:
            raise InputError("step", f"m·2^e with m ≤ {MANTISSA}, |e| ≤ {FINEST}", (m, e))
        return math.ldexp(m, e)


STEP = Step()


def dyadic(x: float) -> tuple[int, int]:
    """(m, e) with x = m·2^e and m odd.

    >>> dyadic(6.0)
    (3, 1)
    """
    if not 0 < x < math.inf:
        raise InputError("step", "a finite number > 0", x)
    top, bottom = float(x).as_integer_ratio()
    twos = (top & -top).bit_length() - 1
    return top >> twos, twos - (bottom.bit_length() - 1)
