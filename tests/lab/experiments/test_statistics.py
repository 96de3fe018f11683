"""Statistics against oracles: scipy, exact distributions, simulated coverage, planted answers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import binom, binomtest, linregress

from dudley.core.errors import InputError
from dudley.lab.statistics.bootstrap import Scatter, bootstrap, resampled_counts
from dudley.lab.statistics.logistic import fit, log_likelihoods, profile
from dudley.lab.statistics.proportions import clopper_pearson, wilson
from dudley.lab.statistics.survival import kaplan_meier
from dudley.lab.statistics.trend import equivalence, estimate, slope


@pytest.mark.parametrize("k", [0, 1, 7, 25, 49, 50])
def test_intervals_of_a_rate_are_scipys(k: int):
    oracle = binomtest(k, 50)
    for ours, method in ((wilson, "wilson"), (clopper_pearson, "exact")):
        interval = oracle.proportion_ci(0.95, method)
        assert ours(k, 50) == pytest.approx((interval.low, interval.high), abs=1e-12)
    many = wilson(np.array([k, 3]), np.array([50, 9]))
    assert (many[0][0], many[1][0]) == pytest.approx(wilson(k, 50))


def test_the_exact_interval_covers_and_a_shorter_one_does_not():
    n, p = 20, 0.07
    covers = lambda level: sum(  # noqa: E731
        binom.pmf(k, n, p)
        for k in range(n + 1)
        if clopper_pearson(k, n, level)[0] <= p <= clopper_pearson(k, n, level)[1]
    )
    assert covers(0.95) >= 0.95 > covers(0.6)
    with pytest.raises(InputError):
        wilson(5, 4)


def test_the_bootstrap_finds_the_error_of_a_mean_and_respects_blocks():
    rng = np.random.default_rng(0)
    shared = np.repeat(rng.normal(size=60), 5)  # five dependent rows a block
    mean = lambda rows: shared[rows].mean()  # noqa: E731
    blocks = np.repeat(np.arange(60), 5)
    by_block = bootstrap(mean, 300, 800, 1, blocks=blocks).error
    by_row = bootstrap(mean, 300, 800, 1).error
    truth = shared[::5].std() / np.sqrt(60)
    assert by_block == pytest.approx(truth, rel=0.1)
    assert by_row < 0.6 * by_block
    assert bootstrap(mean, 300, 50, 1).error == bootstrap(mean, 300, 50, 1).error


def test_strata_keep_their_sizes():
    labels = np.array([0, 0, 0, 1])
    resampled = bootstrap(lambda rows: labels[rows].mean(), 4, 50, 0, strata=labels)
    assert set(resampled.values) == {0.25}


def test_counts_drawn_again_have_the_binomial_spread_and_no_crossing_stays_infinite():
    drawn = resampled_counts([10, 50], [50, 50], 4000, 0)
    assert drawn[:, 1].tolist() == [50] * 4000
    assert drawn[:, 0].std() == pytest.approx(np.sqrt(50 * 0.2 * 0.8), rel=0.05)
    assert Scatter.of([1.0, 2.0] + [np.inf] * 8).highest == np.inf


def test_a_slope_is_scipys_and_its_interval_covers_under_uneven_scatter():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, 40)
    oracle = linregress(x, 2 * x + np.sin(40 * x))
    plain = slope(x, 2 * x + np.sin(40 * x), robust=False)
    assert (plain.slope, plain.error) == pytest.approx((oracle.slope, oracle.stderr))  # pyright: ignore
    assert plain.p == pytest.approx(oracle.pvalue)  # pyright: ignore
    hits = {True: 0, False: 0}
    for _ in range(400):
        y = x + rng.normal(size=40) * (0.05 + 3 * (x - 0.5) ** 2 * 4)
        for robust in hits:
            line = slope(x, y, robust=robust)
            hits[robust] += line.lowest <= 1 <= line.highest
    assert hits[True] >= 370 > hits[False]


def test_dependent_rows_need_their_groups():
    rng = np.random.default_rng(1)
    rejected = {True: 0, False: 0}
    for _ in range(200):
        x = np.repeat(rng.normal(size=20), 10)
        y = np.repeat(rng.normal(size=20), 10) + 0.1 * rng.normal(size=200)
        for grouped in rejected:
            groups = np.repeat(np.arange(20), 10) if grouped else None
            rejected[grouped] += slope(x, y, groups=groups).p < 0.05
    assert rejected[True] <= 40 < 80 <= rejected[False]  # a planted neglect turns red


def test_equivalence_needs_a_narrow_interval_inside_the_margin():
    assert equivalence(estimate(0.01, 0.02), 0.1).equivalent
    assert not equivalence(estimate(0.01, 0.2), 0.1).equivalent  # no trend found, and none excluded
    assert not equivalence(estimate(0.2, 0.001), 0.1).equivalent
    edge = equivalence(estimate(0.0, 1.0, 10), 1.8124611228107335)  # t_{.95, 10}
    assert edge.p == pytest.approx(0.05) and edge.highest == pytest.approx(edge.margin)
    with pytest.raises(InputError):
        equivalence(estimate(0.0, 1.0), 0.0)


def planted(seed: int, spread: float = 0.0):
    rng = np.random.default_rng(seed)
    X = np.stack([np.ones(60), np.repeat(np.linspace(-2, 2, 12), 5)], 1)
    logit = X @ np.array([0.3, 1.2]) + spread * rng.normal(size=60)
    return X, rng.binomial(50, expit(logit)), np.full(60, 50)


def test_binomial_regression_is_the_maximum():
    X, k, n = planted(0)
    model = fit(X, k, n)
    loss = lambda beta: -log_likelihoods(X, k, n, beta).sum()  # noqa: E731
    oracle = minimize(loss, np.zeros(2), method="BFGS")
    assert model.beta == pytest.approx(oracle.x, abs=1e-4)
    assert model.likelihood == pytest.approx(-oracle.fun, abs=1e-6)
    assert model.errors == pytest.approx(np.sqrt(np.diag(oracle.hess_inv)), rel=0.1)
    assert 0.6 < model.dispersion < 1.5 < fit(*planted(0, spread=1.0)).dispersion
    assert log_likelihoods(X, k, n, model.beta).sum() == pytest.approx(model.likelihood)


def test_perfect_separation_ends_and_one_sided_data_are_refused():
    X = np.stack([np.ones(4), [1.0, 2, 3, 4]], 1)
    assert np.isfinite(fit(X, [0, 0, 9, 9], [9] * 4).beta).all()
    with pytest.raises(InputError):
        fit(X, [0] * 4, [9] * 4)


@pytest.mark.slow
def test_a_profile_interval_covers_as_it_says_and_widens_with_the_dispersion():
    covered = 0
    for seed in range(120):
        X, k, n = planted(seed)
        at = lambda b: fit(X[:, :1], k, n, b * X[:, 1]).likelihood  # noqa: E731, B023
        interval = profile(at, 0.4, 2.4)
        covered += interval.lowest <= 1.2 <= interval.highest
    assert 106 <= covered <= 120  # .95 ± 3 errors
    wide = profile(at, 0.4, 2.4, dispersion=4.0)
    assert wide.highest - wide.lowest == pytest.approx(
        2 * (interval.highest - interval.lowest), rel=0.1
    )
    assert profile(at, 1.19, 1.21).highest == np.inf


def test_survival_without_censoring_is_a_proportion_and_censoring_lifts_it():
    t = np.array([1.0, 2, 2, 5, 7, 9])
    plain = kaplan_meier(t, np.ones(6, bool))
    assert plain.at(4.0)[0] == pytest.approx((t > 4).mean())
    assert plain.at(0.5)[0] == 1.0 and plain.at(0.5)[1] < 1
    assert plain.at(9.0) == (0.0, 0.0, pytest.approx(clopper_pearson(0, 6)[1]))
    assert plain.at(4.0)[1:] == pytest.approx(clopper_pearson(3, 6))
    censored = kaplan_meier(t, [True, False, True, True, True, True])
    assert censored.at(2.0)[0] == pytest.approx(5 / 6 * 4 / 5)
    assert censored.at(5.0)[0] > plain.at(5.0)[0]
    assert censored.at(2.0)[1:] == pytest.approx(clopper_pearson(4, 6))  # censored only now
    assert censored.at(5.0)[1:] != pytest.approx(clopper_pearson(2, 6), abs=1e-3)
    assert kaplan_meier([9.0] * 3, [False] * 3).median == np.inf


def test_intervals_of_survival_cover():
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(300):
        t = rng.exponential(1.0, 30)
        curve = kaplan_meier(np.minimum(t, 2.0), t < 2.0)
        lowest, highest = curve.at(0.7)[1:]
        hits += lowest <= np.exp(-0.7) <= highest
        assert curve.median_interval[0] <= curve.median <= curve.median_interval[1]
    assert 279 <= hits <= 299


def test_intervals_of_survival_cover_after_censoring():
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(300):
        t, end = rng.exponential(1.0, 30), rng.exponential(2.0, 30)
        lowest, highest = kaplan_meier(np.minimum(t, end), t < end).at(0.7)[1:]
        hits += lowest <= np.exp(-0.7) <= highest
    assert 270 <= hits <= 298
