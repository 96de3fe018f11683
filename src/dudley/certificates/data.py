"""Data sets: arrays X and y with a hash, read from ``.npz`` or Parquet; nothing is executed.

``X`` holds one example a row: token codes or bits, integers (n, T); token rows (n, T, d) or
features (n, d), floats; pictures (n, height, width) or (n, channels, height, width). ``y`` holds
class labels 0, 1, …, integers (n,). ``group``, if there, names the independent unit an example
belongs to (a document, a person, the image it was made from): a bound counts units, so a data set
in which a group has several examples is refused.

A data set is a *bag*: its hash, and every number that is made of it, does not depend on the order
in which a file holds its rows. Where an order is needed (a split, a pass, rows drawn at random) it
is that of `dudley.certificates.order`, and its seed is one that was drawn at random. Arrays are
copied and cannot be written to. −0.0 is stored as 0.0, since two ways to write a number would let a
file choose the order of its rows.

>>> data = Dataset(np.array([[0, 1], [1, 1]]), np.array([0, 1]))
>>> again = Dataset(np.array([[1, 1], [0, 1]]), np.array([1, 0]))
>>> data.n, data.classes, data.sha256 == again.sha256
(2, 2, True)
>>> (data.permuted("a seed").X == again.permuted("a seed").X).all()
np.True_
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from dudley.certificates import order
from dudley.core.boundary import archives, limits
from dudley.core.errors import InputError

NAMES = ("X", "y", "group")


@dataclass(frozen=True, eq=False)
class Dataset:
    """n examples with labels."""

    X: np.ndarray
    y: np.ndarray
    group: np.ndarray | None = None

    def __post_init__(self):
        X, y = self.X, self.y
        numeric = X.dtype.kind in "buif" and X.dtype.itemsize <= 8
        if X.ndim not in (2, 3, 4) or not numeric or 0 in X.shape[1:]:
            shapes = "(n, T), (n, d), (n, T, d) or (n, channels, height, width)"
            raise InputError("X", f"numbers of shape {shapes}", _shape(X))
        if y.shape != X.shape[:1] or y.dtype.kind not in "bui" or len(y) == 0:
            raise InputError("y", f"class labels, integers of shape ({len(X)},)", _shape(y))
        if y.dtype.kind == "i" and y.min() < 0:
            raise InputError("y", "class labels 0, 1, …", f"{y.min()}")
        if X.dtype.kind == "f" and not np.isfinite(X).all():
            raise InputError("X", "finite numbers", "NaN or infinity")
        if self.group is not None:
            if self.group.shape != y.shape or self.group.dtype.kind not in "buifUS":
                raise InputError("group", f"one a row, shape ({len(y)},)", _shape(self.group))
            groups = len(np.unique(self.group))
            if groups < len(y):
                raise InputError(
                    "independent units",
                    "one example for every group",
                    f"{len(y)} examples of {groups} groups",
                    "keep one example of each: a bound counts independent units",
                )
        if X.dtype.kind == "f" and (np.signbit(X) & (X == 0)).any():
            object.__setattr__(self, "X", X + 0.0)  # −0.0 is 0.0: signs of zeros choose no order
        for name in ("X", "y"):
            object.__setattr__(self, name, freeze(getattr(self, name)))

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    def classes(self) -> int:
        """The number of classes, as far as labels tell."""
        return max(2, int(self.y.max()) + 1)

    @cached_property
    def counts(self) -> np.ndarray:
        """How often each different row of X comes."""
        return order.counts(self.X)

    @property
    def repeated(self) -> int:
        """How many rows of X equal an earlier one."""
        return self.n - len(self.counts)

    @cached_property
    def order(self) -> np.ndarray:
        """The canonical order of the examples."""
        return order.canonical(self.X, self.y)

    @cached_property
    def sha256(self) -> str:
        """Of types, shapes and bytes of X and y in canonical order, whatever file they came in."""
        return sha256_of({"X": self.X[self.order], "y": self.y[self.order]})

    def part(self, rows) -> Dataset:
        """Some of the examples."""
        return Dataset(self.X[rows], self.y[rows])

    def permuted(self, seed: str) -> Dataset:
        """The examples in an order that depends on the seed and not on the file."""
        return self.part(self.order[order.permutation(seed, self.n)])


def freeze(array: np.ndarray) -> np.ndarray:
    """A copy that cannot be written to, or the array itself where it already is one."""
    if not array.flags.writeable and array.base is None:
        return array
    array = array.copy()
    array.flags.writeable = False
    return array


def rows_of(X: np.ndarray) -> set[bytes]:
    """The different rows of X, as bytes."""
    flat = np.ascontiguousarray(X).reshape(len(X), -1)
    return {row.tobytes() for row in flat}


def sha256_of(arrays: dict[str, np.ndarray]) -> str:
    """One hash for named arrays: names sorted; type, shape and little-endian bytes of each."""
    whole = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        whole.update(f"{name} {array.dtype.kind}{array.dtype.itemsize} {array.shape};".encode())
        whole.update(array.tobytes())
    return whole.hexdigest()


def read(path: str | Path) -> Dataset:
    """A data set from ``.npz`` (arrays X, y, group) or ``.parquet`` (columns X, y, group)."""
    path = Path(path)
    if not path.is_file():
        raise InputError("data", "a file .npz or .parquet", f"no file {path}")
    if path.suffix == ".npz":
        arrays = archives.arrays(path, NAMES)
    elif path.suffix == ".parquet":
        from dudley.core.boundary import tables

        arrays = tables.columns(path, NAMES)
    else:
        raise InputError("data", "a file .npz or .parquet", path.name)
    for name in ("X", "y"):
        if name not in arrays:
            raise InputError(f"{path.name}", "arrays X and y", ", ".join(arrays) or "none")
    if arrays["y"].size > limits.ROWS:
        raise InputError(path.name, f"at most {limits.ROWS:,} examples", arrays["y"].size)
    return Dataset(arrays["X"], arrays["y"], arrays.get("group"))


def _shape(array: np.ndarray) -> str:
    return f"{array.dtype} of shape {array.shape}"
