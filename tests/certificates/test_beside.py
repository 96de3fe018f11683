"""The hold-out beside pick-to-learn: splits, prices, pools, and which of the two won."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from certificates.cuts import Cut, Cuts, line
from certificates.validity import allowed, tight
from dudley.calculus.inversion import binomial_upper
from dudley.certificates.beside import hold_out_beside
from dudley.certificates.data import Dataset
from dudley.certificates.learners.base import Learner
from dudley.certificates.pool import share_up
from dudley.certificates.predictor import Predictor
from dudley.certificates.price import Bill, one_of
from dudley.certificates.training import certify_training
from dudley.certificates.verify import verify
from dudley.core.errors import InputError, UnknownName


def test_each_split_is_certified_at_its_share_of_delta_and_verifies():
    data = line(1000)
    beside = hold_out_beside(Cuts(off=0.05), data, seed=4)
    ordered = data.permuted("initial share 4")
    c = Bill(0.05, (one_of("looks", 3),)).log_confidence
    for split, size in zip(beside.splits, (100, 200, 400), strict=True):
        rest, first = ordered.part(slice(-size, None)), ordered.part(slice(0, -size))
        assert split.trained == first.n == 1000 - size
        assert split.model.sha256 == Cuts(off=0.05).prepare(first.X, first.y).sha256
        errors = int((split.model.margins(rest) <= 0).sum())
        assert split.certificate.facts.errors == errors > 0
        assert split.value == split.certificate.value == binomial_upper(errors, size, c)
        assert verify(split.certificate.to_json(), split.model, rest).holds
    assert beside.value == min(split.value for split in beside.splits)
    assert json.loads(json.dumps(beside.to_json()))["splits"][0]["trained"] == 900


def test_the_splits_do_not_depend_on_the_order_of_a_file():
    data, shuffle = line(300), np.random.default_rng(1).permutation(300)
    first, second = (hold_out_beside(Cuts(), X, seed=0) for X in (data, data.part(shuffle)))
    assert first.to_json()["value"] == second.to_json()["value"]
    assert [s.model.sha256 for s in first.splits] == [s.model.sha256 for s in second.splits]


def test_the_best_of_the_splits_covers():
    """The model is wrong on the share q of all inputs, whatever it is shown."""
    runs, failed, rng, δ = 1000, 0, np.random.default_rng(3), 0.2
    q = tight(1, 20, δ)
    for seed in range(runs):
        X = rng.random((200, 1))
        y = (X[:, 0] >= 0.5).astype(np.int64)
        failed += hold_out_beside(Wrong(q), Dataset(X, y), delta=δ, seed=seed).value < q
    assert allowed(failed, runs, δ)


@dataclass(frozen=True)
class Wrong(Learner):
    """Right but for the inputs in [.5, .5 + q)."""

    q: float

    def table(self) -> dict[str, Any]:
        return {"name": "wrong"}

    def start(self) -> Predictor:
        return Cut(0.5 + self.q)

    def train(self, X, y, step, previous):
        return previous


def test_without_the_price_the_best_of_the_splits_fails():
    """The leaky twin: each split at δ."""
    runs, failed, rng, δ = 1000, 0, np.random.default_rng(3), 0.2
    q = tight(1, 20, δ)
    for _ in range(runs):
        wrong = rng.random(200) < q
        bounds = [binomial_upper(int(wrong[-m:].sum()), m, -np.log(δ)) for m in (20, 40, 80)]
        failed += min(bounds) < q
    assert not allowed(failed, runs, δ)


def test_the_number_of_a_pool_counts_the_items_for_training_too():
    pool = line(1000, seed=5)
    for seed in range(20):
        rows = np.random.default_rng(seed).permutation(1000)[:400]
        beside = hold_out_beside(Cuts(off=0.05), pool.part(rows), pool=1000, seed=seed)
        for split in beside.splits:
            assert split.certificate.declared.pool == 1000 - split.trained
            errors = int((split.model.margins(pool) <= 0).sum())
            assert errors / 1000 <= split.value < 0.2
    whole = hold_out_beside(Cuts(off=0.05), pool, pool=1000, seed=0).splits[0]
    assert whole.value == share_up(int((whole.model.margins(pool) <= 0).sum()), 1000)


def test_the_sentence_says_which_won_and_what_each_pays_for():
    data = line(1000)
    result = certify_training(Cuts(), None, data, rounds=20, delta=0.1, seed=3)
    picked, beside = result.certificate, result.beside(data)
    assert beside.seed == 3 and beside.best.certificate.delta == 0.1
    facts, sentence = picked.facts, beside.against(picked)
    assert picked.value != beside.value
    winner = "pick-to-learn" if picked.value < beside.value else "hold-out"
    assert sentence.startswith(f"{winner} wins, ") and f"{facts.picks} picks" in sentence
    assert f"of {facts.N:,} examples" in sentence and "examples held out" in sentence
    worse = hold_out_beside(Cuts(off=0.2), data, seed=0)
    assert worse.against(picked).startswith("pick-to-learn wins, ")
    errors = worse.best.certificate.facts.errors
    assert f"{errors} errors on the {worse.best.certificate.facts.n} examples held out" in str(
        worse
    )


def test_the_price_of_the_splits_cannot_be_declared_away():
    for further in ({"looks": 1}, {"loss": "clipped cross-entropy", "clip": 4.0}):
        with pytest.raises(UnknownName, match="declaration of the hold-out beside"):
            hold_out_beside(Cuts(), line(100), **further)


def test_splits_that_cannot_be_are_refused():
    for shares in ((), (0.1, 0.1), (0.0,), (1.0,)):
        with pytest.raises(InputError, match="different numbers"):
            hold_out_beside(Cuts(), line(100), shares=shares)
    with pytest.raises(InputError, match="parts of the 4 examples"):
        hold_out_beside(Cuts(), line(4))
    with pytest.raises(InputError, match="at least the 100 examples"):
        hold_out_beside(Cuts(), line(100), pool=50)
    result = certify_training(Cuts(), None, line(100), event="loss", level=0.8, seed=0)
    with pytest.raises(InputError, match="a hold-out bounds the error"):
        result.beside(line(100))
