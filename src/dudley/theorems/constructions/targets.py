"""Sparse Boolean targets: functions of the bits at the relevant positions I.

A target is its truth table over {0,1}^s, first relevant position = most significant bit. It is
*symmetric* when it depends only on r = Σ_{i∈I} b_i; one head of a position mapping sees no more
than r.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dudley.core.boundary.paths import opened
from dudley.core.errors import InputError, UnknownName

TASKS = ("and", "or", "majority", "parity", "threshold", "table")
LARGEST_S = 20
_LONGEST_FILE = 64 * 2**LARGEST_S


@dataclass(frozen=True)
class Target:
    """f: {0,1}^s → R by its values, indexed by the bits read as a binary number.

    >>> majority = target("majority", 3)
    >>> majority.symmetric, majority(np.array([[0, 1, 1], [1, 0, 0]]))
    (True, array([1., 0.]))
    """

    name: str
    values: np.ndarray  # (2^s,)

    @property
    def s(self) -> int:
        return len(self.values).bit_length() - 1

    def __call__(self, bits: np.ndarray) -> np.ndarray:
        """(N, s) bits to (N,) values."""
        return self.values[np.asarray(bits, dtype=int) @ (1 << np.arange(self.s)[::-1])]

    @property
    def symmetric(self) -> bool:
        r = all_bits(self.s).sum(1)
        return all(np.ptp(self.values[r == count]) == 0 for count in range(self.s + 1))

    @property
    def largest(self) -> float:
        """max |f|."""
        return float(np.abs(self.values).max())


def all_bits(s: int, start: int = 0, stop: int | None = None) -> np.ndarray:
    """The bit strings start, …, stop−1 of length s (all 2^s unless told), first bit leading."""
    numbers = np.arange(start, 2**s if stop is None else stop)
    return (numbers[:, None] >> np.arange(s)[::-1]) & 1


def target(name: str, s: int, k: int | None = None, table: np.ndarray | None = None) -> Target:
    """A task by name: ``k`` is threshold's, ``table`` the truth table's.

    majority is 1 where more than half of the bits are; threshold where at least k are.
    """
    if name not in TASKS:
        raise UnknownName("task", name, TASKS)
    if not 1 <= s <= LARGEST_S:
        raise InputError("s", f"an integer from 1 to {LARGEST_S}", s)
    if (name == "threshold") != (k is not None):
        raise InputError("k", "a number with threshold, and only there", k)
    if (name == "table") != (table is not None):
        raise InputError("file", "a truth table with table, and only there", "none or too many")
    r = all_bits(s).sum(1)
    if name == "table" and table is not None:
        if table.shape != (2**s,):
            raise InputError("table", f"2^{s} = {2**s} values", len(table))
        return Target(name, table.astype(float))
    if name == "threshold" and k is not None and not 0 <= k <= s + 1:
        raise InputError("k", f"an integer from 0 to s + 1 = {s + 1}", k)
    values = {
        "and": r == s,
        "or": r > 0,
        "majority": 2 * r > s,
        "parity": r % 2 == 1,
        "threshold": r >= (k or 0),
    }
    return Target(name, values[name].astype(float))


def read_table(path: str | Path) -> np.ndarray:
    """2^s bits from a file: 0 and 1 on lines (white space ignored), or a JSON list of 0 and 1."""
    try:
        with opened(path) as file:
            raw = file.read(_LONGEST_FILE + 1)
    except OSError as error:
        raise InputError("table", "a readable file", f"{path} ({error.strerror})") from None
    if len(raw) > _LONGEST_FILE:
        raise InputError("table", f"at most 2^{LARGEST_S} values", f"more in {path}")
    try:
        text = raw.decode("ascii").strip()
        bits = json.loads(text) if text.startswith("[") else list("".join(text.split()))
    except (ValueError, RecursionError):
        raise InputError("table", "lines of 0 and 1, or a JSON list of them", path) from None
    allowed = {"0": 0, "1": 1, 0: 0, 1: 1}
    wrong = [b for b in bits if isinstance(b, bool | float | list | dict) or b not in allowed]
    if wrong:
        raise InputError("table", "only 0 and 1", f"{wrong[0]!r:.40} in {path}")
    size = len(bits)
    if size < 2 or size & (size - 1) or size > 2**LARGEST_S:
        raise InputError("table", f"2^s values, 1 ≤ s ≤ {LARGEST_S}", f"{size} in {path}")
    return np.array([allowed[b] for b in bits])
