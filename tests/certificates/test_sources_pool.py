"""Pools: copies leave by the rule, draws are without replacement, units give one item each."""

import numpy as np
import pytest

from dudley.certificates.sources.pool import DataPool, Items, Provenance, Removal
from dudley.certificates.sources.removal import removed
from dudley.core.errors import InputError, UnknownName

RECORD = Provenance("npm", "toy", "1.0.0", "CC0-1.0", "", 1, "")


def pool(n=40, threads=10):
    X = np.arange(2 * n, dtype=np.uint8).reshape(n, 2)
    items = Items(X, np.arange(n) % 2, {"thread": np.arange(n) % threads})
    return DataPool(items, "toy", "rows", "thread", RECORD, Removal(n, 0, 0, 0, ""))


def rows(data):
    return {tuple(row) for row in data.X.tolist()}


def test_the_first_copy_stays_and_labels_that_differ_leave():
    X = np.array([[1], [2], [1], [3], [3], [2], [4]], np.uint8)
    y = np.array([0, 1, 0, 0, 1, 1, 1])
    left, removal = removed(Items(X, y, {"unit": np.arange(7)}))
    assert left.X.ravel().tolist() == [1, 2, 4] and left.y.tolist() == [0, 1, 1]
    assert left.units["unit"].tolist() == [0, 1, 6]
    assert removal == Removal(7, 2, 0, 2, "equal bytes")


def test_a_conflict_anywhere_in_a_chain_removes_all_of_it():
    texts = [" ".join(f"w{i}" for i in range(a, a + 40)) for a in (0, 3, 6)] + ["else"]
    left, removal = removed(Items(tuple(texts), np.array([0, 0, 1, 1])))
    assert left.X == ("else",) and (removal.near, removal.conflicting) == (0, 3)
    left, removal = removed(Items((*texts, texts[0].upper()), np.array([1, 1, 1, 0, 1])))
    assert (texts[0], "else") == left.X and (removal.exact, removal.near) == (1, 2)


def test_every_item_is_counted():
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 30, (200, 1)).astype(np.uint8), rng.integers(0, 5, 200) // 4
    left, removal = removed(Items(X, y))
    assert len(left.y) == 200 - removal.exact - removal.near - removal.conflicting
    assert removal.exact > 0 < removal.conflicting and len(np.unique(left.X)) == len(left.X)


def test_a_draw_parts_the_pool():
    sample, rest = pool().draw(15, seed=1)
    assert (sample.n, rest.n) == (15, 25) and rows(sample) | rows(rest) == rows(pool())
    assert rows(pool().draw(15, seed=1)[0]) == rows(sample) != rows(pool().draw(15, seed=2)[0])


def test_every_item_is_drawn_as_often_as_any_other():
    drawn = np.zeros(40)
    for seed in range(400):
        drawn[pool().draw(10, seed)[0].X[:, 0] // 2] += 1
    assert abs(drawn - 100).max() < 5 * np.sqrt(400 * 0.25 * 0.75)


def test_units_give_one_item_each():
    whole, sizes = pool(), []
    for seed in range(5):
        part = whole.per_unit("thread", seed)
        assert len(part) == 10 and len(np.unique(part.units["thread"])) == 10
        assert "one item of each thread" in part.population
        sizes.append(frozenset(rows(part)))
    assert len(set(sizes)) > 1  # the item is drawn
    sample, rest = whole.draw_units(4, 0, "thread")
    units = [{row[0] // 2 % 10 for row in rows(data)} for data in (sample, rest)]
    assert (sample.n, rest.n) == (4, 6) and not units[0] & units[1]


def test_what_cannot_be_drawn_is_refused():
    for n in (0, 40, 41):
        with pytest.raises(InputError, match="1 to 39"):
            pool().draw(n, 0)
    with pytest.raises(InputError, match="seed"):
        pool().draw(3, -1)
    with pytest.raises(UnknownName, match="thread"):
        pool().draw_units(3, 0, "tread")
    texts = Items(("a", "b", "c"), np.array([0, 1, 0]))
    with pytest.raises(InputError, match="encode them"):
        DataPool(texts, "toy", "", "", RECORD, Removal(3, 0, 0, 0, "")).draw(1, 0)
    with pytest.raises(InputError, match="as many units"):
        Items(("a", "b"), np.array([0, 1]), {"thread": np.array([0])})
