"""Coverage of a watched stream: a look after every outcome, under drift, and leaky twins.

A run fails if a statement is false at *any* look: a bound below the running mean of the conditional
error, or an alarm that says what is not so. Both are counted together, at their shares of δ.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from scipy import stats

from certificates.test_validity_prequential import RUNS, SIMULATIONS, adaptive, wealth
from certificates.validity import allowed, leaks
from dudley.certificates.methods.prequential.grid import BETS, WEIGHTS
from dudley.certificates.stream.alarm import ALARMS
from dudley.certificates.stream.stream import OutcomeStream, StreamDeclared

δ = 0.1
LEVEL = 0.05
AT_LEVEL: dict[str, Callable] = {
    "at the level": lambda errors, t: np.full(RUNS, LEVEL),
    "below, then above": lambda errors, t: np.full(RUNS, 0.02 if t < 60 else 0.1),
    "above, then below": lambda errors, t: np.full(RUNS, 0.1 if t < 10 else 0.02),
    "chasing": lambda errors, t: np.where(errors <= LEVEL * t, LEVEL, 0.01),
    "chasing in the mean": lambda errors, t: np.where(errors > LEVEL * t, 0.0, 2 * LEVEL),
}


def alarms(kind: str, X: np.ndarray, level: float, share: float) -> np.ndarray:
    """At which outcome the alarm of each run came; 0 where none did."""
    every = (ALARMS[kind](level, 1 / share) for _ in X)
    return np.array([alarm.add(x) or 0 for alarm, x in zip(every, X, strict=True)])


def false_alarms(kind: str, at: np.ndarray, R: np.ndarray, level: float) -> np.ndarray:
    """Runs whose alarm says what is not so."""
    before = np.arange(1, R.shape[1] + 1) <= at[:, None]
    if kind == "ever":
        over = (before & (level < R)).any(1)
    else:
        over = (R * before).sum(1) > level * at * (1 + 1e-12)
    return (at > 0) & ~over


def test_bound_and_alarm_hold_together_at_every_look():
    simulations = {name: adaptive(risk, 5) for name, risk in AT_LEVEL.items()}
    simulations["gradual"] = SIMULATIONS["gradual"](5)
    for what, runs in simulations.items():
        X, R = (part[:1000] for part in runs)
        below = (wealth("mixture", X, R) >= 2 / δ).any(1)
        for kind in ALARMS:
            at = alarms(kind, X, LEVEL, δ / 2)
            failed = below | false_alarms(kind, at, R, LEVEL)
            assert allowed(int(failed.sum()), 1000, δ), (what, kind)


def test_an_alarm_that_is_right_comes():
    X, _ = adaptive(lambda errors, t: np.full(RUNS, 0.3), 6)
    for kind in ALARMS:
        assert (alarms(kind, X, LEVEL, δ) > 0).mean() > 0.99, kind


def test_a_change_is_seen_long_after_the_start():
    quiet = np.zeros(20_000)
    rng = np.random.default_rng(0)
    stream = np.concatenate([quiet, (rng.random(400) < 0.2) * 1.0])
    at = ALARMS["ever"](0.02, 20.0).add(stream)
    assert at is not None and 20_000 < at < 20_150
    assert ALARMS["mean"](0.02, 20.0).add(stream) is None


def test_the_sums_are_those_of_exact_arithmetic_and_never_above():
    rng = np.random.default_rng(1)
    x = np.concatenate([(rng.random(20) < 0.2) * 1.0, rng.integers(0, 9, 20) / 8])
    level, before = 0.25, Fraction(1, 4)
    bets, weights = list(map(Fraction, BETS)), list(map(Fraction, WEIGHTS))
    factors = [[(1 - θ * (1 - Fraction(z))) / (1 - θ * (1 - before)) for z in x] for θ in bets]
    for kind in ("mean", "ever"):
        alarm, worth = ALARMS[kind](level, math.inf), [Fraction(kind == "mean")] * len(bets)
        for t, z in enumerate(x):
            quotients = (1 - np.multiply.outer(BETS, [1 - z])) / (1 - BETS * (1 - level))[:, None]
            lower = float(alarm.block(quotients)[0])
            alarm.n += 1
            start = Fraction(1, (t + 1) * (t + 2)) if kind == "ever" else 0
            worth = [(w + start) * f[t] for w, f in zip(worth, factors, strict=True)]
            exact = sum(w * v for w, v in zip(worth, weights, strict=True))
            exact += Fraction(1, t + 2) if kind == "ever" else 0
            assert exact * (1 - Fraction(1, 10**6)) <= Fraction(lower) <= exact, (kind, t)


def test_how_outcomes_are_handed_over_changes_no_alarm():
    rng = np.random.default_rng(2)
    x = (rng.random(3000) < 0.06) * 1.0
    for kind in ALARMS:
        declared = StreamDeclared(δ, 0.02, kind)
        whole, single = OutcomeStream(declared), OutcomeStream(declared)
        whole.add(x)
        for part in np.split(x, np.sort(rng.integers(0, 3000, 300))):
            single.add(part)
        assert whole.look().alarm == single.look().alarm
        assert whole.look().n == single.look().n == 3000
        assert abs(whole.look().upper - single.look().upper) < 1e-9


# -- leaky twins ------------------------------------------------------------------------------


def test_clopper_and_pearson_at_every_look_fails():
    """It holds at one number of outcomes that was fixed before, and not at the best of all."""
    X, R = adaptive(lambda errors, t: np.full(RUNS, 0.3), 3)
    n, k = np.arange(1, X.shape[1] + 1), np.cumsum(X, 1)
    upper = np.where(k == n, 1.0, stats.beta.isf(δ, k + 1, np.maximum(n - k, 1)))
    assert leaks(int((upper < 0.3).any(1).sum()), RUNS, δ)
    assert allowed(int((upper[:, -1] < 0.3).sum()), RUNS, δ)
    assert allowed(int((wealth("mixture", X, R) >= 1 / δ).any(1).sum()), RUNS, δ)


def test_an_alarm_for_some_time_read_as_one_for_the_mean_fails():
    """A quiet stretch, then a bad week: the alarm is right, and the mean is below the level."""
    X, R = adaptive(lambda errors, t: np.full(RUNS, 0.0 if t < 112 else 0.7), 4)
    at = alarms("ever", X, LEVEL, δ)
    assert not false_alarms("ever", at, R, LEVEL).any()
    assert leaks(int(false_alarms("mean", at, R, LEVEL).sum()), RUNS, δ)
    assert not alarms("mean", X, LEVEL, δ).any()


def test_bets_that_begin_anew_read_as_a_bound_on_the_mean_fail_under_falling_risk():
    """That the error was once below p, proved by such bets, says nothing of the mean."""
    X, R = adaptive(lambda errors, t: np.full(RUNS, 0.6 if t < 60 else 0.01), 7)
    at = alarms("ever", 1 - X, 1 - 0.2, δ)  # at some time the share of right answers is above .8
    assert not false_alarms("ever", at, 1 - R, 1 - 0.2).any()
    assert leaks(int(((at > 0) & (R.mean(1) > 0.2)).sum()), RUNS, δ)
    assert allowed(int((wealth("mixture", X, R) >= 1 / δ).any(1).sum()), RUNS, δ)


def test_outcomes_that_are_left_out_when_they_are_bad_fail():
    X, R = adaptive(lambda errors, t: np.full(RUNS, 0.3), 8)
    rng = np.random.default_rng(9)
    hidden = np.where((X == 1) & (rng.random(X.shape) < 0.5), 0.0, X)
    assert leaks(int((wealth("mixture", hidden, R) >= 1 / δ).any(1).sum()), RUNS, δ)
