"""The order of the units: a declared, seeded permutation of the units in canonical order.

Units are sorted by the hash of their bytes, so nothing depends on the order of a file, and are then
permuted by the seed. Equal units are interchangeable and are numbered as copies. Given the bag of
units this order is uniform over the draw of the seed: units that are independent draws, in this
order, are independent draws.

The *seed* is drawn at random, without a look at the units (`dudley.certificates.order` says why: a
fixed one permutes sorted units, and then they are no independent draws). The learner never sees it,
nor the canonical order: who knows both knows between which earlier units the next one lies. A
training gets the units in their order and the digest of it, and the seed stands in the certificate
that is made afterwards.

An order by a hash of the content alone is refused by the shape of this class, which has no such
order: with repeated units it gives copies of a unit in a row, and units yet to come have larger
hashes than all that have been.

>>> texts = ["the cat", "a dog", "the cat"]
>>> order = UnitOrder.of(texts, seed=3)
>>> sorted(order.rows.tolist()), sorted(name[-2:] for name in order.names)
([0, 1, 2], ['.1', '.1', '.2'])
>>> order.sha256 == UnitOrder.of(texts[::-1], seed=3).sha256
True
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from dudley.certificates import order
from dudley.certificates.copies import expect_chance
from dudley.certificates.methods.prequential.declared import MOST_UNITS
from dudley.core.boundary.paths import regular
from dudley.core.boundary.refusal import refusal
from dudley.core.errors import InputError
from dudley.core.files import written

DIGITS = 32  # of a name: 128 bits


@dataclass(frozen=True, eq=False)
class UnitOrder:
    """The hashes of the units, and the rows in which the pass reads them."""

    digests: tuple[str, ...]
    rows: np.ndarray

    @staticmethod
    def of(units: Sequence[bytes | str] | np.ndarray, seed: int) -> UnitOrder:
        """The order of texts, byte strings, or rows of numbers; regular copies are refused."""
        hashes = (hashlib.sha256(_bytes(units[i])).hexdigest() for i in range(len(units)))
        return UnitOrder.of_digests(tuple(digest[:DIGITS] for digest in hashes), seed)

    @staticmethod
    def of_digests(digests: tuple[str, ...], seed: int) -> UnitOrder:
        """The order of units of which only the hashes are there."""
        if not isinstance(seed, int) or not 0 <= seed < 1 << 32:
            raise InputError("seed of the order", "a whole number below 2^32", seed)
        if not digests:
            raise InputError("units", "at least one", "none")
        expect_chance(np.array(list(Counter(digests).values())), "units")
        in_order = np.argsort(np.array(digests), kind="stable")
        return UnitOrder(digests, in_order[order.permutation(f"one pass {seed}", len(digests))])

    def write(self, path: Path) -> None:
        """Write the hashes, one a line and sorted: with the seed, the order follows from them."""
        with written(path) as file:
            file.write_text("".join(f"{digest}\n" for digest in sorted(self.digests)), "ascii")

    def __str__(self) -> str:
        return f"{self.n:,} units in the order {self.sha256[:16]}"

    @property
    def n(self) -> int:
        return len(self.digests)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """In the order of the pass: the hash of the content, and the number of the copy."""
        times: Counter[str] = Counter()
        names = []
        for row in self.rows:
            digest = self.digests[row]
            times[digest] += 1
            names.append(f"{digest}.{times[digest]}")
        return tuple(names)

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each name in the pass."""
        return {name: place for place, name in enumerate(self.names)}

    @cached_property
    def sha256(self) -> str:
        """Of all names in the order of the pass: it commits to the order before the training."""
        return hashlib.sha256("\n".join(self.names).encode()).hexdigest()


def read_digests(path: Path) -> tuple[str, ...]:
    """The hashes of a file that `UnitOrder.write` wrote."""
    try:
        with regular(path).open("rb") as file:
            raw = file.read((DIGITS + 1) * MOST_UNITS + 1)
    except OSError as error:
        raise refusal(path, "a readable file", error.strerror or error) from None
    lines = raw.split(b"\n")
    well = len(raw) <= (DIGITS + 1) * MOST_UNITS and lines.pop() == b"" and len(lines) > 0
    if not well or any(len(line) != DIGITS or line.strip(b"0123456789abcdef") for line in lines):
        raise refusal(path, f"hashes of units, {DIGITS} digits a line", "another file")
    return tuple(line.decode("ascii") for line in lines)


def _bytes(unit: bytes | str | np.ndarray) -> bytes:
    if isinstance(unit, str):
        return unit.encode("utf-8", "surrogatepass")
    if isinstance(unit, np.ndarray | np.generic):
        row = np.ascontiguousarray(unit)
        if row.dtype.kind not in "buif":
            raise InputError("units", "rows of numbers, texts or bytes", row.dtype)
        row = row + 0.0 if row.dtype.kind == "f" else row  # −0.0 is 0.0
        return row.astype(row.dtype.newbyteorder("<"), copy=False).tobytes()
    if not isinstance(unit, bytes):
        raise InputError("units", "rows of numbers, texts or bytes", type(unit).__name__)
    return unit
