"""Encodings: from what a data set holds to the token rows a network reads.

An encoding is fixed before the data. Its rows have a norm that holds for *every* input, seen or
not: one-hot rows by construction, given rows because those beyond the radius R are scaled back to
it (clip_R is part of the hypothesis that is certified).

>>> import numpy as np
>>> Bits(3).rows(np.array([[1, 0, 1]]))[0].argmax(1)          # (bit, place), then [CLS]
array([3, 1, 5, 6])
>>> encoding_of({"name": "bits", "T": 3}).inputs
Tokens(row2inf=1.0, T=4, d=7, row1inf=1.0, clipped=False)
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dudley.core.boundary import limits
from dudley.core.constraint import radius_of, size_of
from dudley.core.errors import InputError
from dudley.core.registry import Registry
from dudley.core.rounding import down, up
from dudley.networks.embeddings import Tokens

MANY = 4096  # blocks of a picture: its rows are a square matrix of that size
ENCODINGS: Registry[type[Encoding]] = Registry("encoding", "dudley.certificates.inputs.{name}")


class Encoding(ABC):
    """Abstract: token rows (n, rows, d), float64, for examples (n, …)."""

    name: ClassVar[str]
    looks_up: ClassVar[bool] = False  # a dense layer may take rows of its matrix (``entering``)

    @property
    @abstractmethod
    def inputs(self) -> Tokens:
        """What holds for the rows of every input."""

    @abstractmethod
    def rows(self, X: np.ndarray) -> np.ndarray:
        """The rows of some examples."""

    def content(self, X: np.ndarray) -> np.ndarray:
        """What the rows of each example are a function of: here, the example as it is stored."""
        return X

    @property
    def ragged(self) -> bool:
        """May examples have different numbers of rows?"""
        return False

    def alike(self, X: np.ndarray) -> list[np.ndarray]:
        """The examples with equally many rows, by their places; here, all of them."""
        return [np.arange(len(X))]

    def entering(self, X: np.ndarray) -> Any:
        """The rows, or what a dense layer can multiply its matrix by in their place."""
        return self.rows(X)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"name": self.name} | dataclasses.asdict(self)  # pyright: ignore


@ENCODINGS.register("bits")
@dataclass(frozen=True)
class Bits(Encoding):
    """T bits ↦ one-hot rows e_{bit·T + place} and a last row [CLS], in R^{2T+1}."""

    T: int
    name: ClassVar[str] = "bits"

    def __post_init__(self):
        size_of("T", self.T)

    @property
    def inputs(self) -> Tokens:
        return Tokens(1.0, self.T + 1, 2 * self.T + 1, row1inf=1.0)

    def rows(self, X):
        expect_integers(X, self.T)
        expect_codes(X, 2, "bits 0 and 1")
        made = np.zeros((len(X), self.T + 1, 2 * self.T + 1))
        places = np.arange(self.T)
        made[np.arange(len(X))[:, None], places, X.astype(np.int64) * self.T + places] = 1.0
        made[:, self.T, 2 * self.T] = 1.0
        return made


@ENCODINGS.register("codes")
@dataclass(frozen=True)
class Codes(Encoding):
    """T codes below V ↦ rows (e_code ⊕ e_place)/√2 in R^{V+T}; ``cls``: a last row of its own."""

    V: int
    T: int
    cls: bool = True
    name: ClassVar[str] = "codes"

    def __post_init__(self):
        size_of("V", self.V)
        size_of("T", self.T)

    @property
    def inputs(self) -> Tokens:
        rows = self.T + self.cls
        return Tokens(1.0, rows, self.V + self.T + self.cls, row1inf=float(up(math.sqrt(2))))

    def rows(self, X):
        expect_integers(X, self.T)
        expect_codes(X, self.V, f"codes 0, 1, … below {self.V}")
        size, d = float(down(math.sqrt(0.5))), self.V + self.T + self.cls
        made = np.zeros((len(X), self.T + self.cls, d))
        places = np.arange(self.T)
        made[np.arange(len(X))[:, None], places, X.astype(np.int64)] = size
        made[:, places, self.V + places] = size
        if self.cls:
            made[:, self.T, d - 1] = 1.0
        return made


@ENCODINGS.register("rows")
@dataclass(frozen=True)
class Rows(Encoding):
    """Given rows (n, T, d), or features (n, d) as one row; those longer than R are scaled to R."""

    T: int
    d: int
    R: float
    name: ClassVar[str] = "rows"

    def __post_init__(self):
        size_of("T", self.T)
        size_of("d", self.d)
        if radius_of("R", self.R) == 0:
            raise InputError("R", "a radius > 0", self.R)

    @property
    def inputs(self) -> Tokens:
        return Tokens(self.R, self.T, self.d)

    def rows(self, X):
        X = X[:, None, :] if X.ndim == 2 else X
        if X.shape[1:] != (self.T, self.d):
            raise InputError("X", f"rows of shape (n, {self.T}, {self.d})", X.shape)
        X = X.astype(np.float64)
        with np.errstate(over="ignore"):  # a norm that is no float: the row becomes 0
            norms = np.linalg.norm(X, axis=-1, keepdims=True)
        limit = float(down(self.R, 4 + 2 * self.d))  # also where norms were rounded down
        return X * np.minimum(1.0, limit / np.maximum(norms, limit))

    def content(self, X):
        return single(self.rows, X)


@ENCODINGS.register("blocks")
@dataclass(frozen=True)
class Blocks(Encoding):
    """Grey pictures (n, height, width) ↦ a row for every block of side×side pixels.

    Block t, counted row by row, becomes x_t = m_t e_t in R^T with T the number of blocks and
    m_t ∈ [0, 1] the mean of its pixels: grey levels are cut to [0, white] and divided by white.

    >>> Blocks(4, 2, 2, 255.0).rows(np.full((1, 4, 2), 51)).tolist()
    [[[0.2, 0.0], [0.0, 0.2]]]
    """

    height: int
    width: int
    side: int
    white: float
    name: ClassVar[str] = "blocks"

    def __post_init__(self):
        for name in ("height", "width", "side"):
            size_of(name, getattr(self, name))
        if radius_of("white", self.white) == 0:
            raise InputError("white", "a grey level > 0", self.white)
        if self.T > MANY:
            raise InputError("blocks", f"at most {MANY:,}", self.T, "take larger blocks")
        if self.height % self.side or self.width % self.side:
            expected = f"a divisor of {self.height} and {self.width}"
            raise InputError("side of a block", expected, self.side)

    @property
    def T(self) -> int:
        """The number of blocks."""
        return (self.height // self.side) * (self.width // self.side)

    @property
    def inputs(self) -> Tokens:
        return Tokens(1.0, self.T, self.T, row1inf=1.0)

    def means(self, X: np.ndarray) -> np.ndarray:
        """The means of all blocks, (n, T)."""
        if X.shape[1:] != (self.height, self.width):
            expected = f"pictures of shape (n, {self.height}, {self.width})"
            raise InputError("X", expected, X.shape)
        high, wide = self.height // self.side, self.width // self.side
        cut = np.clip(X.astype(np.float64), 0.0, self.white) / self.white
        cut = cut.reshape(len(X), high, self.side, wide, self.side)
        return np.minimum(cut.mean(axis=(2, 4)), 1.0).reshape(len(X), self.T)

    def content(self, X):
        return single(self.means, X)

    def rows(self, X):
        made = np.zeros((len(X), self.T, self.T))
        places = np.arange(self.T)
        made[:, places, places] = self.means(X)
        return made


def encoding_of(config: dict[str, Any]) -> Encoding:
    """The encoding of a configuration: ``name`` and its fields."""
    if not isinstance(config, dict):
        raise InputError("encoding", "a table with a name", type(config).__name__)
    unit = ENCODINGS[str(config.get("name"))]
    fields = {name: value for name, value in config.items() if name != "name"}
    known = [field.name for field in dataclasses.fields(unit)]  # pyright: ignore
    unknown = [name for name in fields if name not in known]
    missing = [
        field.name
        for field in dataclasses.fields(unit)  # pyright: ignore
        if field.default is dataclasses.MISSING and field.name not in fields
    ]
    if unknown or missing:
        raise InputError(f"encoding {unit.name}", ", ".join(known), ", ".join(fields) or "nothing")
    for field in dataclasses.fields(unit):  # pyright: ignore
        expected = {"int": (int,), "float": (int, float), "bool": (bool,)}.get(str(field.type))
        if expected and field.name in fields and type(fields[field.name]) not in expected:
            got = repr(fields[field.name])
            raise InputError(f"{field.name} of encoding {unit.name}", f"{field.type}", got)
    return unit(**fields)


def examples_at_once(encoding: Encoding, numbers: int = limits.EXAMPLE) -> int:
    """How many examples have so many numbers in their rows; one that is too large is refused."""
    T, width = encoding.inputs.T, encoding.inputs.d or 1
    if T * width > limits.EXAMPLE:
        got = f"{T:,} rows of width {width:,}"
        raise InputError(f"encoding {encoding.name}", f"at most {limits.EXAMPLE:,} numbers", got)
    return max(1, numbers // (T * width))


def expect_fits(config: dict[str, Any], X: np.ndarray) -> None:
    """Refuse examples that the encoding does not read."""
    encoding = encoding_of(config)
    step = examples_at_once(encoding)
    for start in range(0, len(X), step):
        encoding.rows(X[start : start + step])


def single(read: Callable[[np.ndarray], np.ndarray], X: np.ndarray) -> np.ndarray:
    """What is read of X, in single precision: numbers that rounding told apart become equal."""
    with np.errstate(over="ignore"):
        parts = [read(X[i : i + 1024]).astype(np.float32) for i in range(0, len(X), 1024)]
    return np.concatenate(parts)


def expect_codes(X: np.ndarray, below: int, expected: str) -> None:
    """Refuse codes that are negative or too large."""
    if X.size and (X.min() < 0 or X.max() >= below):
        raise InputError("X", expected, f"numbers from {X.min()} to {X.max()}")


def expect_integers(X: np.ndarray, T: int) -> None:
    """Refuse anything but T integers an example."""
    if X.dtype.kind not in "biu" or X.ndim != 2 or X.shape[1] != T:
        raise InputError("X", f"integers of shape (n, {T})", f"{X.dtype} of shape {X.shape}")
