"""How often certificates of outcomes fail, and that each way to cheat is caught.

δ = 0.1 throughout, 1,000 repetitions or more of each mode on known distributions. Ours may fail as
often as δ allows (exact binomial test); leaky variants must fail at 3δ or more.
"""

import math
from functools import cache

import numpy as np
import pytest
from scipy import stats

from certificates.validity import allowed, failures, leaks, tight
from dudley.calculus.inversion import binomial_upper
from dudley.certificates.certify_outcomes import outcomes
from dudley.certificates.outcomes import verdict
from dudley.certificates.outcomes.abstention import gate_of, thresholds_of
from dudley.certificates.outcomes.difference import difference_upper, discordant_upper
from dudley.certificates.outcomes.labels import LabelColumn
from dudley.certificates.outcomes.over_time import running_bounds
from dudley.certificates.outcomes.question import LossQuestion
from dudley.certificates.outcomes.slices import slice_bounds, slice_rows
from dudley.certificates.outcomes.stepdown import proved_below
from dudley.certificates.outcomes.units import Units
from dudley.certificates.outcomes.verdict import LARGER, PROVED, verdict_of

δ, REPETITIONS = 0.1, 1000
C = math.log(1 / δ)


@cache  # some thousand repetitions have some dozen numbers of errors
def bound(errors: int, n: int, c: float = C) -> float:
    return binomial_upper(errors, n, c)


def ours_holds(draw, certify, truth, repetitions=REPETITIONS, seed=0) -> int:
    failed = failures(draw, certify, truth, repetitions, seed)
    assert allowed(failed, repetitions, δ), f"{failed} of {repetitions} fail"
    return failed


def leaky_fails(draw, certify, truth, repetitions=REPETITIONS, seed=0) -> None:
    failed = failures(draw, certify, truth, repetitions, seed)
    assert leaks(failed, repetitions, δ), f"only {failed} of {repetitions} fail"


def errors(p: float, n: int):
    return lambda rng: (rng.random(n) < p) * 1.0


def question(losses: np.ndarray, **parts) -> LossQuestion:
    return LossQuestion(losses, True, C, **parts)


# -- the mean ---------------------------------------------------------------------------------


def test_errors_above_and_below():
    p = tight(5, 80, δ)
    failed = ours_holds(errors(p, 80), lambda z: question(z).upper(), p)
    assert failed >= REPETITIONS * δ / 2  # tight here, so that a wrong δ would be seen
    ours_holds(errors(p, 80), lambda z: -question(z).lower(), -p)


@pytest.mark.slow
def test_losses_above_and_below():
    def draw(rng):
        return rng.beta(0.3, 2.0, 40)

    mean = 0.3 / 2.3
    ours_holds(draw, lambda z: LossQuestion(z, False, C).upper(), mean)
    ours_holds(draw, lambda z: -LossQuestion(z, False, C).lower(), -mean)


def test_a_verdict_is_seldom_wrong_at_the_level_and_beside_it(monkeypatch):
    monkeypatch.setattr(verdict, "draws_lacking", lambda *_: None)  # which is for the words alone
    n, x = 80, tight(5, 80, δ)
    for p, word in ((x, PROVED), (x * (1 - 1e-9), LARGER)):
        ours_holds(errors(p, n), lambda z, w=word: verdict_of(question(z), x, True).word != w, 0.5)


# -- slices -----------------------------------------------------------------------------------

SLICES, ROWS = 6, 40
GROUPS = {"site": LabelColumn.of(np.repeat(np.arange(SLICES), ROWS))}


def test_all_slices_at_once_and_the_worst_without_a_split():
    p = tight(1, ROWS, δ / SLICES)
    draw = errors(p, SLICES * ROWS)
    ours_holds(draw, lambda z: min(b.upper for b in slice_bounds(question(z), GROUPS)), p)
    two = ours_holds(
        draw, lambda z: min(b.upper for b in slice_bounds(question(z), GROUPS, True)), p
    )
    assert two < REPETITIONS * δ
    p = tight(1, ROWS, δ)

    def unsplit(z):
        return min(bound(int(part.sum()), ROWS) for part in np.split(z, SLICES))

    leaky_fails(errors(p, SLICES * ROWS), unsplit, p)


