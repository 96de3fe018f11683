"""Certificates are as small as was said at the sizes that were said, and not below them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dudley.certificates.base import METHODS
from dudley.certificates.data import Dataset
from dudley.lab.experiments.edelman2021_and.certified_sizes import head, margin, sizes

T, ERROR, DELTA = 8, 0.02, 0.05
SHARP = math.log(4.0 * T)
HEADS = {
    "occam": head(T, 3, (0.0, 0.0), (1.0, -1.0, -2.0)),
    "norm-cover": head(T, 3, (SHARP + math.log(5.0), SHARP), (0.0, -1.0, 1.0)),
}


def data(n: int) -> Dataset:
    X = np.random.default_rng(0).integers(0, 2, (n, T)).astype(np.uint8)
    return Dataset(X, X[:, :3].all(1).astype(np.int64))


@pytest.mark.parametrize("name", HEADS)
def test_at_the_size_a_certificate_is_as_small_and_below_it_not(name: str):
    [row] = sizes([T], ERROR, DELTA)
    n, model, method = row[name], HEADS[name], METHODS[name]
    assert method(model, data(n), delta=DELTA).value <= ERROR
    assert method(model, data(int(0.99 * n)), delta=DELTA).value > ERROR


def test_the_hold_out_is_the_binomial_one():
    [row] = sizes([T], ERROR, DELTA)
    assert (1 - ERROR) ** row["hold-out"] <= DELTA < (1 - ERROR) ** (row["hold-out"] - 1)


@pytest.mark.parametrize("name", HEADS)
def test_the_heads_are_the_planted_function(name: str):
    X = np.array([*itertools.product([0, 1], repeat=T)], dtype=np.uint8)
    margins = HEADS[name].margins(Dataset(X, X[:, :3].all(1).astype(np.int64)))
    assert margins.min() > 0
    if name == "norm-cover":
        bound = margin(T, 3, 4.0 * T, 5.0)
        assert 0.998 * margins.min() < bound < margins.min()


def test_sizes_grow_as_log_T():
    small, middle, large = (row["occam"] for row in sizes([16, 64, 256], ERROR, DELTA))
    assert 0.5 < (large - middle) / (middle - small) < 1.5
