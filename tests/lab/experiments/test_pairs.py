"""Rank statistics by pairs of cells, against scipy, against loops, and on planted dependence."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import kendalltau

from dudley.core.errors import InputError
from dudley.lab.statistics.information import Signs
from dudley.lab.statistics.pairs import CellSettings, PairSigns, draws_of

AXES = ("T", "m", "depth")


def models(seeds: int = 2, seed: int = 0) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Columns of settings, and gaps, of all models in a shuffled order."""
    rows = list(itertools.product([5, 9, 12], [20, 40], [1, 2], range(seeds)))
    source = np.random.default_rng(seed)
    source.shuffle(rows)
    columns = {axis: np.array([row[i] for row in rows]) for i, axis in enumerate(AXES)}
    return columns, source.normal(size=len(rows))


def loop(columns, gap, x, keep) -> float:
    """The mean over pairs that ``keep`` takes, by the number of axes that differ, one by one."""
    signs = [
        np.sign(gap[i] - gap[j]) * np.sign(x[i] - x[j])
        for i, j in itertools.combinations(range(len(gap)), 2)
        if keep([axis for axis in AXES if columns[axis][i] != columns[axis][j]])
    ]
    return float(np.mean(signs))


def test_tau_is_scipys_where_every_model_is_a_cell():
    columns, gap = models(seeds=1)
    x = gap + np.random.default_rng(1).normal(size=len(gap))
    signs = PairSigns.of(gap, x, CellSettings.of(columns))
    once = np.ones((1, 12))
    assert signs.between(once)[0] == pytest.approx(kendalltau(gap, x).statistic)


def test_every_statistic_is_a_mean_over_its_pairs():
    columns, gap = models()
    x = np.round(gap + np.random.default_rng(1).normal(size=len(gap)))  # with ties
    settings, once = CellSettings.of(columns), np.ones((1, 12))
    signs = PairSigns.of(gap, x, settings)
    assert signs.between(once)[0] == pytest.approx(loop(columns, gap, x, lambda d: bool(d)))
    assert signs.within(once)[0] == pytest.approx(loop(columns, gap, x, lambda d: not d))
    for axis in AXES:
        along = signs.along(settings.neighbours(axis), once)[0]
        assert along == pytest.approx(loop(columns, gap, x, lambda d, a=axis: d == [a]))
    environments = settings.environments()
    assert set(environments) == {
        ("T", 5, 9), ("T", 5, 12), ("T", 9, 12), ("m", 20, 40), ("depth", 1, 2)
    }  # fmt: skip
    pairs = environments["T", 5, 12]
    there = np.isin(columns["T"], (5, 12))
    some = {axis: column[there] for axis, column in columns.items()}
    expected = loop(some, gap[there], x[there], lambda d: d == ["T"])
    assert signs.along(pairs, once)[0] == pytest.approx(expected)


def test_a_cell_that_is_drawn_twice_counts_as_two():
    """But for the pairs of its copies with each other, which say nothing."""
    columns, gap = models()
    x = gap + np.random.default_rng(1).normal(size=len(gap))
    settings = CellSettings.of(columns)
    weights = np.ones((1, 12))
    weights[0, 3], weights[0, 5] = 2, 0
    of_cell = [settings.cell == c for c in range(12)]
    rows = np.concatenate([np.flatnonzero(~of_cell[5]), np.flatnonzero(of_cell[3])])
    copy = np.r_[np.zeros((~of_cell[5]).sum()), np.ones(of_cell[3].sum())]
    cell = settings.cell[rows]
    agree, count = 0.0, 0
    for i, j in itertools.combinations(range(len(rows)), 2):
        if cell[i] != cell[j]:
            g, y = gap[rows], x[rows]
            agree, count = agree + np.sign(g[i] - g[j]) * np.sign(y[i] - y[j]), count + 1
    assert copy.sum() == 2
    tau = PairSigns.of(gap, x, settings).between(weights)[0]
    assert tau == pytest.approx(agree / count)


def test_missing_models_leave_their_cells_in_place():
    columns, gap = models()
    settings = CellSettings.of(columns)
    where = settings.cell != 4
    some = PairSigns.of(gap[where], gap[where], settings.rows(where))
    assert some.agree.shape == (12, 12) and not some.count[4].any()
    assert some.between(np.ones((1, 12)))[0] == 1.0


def test_differences_within_noise_do_not_count():
    settings = CellSettings.of({"m": np.arange(4)})
    gap, noise = np.array([0.0, 0.1, 0.5, 0.55]), np.full(4, 0.05)
    signs = PairSigns.of(gap, gap, settings, noise)
    assert signs.count[0].tolist() == [0, 0, 1, 1] and signs.count[2].tolist() == [1, 1, 0, 0]


def test_intervals_cover_and_errors_shrink():
    """Of 200 studies of independent numbers, about one in twenty has 0 outside its interval."""
    outside = 0
    for study in range(200):
        columns, gap = models(seed=study)
        x = np.random.default_rng(1000 + study).normal(size=len(gap))
        tau = PairSigns.of(gap, x, CellSettings.of(columns)).between(draws_of(12, 200, study))
        outside += abs(tau[0]) > 1.96 * np.nanstd(tau[1:], ddof=1)
    assert 2 <= outside <= 30  # with twelve cells the normal interval is a little short


def test_information_beyond_the_settings():
    """The gap itself knows all, a setting and a random number nothing; half-knowledge lies between.

    With few pairs a random number seems to know something: the limit says how much is chance.
    """
    source = np.random.default_rng(0)
    columns = {"T": np.repeat([1, 2, 3, 4], 50), "m": np.tile([1, 2], 100), "trial": np.arange(200)}
    settings = CellSettings.of(columns)
    gap = columns["T"] + 0.5 * columns["m"] + source.normal(size=200)
    known = {
        "gap": gap,
        "half": gap + source.normal(size=200),
        "setting": columns["T"] * 2.0,
        "random": source.normal(size=200),
    }
    share = {name: Signs.of(gap, x, settings).least(("T", "m"))[0] for name, x in known.items()}
    assert share["gap"] == pytest.approx(1.0)
    assert share["setting"] == pytest.approx(0.0, abs=1e-9)
    assert share["random"] < 0.01 < 0.05 < share["half"] < 0.6


def test_no_axis_is_refused():
    with pytest.raises(InputError, match="settings"):
        CellSettings.of({})