def test_two_columns_share_the_confidence():
    p = tight(1, ROWS, δ / SLICES / 2)
    other = LabelColumn.of(np.tile(np.arange(ROWS) % SLICES, SLICES))
    groups = GROUPS | {"kind": other}
    draw = errors(p, SLICES * ROWS)
    ours_holds(draw, lambda z: min(b.upper for b in slice_bounds(question(z), groups)), p)


def test_tests_of_slices_step_down():
    """Half of the slices are at the level, and half far below, so that the rule steps down."""
    level = tight(1, ROWS, δ / (SLICES // 2))
    risks = np.repeat([level] * (SLICES // 2) + [level / 50] * (SLICES // 2), ROWS)
    parts = list(slice_rows(GROUPS)["site"].values())

    def draw(rng):
        return (rng.random(len(risks)) < risks) * 1.0

    def false_proof(z, proofs):
        return float(not any(proofs(z)[: SLICES // 2]))

    ours_holds(draw, lambda z: false_proof(z, lambda z: proved_below(question(z), parts, level)), 1)

    def unsplit(z):
        return [bound(int(z[part].sum()), ROWS) <= level for part in parts]

    level = tight(1, ROWS, δ)
    risks = np.full(len(risks), level)
    leaky_fails(draw, lambda z: false_proof(z, lambda z: [any(unsplit(z))]), 1)


# -- abstention -------------------------------------------------------------------------------

GRID = tuple(np.arange(20) / 20)


@pytest.mark.parametrize("chains", [1, 4, pytest.param(20, marks=pytest.mark.slow)])
def test_a_gate_at_a_risk_that_no_threshold_keeps(chains):
    n, r = 120, 0.2

    def draw(rng):
        return rng.random(n), (rng.random(n) < r * (1 + 1e-9)) * 1.0

    def none(pair):
        score, z = pair
        return float(gate_of(question(z), C, score, GRID, r, chains).threshold is None)

    ours_holds(draw, none, 1)


def test_thresholds_chosen_freely_fail():
    n, r = 400, 0.2
    cuts = thresholds_of(GRID)

    def draw(rng):
        return rng.random(n), (rng.random(n) < r * (1 + 1e-9)) * 1.0

    def counted(pair):
        answered = pair[0] >= np.array(cuts)[:, None]
        return answered.sum(axis=1), (answered * pair[1]).sum(axis=1)

    def unsplit(pair):
        m, k = counted(pair)
        return float(not (stats.binom.cdf(k, m, r) < δ).any())

    leaky_fails(draw, unsplit, 1)

    def observed(pair):
        m, k = counted(pair)
        return float(not (k <= r * m).any())

    leaky_fails(draw, observed, 1)


def test_the_coverage_of_a_chosen_threshold():
    n = 100

    def draw(rng):
        return rng.random(n), np.zeros(n)

    def coverage(pair):
        gate = gate_of(question(pair[1]), C, pair[0], GRID, 0.3, 4)
        return 0.0 if gate.threshold is None else gate.threshold - 1 + gate.coverage

    ours_holds(draw, lambda pair: -coverage(pair), 0)


# -- old against new --------------------------------------------------------------------------


def test_differences_of_errors():
    n = 150
    for worse, better in ((0.1, 0.1), (0.12, 0.04), (0.02, 0.2), (0.0, 0.03)):

        def draw(rng, worse=worse, better=better):
            return rng.multinomial(n, [worse, better, 1 - worse - better])

        def upper(counts):
            return discordant_upper(int(counts[0]), int(counts[1]), n, C)

        ours_holds(draw, upper, worse - better)


@pytest.mark.slow
def test_differences_of_losses():
    def pair(rng):
        base = rng.random(60)
        return np.clip(base + 0.1 * rng.random(60), 0, 1), base

    # E[min(1, U + V/10)] − ½ = E[V]/10 − E[(U + V/10 − 1)₊] = 1/20 − 1/600
    truth = 1 / 20 - 1 / 600
    ours_holds(pair, lambda z: difference_upper(LossQuestion(z[0], False, C), z[1]), truth)


def test_the_rate_of_discordant_rows_put_in_as_it_is_seen_fails():
    """With no discordant rows, say, the difference would be 0 for certain."""
    n, worse = 100, 0.005

    def plug_in(z):
        b = int(z.sum())
        return b / n * (2 * bound(b, b) - 1) if b else 0.0

    leaky_fails(errors(worse, n), plug_in, worse)
    ours_holds(errors(worse, n), lambda z: discordant_upper(int(z.sum()), 0, n, C), worse)


# -- choices ----------------------------------------------------------------------------------


def test_the_best_of_several_columns_is_priced():
    n, k = 60, 8
    p = tight(2, n, δ / k)

    def draw(rng):
        return rng.random((n, k)) >= p

    def ours(correct):
        columns = {str(j): correct[:, j] for j in range(k)}
        return outcomes(candidates=columns, delta=δ).value

    ours_holds(draw, ours, p)
    p = tight(2, n, δ)
    leaky_fails(draw, lambda correct: bound(int((~correct).sum(axis=0).min()), n), p)


def test_a_declared_number_of_comparisons_is_priced():
    n, k = 60, 8
    p = tight(2, n, δ / k)

    def draw(rng):
        return (rng.random((n, k)) < p).sum(axis=0).min()

    def ours(fewest):
        return outcomes(correct=np.arange(n) >= fewest, among=k, delta=δ).value

    ours_holds(draw, ours, p)


# -- units ------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", [pytest.param("mean", marks=pytest.mark.slow), "first"])
def test_units_count_once_and_rows_of_units_do_not(way):
    """Forty units of one to nineteen rows, nearly all of them right, or nearly all wrong."""
    units, risk = 40, 0.3

    def draw(rng):
        sizes = rng.integers(1, 20, units)
        rates = np.where(rng.random(units) < risk, 0.95, 0.05)
        unit = np.repeat(np.arange(units), sizes)
        return unit, (rng.random(len(unit)) < rates[unit]) * 1.0

    truth = risk * 0.95 + (1 - risk) * 0.05

    def ours(pair):
        return question(pair[1], units=Units.of(pair[0], way)).upper()

    ours_holds(draw, ours, truth)

    def rows_as_draws(pair):
        return bound(int(pair[1].sum()), len(pair[1]))

    leaky_fails(draw, rows_as_draws, truth, repetitions=2000)


# -- over time --------------------------------------------------------------------------------


def test_the_curve_over_time_holds_where_the_risk_follows_what_came():
    """It rises until the first error, and is then gone."""
    n, days = 96, np.arange(96) // 8

    def draw(rng):
        z, risks = np.zeros(n), np.zeros(n)
        for t in range(n):
            risks[t] = 0.0 if z[:t].any() else 0.01 + 0.04 * t / n
            z[t] = rng.random() < risks[t]
        return z, risks

    def running_mean(risks):
        return np.cumsum(risks) / np.arange(1, n + 1)

    @cache
    def curve_of(last: int):
        """The curve of a table whose only error is in row ``last`` (none: −1)."""
        return running_bounds((np.arange(n) == last) * 1.0, days, C)

    def misses(pair):
        z, risks = pair
        curve = curve_of(int(z.argmax()) if z.any() else -1)
        return min(point.upper - running_mean(risks)[point.rows - 1] for point in curve)

    ours_holds(draw, misses, 0)


def test_looks_inside_a_moment_fail():
    """All rows came at once, and were sorted by their losses: some first rows have none."""
    n, p = 60, 0.3
    moments = {n: np.zeros(n), 1: np.arange(n)}

    @cache
    def lowest(count: int, rows: int) -> float:
        z = (np.arange(n) >= n - count) * 1.0
        return min(point.upper for point in running_bounds(z, moments[rows], C))

    draw = errors(p, n)
    ours_holds(draw, lambda z: lowest(int(z.sum()), n), p)
    leaky_fails(draw, lambda z: lowest(int(z.sum()), 1), p)


# -- all at once ------------------------------------------------------------------------------


def test_all_parts_of_a_certificate_hold_at_once():
    n, p = 120, 0.15
    site = np.arange(n) % 3

    def draw(rng):
        correct, old = rng.random((2, n)) >= p
        return correct, old, rng.random(n)

    def holds(parts):
        correct, old, score = parts
        facts = outcomes(
            correct=correct, old=old, score=score, groups={"site": site}, delta=δ,
            answered_below=p * (1 - 1e-8), thresholds=(0.0, 0.5, 0.8), chains=1, two_sided=True,
        ).facts  # fmt: skip
        ends = [(s["at_least"], s["at_most"]) for s in facts.slices]
        inside = all(low <= p <= high for low, high in ends)
        fair = facts.comparison["at_least"] <= 0 <= facts.comparison["at_most"]
        return float(inside and fair and "threshold" not in facts.abstention)

    ours_holds(draw, holds, 1, repetitions=REPETITIONS)
