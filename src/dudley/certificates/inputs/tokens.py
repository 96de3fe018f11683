"""Tokens of a vocabulary: one-hot rows, and the padding that ends an example is cut.

T codes below V become the rows e_code ∈ R^V. With ``pad`` ≥ 0 the codes ``pad`` at the end of an
example are no tokens: a network that masks them computes what it computes without them, so they are
cut, and an example has the rows that are left. Padding that stands before a token is a token.

A dense layer that reads one-hot rows takes a row of its table: 0·w and 1·w are exact, and so is a
sum with zeros. `OneHotRows` does that, and the rows themselves are never made.

>>> tokens = VocabularyTokens(V=5, T=4, pad=0)
>>> X = np.array([[3, 1, 0, 0], [2, 0, 4, 0], [2, 2, 0, 0]])
>>> [list(map(int, part)) for part in tokens.alike(X)]
[[0, 2], [1]]
>>> tokens.rows(X[:1]).argmax(-1)
array([[3, 1]])
>>> table = np.arange(10.0).reshape(5, 2)
>>> bool((tokens.entering(X[:1]) @ table == tokens.rows(X[:1]) @ table).all())
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dudley.certificates.encodings import ENCODINGS, Encoding, expect_codes, expect_integers
from dudley.core.constraint import size_of
from dudley.core.errors import InputError
from dudley.networks.embeddings import OneHot, Tokens


@dataclass(frozen=True, eq=False)
class OneHotRows:
    """Rows e_code, as what multiplies a table."""

    codes: np.ndarray

    def __matmul__(self, table: np.ndarray) -> np.ndarray:
        return table[self.codes]


@ENCODINGS.register("tokens")
@dataclass(frozen=True)
class VocabularyTokens(Encoding):
    """T codes below V ↦ one-hot rows in R^V; those after the last that is no padding are cut."""

    V: int
    T: int
    pad: int = -1
    name: ClassVar[str] = "tokens"
    looks_up: ClassVar[bool] = True

    def __post_init__(self):
        size_of("V", self.V)
        size_of("T", self.T)
        if not -1 <= self.pad < self.V:
            raise InputError("pad", f"a code below V = {self.V}, or -1 for none", self.pad)

    @property
    def inputs(self) -> Tokens:
        return OneHot(self.V, self.T)

    @property
    def ragged(self) -> bool:
        return self.pad >= 0

    def lengths(self, X: np.ndarray) -> np.ndarray:
        """The number of rows of each example."""
        expect_integers(X, self.T)
        if not self.ragged:
            return np.full(len(X), self.T)
        token = np.not_equal(X, self.pad)
        if not token.any(axis=1).all():
            raise InputError("X", f"a token other than the padding {self.pad}", "an empty example")
        return self.T - token[:, ::-1].argmax(axis=1)

    def alike(self, X: np.ndarray) -> list[np.ndarray]:
        lengths = self.lengths(X)
        return [np.flatnonzero(lengths == T) for T in np.unique(lengths)]

    def codes(self, X: np.ndarray) -> np.ndarray:
        """The codes of examples of one length."""
        lengths = np.unique(self.lengths(X))
        if len(lengths) > 1:
            got = f"{lengths[0]} to {lengths[-1]} tokens"
            raise InputError("X", "examples of one length", got)
        expect_codes(X, self.V, f"codes 0, 1, … below {self.V}")
        return X[:, : lengths[0] if len(lengths) else self.T].astype(np.int64)

    def rows(self, X: np.ndarray) -> np.ndarray:
        codes = self.codes(X)
        made = np.zeros((*codes.shape, self.V))
        np.put_along_axis(made, codes[..., None], 1.0, axis=-1)
        return made

    def entering(self, X: np.ndarray) -> OneHotRows:
        return OneHotRows(self.codes(X))
