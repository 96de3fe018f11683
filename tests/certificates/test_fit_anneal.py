"""Annealing: a planted support that local moves do not reach; what a change may change."""

from __future__ import annotations

import numpy as np
import pytest

from dudley.certificates.base import METHODS
from dudley.certificates.codes.base import frame_of
from dudley.certificates.codes.kinds.sparse import SparsePart
from dudley.certificates.data import Dataset
from dudley.certificates.fit.anneal import REACH, anneal, change_one
from dudley.certificates.fit.forward import FitExamples, blank
from dudley.certificates.fit.quantised import Search, prune
from dudley.certificates.fit.recipes import tables

PICTURES = {"name": "blocks", "height": 10, "width": 10, "side": 2, "white": 255.0}
OCCAM = METHODS["occam"]


@pytest.fixture(scope="module")
def search() -> Search:
    """Class 1 where block 3 is brighter than block 17, of 25."""
    X = np.random.default_rng(0).integers(0, 256, (3000, 10, 10)).astype(np.uint8)
    means = X.reshape(-1, 5, 2, 5, 2).mean((2, 4)).reshape(-1, 25)
    data = Dataset(X, (means[:, 3] > means[:, 17]).astype(np.int64))
    model = blank(tables(PICTURES), PICTURES)
    return Search(FitExamples(model, data), frame_of(model, OCCAM.read_declared({})), data.n)


def state(**levels: int):
    N = np.zeros((25, 1), np.int64)
    for name, level in levels.items():
        N[int(name[1:])] = level
    return {
        "0.v": SparsePart("plain", 1.0, np.zeros((25, 1), np.int64)),
        "0.W_v": SparsePart("plain", 1.0, N),
    }


def test_finds_the_planted_blocks_where_local_moves_end(search):
    start = state(_10=1, _23=-1)
    local = prune(search, start)[1]
    best_state, value = anneal(search, start, looks=1500, seed=1)
    levels = best_state["0.W_v"].levels.ravel()
    assert value < 0.02 < local
    assert set(np.flatnonzero(levels)) == {3, 17} and levels[3] == -levels[17] > 0


def test_what_is_returned_is_the_best_seen(search):
    best = state(_3=1, _17=-1)
    least = search.value(best)
    best_state, value = anneal(search, best, looks=50, hot=100.0)
    assert value == search.value(best_state) <= least
    assert anneal(search, best, looks=0) == (best, least)


def test_the_same_seed_walks_the_same_way(search):
    start = state(_3=1, _23=-1)
    first, second = (anneal(search, start, 200, seed=3) for _ in range(2))
    assert first[1] == second[1]
    assert all(np.array_equal(first[0][name].levels, second[0][name].levels) for name in start)


def test_a_change_moves_one_entry_or_exchanges_two():
    rng, seen = np.random.default_rng(0), set()
    part = SparsePart("plain", 0.5, np.array([[3], [0], [-2], [0]]))
    for _ in range(300):
        now = change_one(part, rng)
        assert (now.fold, now.step) == (part.fold, part.step)
        moved = np.flatnonzero(now.levels != part.levels)
        assert len(moved) <= 2 and np.abs(now.levels).max() <= max(REACH, 4)
        if len(moved) == 2:
            assert sorted(now.levels.ravel()) == sorted(part.levels.ravel())
        seen.add(now.levels.tobytes())
    assert part.levels.ravel().tolist() == [3, 0, -2, 0] and len(seen) > 20
    silent = SparsePart("plain", 1.0, np.zeros((4, 1), np.int64))
    assert np.count_nonzero(change_one(silent, rng).levels) == 1
