"""The declared list: a product of factors, each with its entries and their prices.

Twenty templates × fifty pairs of label words × 936 thresholds is a list of three factors; a plain
list has one. Candidate i is the entry (i_1, …, i_r) in the order of the rows of an array of shape
(m_1, …, m_r), the last index running fastest. Its price is the sum of the prices of its entries.

The list is a JSON file with a hash. The hash is what is declared: it fixes the entries, their order
and their prices.

>>> template, cut = CandidateFactor("template", ("A", "B")), CandidateFactor("cut", ("0", "0.5"))
>>> listed = CandidateList((template, cut))
>>> listed.count, listed.entry(2), round(listed.nats(2), 4)
(4, ('B', '0'), 1.3863)
>>> CandidateList.from_json(listed.to_json()).sha256 == listed.sha256
True
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dudley.certificates.methods.selection.prior import expect_kraft, uniform_nats
from dudley.core.boundary import documents
from dudley.core.errors import InputError
from dudley.core.files import written
from dudley.core.rounding import up

SCHEMA = "dudley.candidates/1"
MOST = 1 << 24  # candidates of a list


@dataclass(frozen=True)
class CandidateFactor:
    """Entries that differ, and their prices; without prices they are uniform.

    ``source`` says in words where the prices come from, such as a language model with its hash.
    """

    name: str
    entries: tuple[str, ...]
    prices: tuple[float, ...] | None = None
    source: str = ""

    def __post_init__(self):
        texts = (self.name, self.source, *self.entries)
        if not self.name or not all(isinstance(text, str) for text in texts):
            raise InputError("factor of candidates", "a name and entries that are texts", self.name)
        if not self.entries or len(set(self.entries)) < len(self.entries):
            raise InputError(f"entries of {self.name}", "texts that differ, at least one", "others")
        if len(self.entries) > MOST:
            raise InputError(f"entries of {self.name}", f"at most {MOST:,}", len(self.entries))
        if self.prices is not None:
            if len(self.prices) != len(self.entries):
                expected = f"{len(self.entries)}, one an entry"
                raise InputError(f"prices of {self.name}", expected, len(self.prices))
            expect_kraft(f"prices of {self.name}", self.prices)

    def __str__(self) -> str:
        priced = "uniform prices" if self.prices is None else "prices of their own"
        return f"{self.name}: {len(self.entries):,} entries, {priced}"

    @cached_property
    def nats(self) -> np.ndarray:
        """The price of every entry."""
        if self.prices is None:
            return np.full(len(self.entries), uniform_nats(len(self.entries)))
        return np.array(self.prices, float)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        table: dict[str, Any] = {"name": self.name, "entries": list(self.entries)}
        if self.prices is not None:
            table |= {"prices": list(self.prices)}
        return table | ({"source": self.source} if self.source else {})

    @staticmethod
    def from_json(table: Any) -> CandidateFactor:
        """The factor of a file."""
        known = {"name", "entries", "prices", "source"}
        lists = (
            isinstance(table, dict) and set(table) <= known and isinstance(table["entries"], list)
        )
        prices = table.get("prices") if lists else None
        if not lists or not (prices is None or isinstance(prices, list)):
            raise InputError(
                "factor of candidates", f"a table of {', '.join(sorted(known))}", table
            )
        whole = None if prices is None else tuple(prices)
        name, source = table.get("name", ""), table.get("source", "")
        return CandidateFactor(name, tuple(table["entries"]), whole, source)


@dataclass(frozen=True)
class CandidateList:
    """The product of some factors."""

    factors: tuple[CandidateFactor, ...]

    def __post_init__(self):
        names = [factor.name for factor in self.factors]
        if not names or len(set(names)) < len(names) or len(names) > 16:
            raise InputError("candidates", "1 to 16 factors with names that differ", names)
        if math.prod(self.shape) > MOST:
            raise InputError("candidates", f"at most {MOST:,}", f"{math.prod(self.shape):,}")

    def __str__(self) -> str:
        factors = "; ".join(map(str, self.factors))
        return f"{self.count:,} candidates ({factors})"

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(factor.entries) for factor in self.factors)

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    def places(self, i: int) -> tuple[int, ...]:
        """The place of candidate i in each factor."""
        if not 0 <= i < self.count:
            raise InputError("candidate", f"a number from 0 to {self.count - 1:,}", i)
        return tuple(int(place) for place in np.unravel_index(i, self.shape))

    def entry(self, i: int) -> tuple[str, ...]:
        """What candidate i is called, factor by factor."""
        return tuple(
            f.entries[place] for f, place in zip(self.factors, self.places(i), strict=True)
        )

    def nats(self, i: int) -> float:
        """The price of candidate i, rounded up."""
        parts = (f.nats[place] for f, place in zip(self.factors, self.places(i), strict=True))
        return float(up(math.fsum(parts)))

    @cached_property
    def all_nats(self) -> np.ndarray:
        """The prices of all candidates, about: to compare, not to claim."""
        total = np.zeros(self.shape)
        for axis, factor in enumerate(self.factors):
            total += factor.nats.reshape([-1 if i == axis else 1 for i in range(len(self.shape))])
        return total.ravel()

    @cached_property
    def sha256(self) -> str:
        """Of the factors: their names, entries, prices and sources."""
        text = json.dumps(self.to_json(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def facts(self) -> dict[str, Any]:
        """What a certificate says about the list."""
        sizes = {factor.name: len(factor.entries) for factor in self.factors}
        return {"sha256": self.sha256, "candidates": self.count, "factors": sizes}

    def to_json(self) -> dict[str, Any]:
        """Plain data, as the file holds it."""
        return {"schema": SCHEMA, "factors": [factor.to_json() for factor in self.factors]}

    @staticmethod
    def from_json(table: Any) -> CandidateList:
        """The list of a file."""
        well = isinstance(table, dict) and set(table) == {"schema", "factors"}
        if not well or table["schema"] != SCHEMA or not isinstance(table["factors"], list):
            expected = f"a JSON object with schema {SCHEMA} and factors"
            raise InputError("candidates", expected, "something else")
        if not all(isinstance(part, dict) and "entries" in part for part in table["factors"]):
            raise InputError("factors", "tables with a name and entries", "others")
        return CandidateList(tuple(map(CandidateFactor.from_json, table["factors"])))

    def save(self, path: str | Path) -> None:
        """Write the file."""
        with written(Path(path)) as file:
            text = json.dumps(self.to_json(), indent=1, ensure_ascii=False)
            file.write_text(text + "\n", encoding="utf-8")


def plain_list(names: tuple[str, ...] | list[str], prices=None, source: str = "") -> CandidateList:
    """A list with one factor."""
    prices = None if prices is None else tuple(float(x) for x in prices)
    return CandidateList((CandidateFactor("candidate", tuple(names), prices, source),))


def read_list(path: str | Path) -> CandidateList:
    """The list of a file (.json)."""
    path = Path(path)
    if not path.is_file():
        raise InputError("candidates", "a JSON file", f"no file {path}")
    return CandidateList.from_json(documents.read(path))
