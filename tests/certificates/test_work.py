"""Long steps look at the clock often enough, and are refused where they could never end."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import dudley.certificates.codes.base as codes
from dudley.certificates.codes.base import Frame, on_grid
from dudley.certificates.codes.kinds.subspace import expect_small
from dudley.certificates.data import Dataset
from dudley.certificates.fit import quantised
from dudley.certificates.fit.forward import blank
from dudley.certificates.fit.posterior import PosteriorTraining, fit
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.methods.pac_bayes import monte_carlo
from dudley.certificates.work import MOST, expect_feasible, operations
from dudley.core.errors import InputError
from dudley.core.watch import Watch

TABLES = {
    "schema": "dudley.net/1",
    "input": {"T": 6, "V": 4},
    "layer": [
        {"node": "dense", "k": 24, "W": "free"},
        {"node": "dense", "k": 24, "W": "free", "sigma": "relu"},
        {"node": "logits", "V": 2, "W": "free"},
    ],
}
ENCODING = {"name": "tokens", "V": 4, "T": 6}


@pytest.fixture
def model() -> Hypothesis:
    rng, empty = np.random.default_rng(0), blank(TABLES, ENCODING)
    W = {name: rng.standard_normal(shape) for name, shape in empty.shapes.items()}
    return Hypothesis(TABLES, ENCODING, W)


@pytest.fixture
def data() -> Dataset:
    X = np.random.default_rng(1).integers(0, 4, (300, 6))
    return Dataset(X, (X[:, 0] > 1).astype(int))


@pytest.mark.parametrize("seconds", [5, 40])
def test_compression_writes_few_code_words_more_than_its_budget_allows(
    model, data, monkeypatch, seconds
):
    """The clock moves by one with each look: it stands for the words that were written."""
    count, words, write = itertools.count(), [], codes.write

    def counted(*args):
        words.append(args[0])
        return write(*args)

    monkeypatch.setattr(codes, "write", counted)
    monkeypatch.setattr(quantised, "write", counted)
    watch = Watch(seconds, clock=lambda: float(next(count)))
    small = quantised.compress(model, data, watch=watch)
    assert watch.left_out and 0 < len(words) <= 4 * seconds  # a look at most before four kinds
    assert not codes.same(dict(small.weights), dict(model.weights))


def test_weights_of_many_values_are_on_no_grid_and_nobody_factors_them(monkeypatch):
    def never(*_):
        raise AssertionError("factored a list of values longer than there are levels")

    monkeypatch.setattr(codes.math, "gcd", never)
    assert on_grid(np.random.default_rng(0).standard_normal((300, 300))) is None


def test_work_is_estimated_and_refused(model, data):
    assert operations(model, 10) == 10 * 2.0 * 6 * (24 * 24 + 48)  # the embedding is looked up
    assert expect_feasible(model, 1000, "examples") == "1 s"
    with pytest.raises(InputError, match=r"at most 1e\+15 operations, got .* h on one core"):
        expect_feasible(model, int(1e12), "examples for hold-out")
    assert MOST == 1e15


def test_a_subspace_a_posterior_and_draws_that_fill_the_memory_are_refused(model, data):
    expect_small(Frame((("W", (64, 64)),)), 100, 0)
    with pytest.raises(InputError, match="declare fewer dimensions"):
        expect_small(Frame((("W", (4096, 4096)),)), 100, 0)
    binary = {**TABLES, "layer": [*TABLES["layer"][:-1], {"node": "readout", "w": "free"}]}
    with pytest.raises(InputError, match="weights drawn for a batch"):
        fit(binary, ENCODING, data, plan=PosteriorTraining(batch=1 << 20))


def test_pairs_that_draw_too_many_weights_are_refused(model, data):
    large = SimpleNamespace(weights={"W": np.zeros((100, 100))})
    with pytest.raises(InputError, match="declare fewer pairs"):
        monte_carlo.errors_of_pairs(large, data, 10**8)  # pyright: ignore
