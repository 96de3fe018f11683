"""Coverage of pick-to-learn beyond even weights: forms A, B and C, a share, a loss, several stops.

`test_validity_picks` has the even weights, and leaky twins of the count k. The learners are the
same: one that knows a point on a line, one that remembers items, and the worst learner of stages.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from certificates.cuts import Cuts, line
from certificates.test_validity_picks import RUNS, bound, failing_share, stage_failure
from certificates.validity import allowed
from dudley.certificates.data import Dataset
from dudley.certificates.methods.pick_to_learn.bound import PickWeights, risk_upper
from dudley.certificates.methods.pick_to_learn.finite import pool_errors_upper
from dudley.certificates.training import certify_training
from dudley.core.errors import InputError


@pytest.mark.parametrize("δ", [0.1, 0.2])
def test_concentrated_weights_never_use_more_than_δ(δ):
    """Form A, exactly, for right guesses of k and for wrong ones."""
    for N, expected in ((10, 0), (10, 3), (60, 3), (60, 30), (150, 3)):
        weights = PickWeights(expected)
        bounds = [risk_upper(k, N, -math.log(δ), weights) for k in range(N)]
        assert 0.05 * δ < stage_failure(N, bounds.__getitem__) <= δ, (N, expected)


@pytest.mark.parametrize("δ", [0.1, 0.2])
def test_the_worst_learner_of_stages_in_a_pool_stays_below_δ(δ):
    """Form C, exactly. After j picks the model is wrong on D items of the pool, one more than the
    bound for k = j allows outside Z, and on none that was drawn with probability C(M−j−D, N−j) over
    C(M−j, N−j).
    """
    for N, M in ((10, 25), (60, 90), (60, 200)):
        failing, reached = 0.0, 1.0
        for j in range(N):
            D = pool_errors_upper(j, N, M, -math.log(δ)) + 1
            if D <= M - N:
                stops = math.comb(M - j - D, N - j) / math.comb(M - j, N - j)
                failing, reached = failing + reached * stops, reached * (1 - stops)
        assert 0.2 * δ < failing <= δ, (N, M)


@pytest.mark.parametrize("δ", [0.1, 0.2])
def test_the_best_of_several_stops_covers(δ):
    """Each stop at a third of δ; the learner knows the largest of its picks."""
    rng, N, stops = np.random.default_rng(11), 60, (1, 3, 9)
    failed = 0
    for _ in range(RUNS // 2):
        x, top, count, least, risk = rng.random(N), 0.0, 0, 1.0, 1.0
        for stop in stops:
            while count < stop and (x > top).any():
                top, count = float(x[np.argmax(x > top)]), count + 1
            here = bound(count + int((x > top).sum()), N, δ / len(stops))
            if here < least:
                least, risk = here, 1 - top
        failed += risk > least
    assert allowed(failed, RUNS // 2, δ)


def share_runs(n: int, initial: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(risk, picks) of the memory of d items whose start has learnt an initial share by heart."""
    draws = np.random.default_rng(seed).integers(0, d, (RUNS, n))
    known = np.array([len(np.unique(row[:initial])) for row in draws])
    whole = np.array([len(np.unique(row)) for row in draws])
    return 1 - whole / d, whole - known


@pytest.mark.parametrize("δ", [0.1, 0.2])
def test_an_initial_share_covers_what_is_left_of_the_sample(δ):
    for n, initial, d in ((80, 20, 40), (120, 60, 60), (60, 50, 30)):
        risks, picks = share_runs(n, initial, d, seed=12)
        bounds = np.array([bound(int(k), n - initial, δ) for k in picks])
        assert failing_share(risks, bounds) <= δ + 3 * math.sqrt(δ / RUNS), (n, initial, d)


def test_an_initial_share_that_is_counted_fails():
    """The leaky twin: N counts examples that the start has seen."""
    risks, picks = share_runs(60, 50, 30, seed=12)
    bounds = np.array([bound(int(k), 60, 0.1) for k in picks])
    assert failing_share(risks, bounds) > 0.3


CASES = [
    {"rounds": 1},
    {"rounds": (1, 2, 5)},
    {"rounds": 2, "initial": 20},
    {"rounds": 2, "expected": 6},
    {"rounds": 2, "most": 2},
    {"rounds": 2, "event": "loss", "level": 0.8},
    {"rounds": 2, "key": "worst"},
    {"rounds": 2, "pool": 100},
]


@pytest.mark.slow
@pytest.mark.parametrize("declared", CASES, ids=str)
def test_certificates_of_real_runs_cover_in_a_thousand_repetitions(declared):
    """By the code from end to end, at δ = .1 and .2 by turns of the seed.

    A model errs between .3 and its cut; its cross-entropy exceeds .8 where it lacks .2034 to 0.
    """
    runs, pool = 1000, declared.get("pool")
    for δ in (0.1, 0.2):
        rng, failed = np.random.default_rng(13), 0
        for run in range(runs):
            whole = line(pool or 60, seed=run)
            data = whole if pool is None else whole.part(rng.permutation(pool)[:60])
            try:
                certificate = certify_training(Cuts(), None, data, delta=δ, seed=run, **declared)
            except InputError:  # the start that the share gave fails nowhere: there is no number
                assert "initial" in declared
                continue
            model, short = certificate.model, 0.0
            if "event" in declared:
                short = math.log(math.expm1(0.8))
            at = model.at  # pyright: ignore[reportAttributeAccessIssue]
            risk = max(0.0, at - short - 0.3)
            if pool is not None:
                risk = float((model.margins(Dataset(whole.X, whole.y)) <= 0).mean())
            failed += certificate.certificate.value < risk
        assert allowed(failed, runs, δ), declared
