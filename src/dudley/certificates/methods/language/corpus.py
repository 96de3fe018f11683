"""Corpora: independent documents as strings of symbols, with a hash.

A document is the first T symbols of a text, the end sign included where the text ends before. The
alphabet, T and the shortest length that counts are the domain of the certificate: it pays for
them as choices (:func:`domains`). A bound counts documents, never symbols or chunks. So
:meth:`Corpus.of` refuses a source, or a text, that comes twice. Texts that differ may still give
equal documents: a certificate refuses more of them than chance explains, and lists the others.

>>> corpus = Corpus.of(["a cat sat", "the dog ran off"], ["cat", "dog"], T=12, shortest=4)
>>> corpus.n, corpus.V, corpus.lengths, corpus.text(0)
(2, 32, array([10, 12]), 'a cat sat')
>>> Corpus.of(["a cat sat", "on the mat"], ["book", "book"], T=12, shortest=4)
Traceback (most recent call last):
dudley.core.errors.InputError: documents: expected one for every source, got 2 documents of 1...
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dudley.certificates import order
from dudley.certificates.data import freeze, sha256_of
from dudley.core.errors import InputError

SIGNS = ' abcdefghijklmnopqrstuvwxyz";-'
OTHERS = "!#$%&'()*+,./0123456789:<=>?@[\\]^_`{|}~"
PRINTABLE = SIGNS + OTHERS  # small letters and the rest of ASCII: what an alphabet is chosen from
LONGEST = 256  # symbols of a document
END = 0  # also what stands before the first symbol


@dataclass(frozen=True)
class Alphabet:
    """Small letters and a few signs; 0 is the end, V − 1 every other character."""

    signs: str = SIGNS

    def __post_init__(self):
        if not self.signs or len(set(self.signs)) != len(self.signs) or len(self.signs) > 250:
            raise InputError("alphabet", "1 to 250 different signs", self.signs)

    @property
    def V(self) -> int:
        return len(self.signs) + 2

    @cached_property
    def places(self) -> dict[str, int]:
        """The symbol of every sign."""
        return {sign: i for i, sign in enumerate(self.signs, 1)}

    def codes(self, text: str, T: int) -> list[int]:
        """The first T symbols; the end sign follows a shorter text."""
        places, other = self.places, self.V - 1
        codes = [places.get(c, other) for c in text.lower()[:T]]
        return codes + [END] * (len(codes) < T)


def domains(alphabet: Alphabet, T: int) -> int:
    """How many domains there are: sets of signs, longest and shortest lengths.

    >>> domains(Alphabet(), 64) == 2**69 * 256**2
    True
    """
    places = [PRINTABLE.find(sign) for sign in alphabet.signs]
    if -1 in places or places != sorted(places) or T > LONGEST:
        expected = f"signs in the order of {PRINTABLE}, at most {LONGEST} symbols"
        raise InputError("domain", expected, (alphabet.signs, T))
    return 2 ** len(PRINTABLE) * LONGEST**2


@dataclass(frozen=True, eq=False)
class Corpus:
    """n documents: codes (n, T), zeros after the end, and how many symbols of each count."""

    codes: np.ndarray
    lengths: np.ndarray
    alphabet: Alphabet
    shortest: int

    def __post_init__(self):
        codes, lengths = self.codes, self.lengths
        if codes.ndim != 2 or codes.dtype != np.uint8 or len(codes) == 0:
            raise InputError("codes", "uint8 of shape (n, T)", f"{codes.dtype} {codes.shape}")
        if lengths.shape != codes.shape[:1] or lengths.dtype.kind != "i":
            raise InputError("lengths", f"integers of shape ({len(codes)},)", lengths.shape)
        if codes.max() >= self.V:
            raise InputError("codes", f"symbols below {self.V}", codes.max())
        if not 1 <= self.shortest <= lengths.min() or lengths.max() > self.T:
            expected = f"lengths from {self.shortest} to {self.T}"
            raise InputError("documents", expected, f"{lengths.min()} to {lengths.max()}")
        places = np.arange(self.T)
        inside = places < lengths[:, None]
        ends = (codes == END) & inside
        last = ends & (places == lengths[:, None] - 1)
        full = lengths == self.T
        if (ends & ~last).any() or (codes * ~inside).any() or not (last.any(1) | full).all():
            raise InputError("documents", "one end sign, at the end or cut off", "others")
        for name in ("codes", "lengths"):
            object.__setattr__(self, name, freeze(getattr(self, name)))

    @cached_property
    def counts(self) -> np.ndarray:
        """How often each different document comes."""
        return order.counts(self.codes)

    @property
    def repeated(self) -> int:
        """How many documents equal an earlier one."""
        return self.n - len(self.counts)

    @cached_property
    def order(self) -> np.ndarray:
        """The canonical order of the documents; that of a file decides nothing."""
        return order.canonical(self.codes, self.lengths)

    @classmethod
    def of(
        cls,
        texts: Sequence[str],
        sources: Sequence[str],
        T: int,
        shortest: int,
        alphabet: Alphabet | None = None,
    ) -> Corpus:
        """A corpus of texts, each from a source of its own; shorter ones are refused."""
        alphabet = alphabet or Alphabet()
        if len(texts) != len(sources) or len(set(sources)) < len(texts):
            raise InputError(
                "documents",
                "one for every source",
                f"{len(texts)} documents of {len(set(sources))} sources",
                "chunks of one document are one document: a bound counts independent units",
            )
        if len(set(texts)) < len(texts):
            copies = f"{len(texts) - len(set(texts))} copies"
            raise InputError("documents", "different texts", copies, "keep one of each")
        rows = [alphabet.codes(text, T) for text in texts]
        codes = np.zeros((len(rows), T), np.uint8)
        for i, row in enumerate(rows):
            codes[i, : len(row)] = row
        return cls(codes, np.array([len(row) for row in rows], np.int64), alphabet, shortest)

    @property
    def n(self) -> int:
        return len(self.codes)

    @property
    def T(self) -> int:
        return self.codes.shape[1]

    @property
    def V(self) -> int:
        return self.alphabet.V

    @cached_property
    def sha256(self) -> str:
        """Of codes and lengths in canonical order, the alphabet and the shortest length."""
        signs = np.frombuffer(self.alphabet.signs.encode("utf-32-le"), np.uint8)
        codes, lengths = self.codes[self.order], self.lengths[self.order]
        parts = {"codes": codes, "lengths": lengths, "signs": signs}
        return sha256_of(parts | {"shortest": np.array([self.shortest])})

    def text(self, i: int) -> str:
        """Document i, as far as symbols tell; ␀ for those outside the alphabet."""
        signs = dict(enumerate(self.alphabet.signs, 1)) | {END: ""}
        return "".join(signs.get(int(c), "␀") for c in self.codes[i, : self.lengths[i]])

    def part(self, rows) -> Corpus:
        """Some of the documents, each once."""
        rows = np.arange(self.n)[rows]
        if len(np.unique(rows)) < len(rows):
            raise InputError("documents", "each once", f"{len(rows)} with copies")
        return Corpus(self.codes[rows], self.lengths[rows], self.alphabet, self.shortest)

    def split(self, n: int, seed: int) -> tuple[Corpus, Corpus]:
        """n documents drawn without replacement, and the rest: the order is the seed's."""
        if not 1 <= n < self.n:
            raise InputError("n", f"1 to {self.n - 1}", n)
        order = np.random.default_rng([seed, 20]).permutation(self.n)
        return self.part(order[:n]), self.part(order[n:])

    def uniform(self) -> float:
        """Bits per symbol of guessing: log₂ V."""
        return math.log2(self.V)

    def unigram(self) -> float:
        """The least bits per symbol of these documents, averaged by document, without context.

        Σ_v −w_v log₂ w_v, w_v the mean over documents of the share of symbol v: the best fixed
        distribution *for these documents*.
        """
        inside = np.arange(self.T) < self.lengths[:, None]
        weight = np.where(inside, 1.0 / self.lengths[:, None], 0.0) / self.n
        w = np.bincount(self.codes.ravel(), weight.ravel(), minlength=self.V)
        return float(-(w[w > 0] * np.log2(w[w > 0])).sum())

    def unigram_at_least(self, δ: float) -> float:
        """What the best fixed distribution costs on a new document, at least, at confidence 1 − δ.

        Let w* be the mean share of each symbol over all documents there are; its entropy H(w*) is
        the least cost. Entropy is concave, so H(w) has a mean of at most H(w*). Another document in
        place of one moves mass 1/n away and mass 1/n in, and |h(x+d) − h(x)| ≤ h(d) for h(x) =
        −x log₂ x and d ≤ ½ (Cover and Thomas 2006, theorem 17.3.3), so H(w) changes by at most
        2 log₂(nV)/n: mass 1/n weighs most when it is spread evenly. McDiarmid gives

            H(w*) ≥ H(w) − log₂(nV) √(2 ln(1/δ)/n).
        """
        width = math.log2(self.n * self.V) * math.sqrt(2 * math.log(1 / δ) / self.n)
        return max(0.0, self.unigram() - width) if self.n > 1 else 0.0
