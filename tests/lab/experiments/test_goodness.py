"""Goodness of fit: a right law is rejected as often as promised, a wrong one nearly always."""

from __future__ import annotations

import numpy as np
import pytest

from dudley.core.errors import InputError
from dudley.lab.shared.growth import half_success
from dudley.lab.statistics import critical, goodness, rates, trend, waiting
from dudley.lab.statistics.critical import Cells, law
from dudley.lab.statistics.halfway import HalfSuccess, Halfway

LAW_CLASSES = (
    critical.LawFit, trend.Slope, rates.Rate, rates.ExactPower, waiting.WaitingLaw, Halfway,
    HalfSuccess,
)  # fmt: skip


@pytest.mark.parametrize("cls", LAW_CLASSES)
def test_no_law_is_made_without_its_test(cls: type):
    fields = cls.__dataclass_fields__
    values = {name: 1.0 for name in fields if name != "goodness"}
    with pytest.raises(TypeError, match="goodness"):
        cls(**values)


def test_a_line_is_rejected_as_often_as_promised_and_a_parabola_nearly_always():
    rng, x = np.random.default_rng(0), np.repeat(np.arange(6.0), 8)
    p = [goodness.lack_of_fit(x, x + rng.normal(size=len(x))).p for _ in range(400)]
    assert 0.02 < np.mean(np.array(p) < 0.05) < 0.09
    bent = [goodness.lack_of_fit(x, x**2 + rng.normal(size=len(x))).rejected() for _ in range(50)]
    assert np.mean(bent) > 0.95
    assert goodness.lack_of_fit([0, 1, 0, 1], [1, 2, 3, 4]).p is None
    assert goodness.lack_of_fit([0, 1, 2], [1, 2, 4]).p is None


def test_means_with_errors():
    rng, x = np.random.default_rng(1), np.arange(8.0)
    p = [goodness.chi_square(x, 2 * x + rng.normal(size=8), np.ones(8)).p for _ in range(400)]
    assert 0.02 < np.mean(np.array(p) < 0.05) < 0.09
    assert goodness.chi_square(x, x**2, np.ones(8)).rejected()
    assert goodness.chi_square(x[:2], x[:2], np.ones(2)).p is None
    n = np.repeat([100, 400, 1600, 6400], 50)
    bent = rates.rate(n, rng.exponential(np.where(n < 1000, 1 / n, 1e-3)), 300, 0)
    straight = rates.rate(n, rng.exponential(1 / n), 300, 0)
    assert bent.goodness.rejected() and not straight.goodness.rejected(laws=5)


def planted(critical_m, seed: int, trials: int = 40) -> Cells:
    T, m = (part.ravel() for part in np.meshgrid([100, 200, 400, 800, 3000], range(40, 400, 30)))
    p = 1 / (1 + (critical_m(T) / m) ** 5.0)
    k = np.random.default_rng(seed).binomial(trials, p)
    order = np.lexsort((m, T))
    return Cells(T[order], m[order], k[order].astype(float), np.full(len(T), float(trials)))


@pytest.mark.slow
@pytest.mark.parametrize("slopes", ["one", "tilted", "free"])
def test_the_law_that_made_the_cells_stays_and_others_go(slopes: str):
    made = {
        "power": lambda T: 8.0 * T**0.4,
        "log": lambda T: -150 + 50 * np.log(T),
        "power of log": lambda T: 2.0 * np.log(T) ** 2.5,
    }
    for name, size in made.items():
        p = [law(planted(size, seed), name, slopes, None).goodness.p for seed in range(12)]
        assert np.mean(np.array(p) < 0.05) < 0.34, name
    cells = planted(made["power"], 0)
    assert law(cells, "log", slopes, None).goodness.rejected(laws=50)
    fitted = law(planted(made["power of log"], 1), "power of log", slopes)
    assert fitted.θ.lowest < 2.5 < fitted.θ.highest


def test_degrees_are_counted():
    cells = planted(lambda T: 8.0 * T**0.4, 0)
    degrees = [law(cells, "power", slopes, None).goodness.degrees for slopes in critical.SLOPES]
    assert degrees == [10 - 3, 10 - 4, 10 - 7]
    with pytest.raises(InputError, match="one or tilted"):
        law(cells, "power", "free", None).likelihoods(cells)


@pytest.mark.slow
def test_half_of_successes_beyond_the_grid_is_censored():
    cells = planted(lambda T: 8.0 * T**0.4, 3)
    short = cells.only(cells.m <= 120)
    rows = {row["T"]: row for row in half_success(short)}
    assert not rows[100]["beyond"] and rows[800]["beyond"] and rows[800]["largest"] == 100
    low, high = rows[800]["interval"]
    assert low is not None and low < 8.0 * 800**0.4 < (high or np.inf)
    covered = 0
    for seed in range(40):
        row = half_success(planted(lambda T: 8.0 * T**0.4, seed))[1]
        covered += row["interval"][0] < 8.0 * 200**0.4 < row["interval"][1]
    assert covered >= 34


@pytest.mark.slow
@pytest.mark.parametrize("shape", list(waiting.SHAPES))
def test_waiting_times_with_censored_ones(shape: str):
    """β is covered, and times that are taken for events where they were not are seen to bias it."""
    covered, rejected, naive = 0, 0, 0
    T = np.repeat([10.0, 15.0, 20.0, 30.0], 15)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        noise = rng.normal(size=60) if shape == "log-normal" else np.log(rng.exponential(size=60))
        times = 0.02 * T**4 * np.exp(0.6 * noise)
        end = 6000.0
        fitted = waiting.waiting_law(T, np.minimum(times, end), times < end, shape)
        covered += fitted.lowest < 4 < fitted.highest
        rejected += fitted.goodness.rejected()
        naive += waiting.waiting_law(T, np.minimum(times, end), times > 0, shape).highest < 4
    assert covered >= 17 and rejected <= 5 and naive >= 10
    with pytest.raises(InputError, match="waiting times"):
        waiting.waiting_law(T, times, np.zeros(60, bool), shape)
