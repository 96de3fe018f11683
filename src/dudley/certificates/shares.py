"""Shares: examples for ordinary training, and the rest, which a bound counts.

The examples are sorted by their bytes and permuted by a declared seed; the first ``initial`` of
them are the share. Given the bag of examples this order is uniform over the draw of the seed
(`dudley.certificates.order`), so the rest are independent draws that no training on the share has
seen. A share of none leaves every example to be counted, and needs no seed.

>>> X = np.arange(20).reshape(10, 2)
>>> share, rest = split_share(Dataset(X, X[:, 0] % 2), 4, seed=0)
>>> share.n, rest.n, split_share(rest, 0, seed=0)[0]
(4, 6, None)
"""

from __future__ import annotations

import numpy as np

from dudley.certificates.data import Dataset
from dudley.core.errors import InputError


def in_order(data: Dataset, initial: int, seed: int) -> Dataset:
    """The examples in the order of the seed; a share of all of them is refused."""
    if not 0 <= initial < data.n:
        raise InputError("initial", f"fewer than the {data.n:,} examples", initial)
    return data.permuted(f"initial share {seed}")


def split_share(data: Dataset, initial: int, seed: int) -> tuple[Dataset | None, Dataset]:
    """The share, and the rest in the order of the seed."""
    whole = in_order(data, initial, seed)
    if not initial:
        return None, whole
    return whole.part(slice(0, initial)), whole.part(slice(initial, None))


def joined(share: Dataset | None, rest: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """All examples, those of the share first."""
    if share is None:
        return rest.X, rest.y
    return np.concatenate([share.X, rest.X]), np.concatenate([share.y, rest.y])
