"""The retrained model: what fresh inputs without labels add to the number of the picks."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from certificates.cuts import Cut, Cuts, line
from certificates.validity import allowed, leaks
from dudley.calculus.inversion import binomial_upper
from dudley.certificates.data import Dataset
from dudley.certificates.methods.pick_to_learn.bound import risk_upper
from dudley.certificates.methods.retrained.declared import RetrainedDeclared
from dudley.certificates.methods.retrained.method import Retrained
from dudley.certificates.methods.retrained.pair import RetrainedData, RetrainedPair
from dudley.certificates.predictor import Predictor, margins
from dudley.certificates.retrained import certify_retrained
from dudley.certificates.training import certify_training
from dudley.certificates.verify import verify
from dudley.core.errors import InputError


@dataclass(frozen=True)
class Memory(Predictor):
    """Right on the inputs that it remembers; elsewhere it says 0."""

    known: frozenset[float]
    at: float = 0.3

    @property
    def sha256(self) -> str:
        return f"{len(self.known):064d}"

    def outputs(self, X):
        known = np.isin(X[:, 0], np.array(sorted(self.known)))
        return np.where(known & (X[:, 0] >= self.at), 1.0, -1.0)[:, None]


@dataclass(frozen=True, eq=False)
class Fixed(Predictor):
    """These outputs, whatever the inputs are."""

    made: np.ndarray

    @property
    def sha256(self) -> str:
        return "0" * 64

    def outputs(self, X):
        return self.made


@dataclass(frozen=True)
class OffCut(Cut):
    """The same model and hash, on a machine whose arithmetic adds ``off`` to the output."""

    off: float = 0.0

    def outputs(self, X):
        return super().outputs(X) + self.off


@dataclass(frozen=True)
class OffCuts(Cuts):
    """The learner of such a machine."""

    arithmetic: float = 0.0

    def train(self, X, y, step, previous):
        cut = super().train(X, y, step, previous)
        return OffCut(cut.at, self.arithmetic)  # pyright: ignore[reportAttributeAccessIssue]


def trained(n: int = 500, fresh: int = 800, **declared):
    """A training on a line, its sample, and fresh inputs."""
    data = line(n)
    result = certify_training(Cuts(), None, data, batches=2, rounds=6, **declared, seed=0)
    return result, data, line(fresh, seed=9).X


def test_the_number_is_the_sum_of_both_bounds_and_verifies():
    result, data, fresh = trained(delta=0.1)
    final = certify_retrained(result, data, fresh, Cut(0.32), share=0.25)
    facts = final.certificate.facts
    assert final.model == Cut(0.32) and final.certificate.delta == 0.1
    decided = [model.outputs(fresh) > 0 for model in (final.pair.picked, final.pair.retrained)]
    apart = (decided[0] != decided[1]).sum()
    assert facts.disagreements == apart > 0 and facts.unlabelled == 800
    first = risk_upper(facts.k, 500, -math.log(0.075))
    second = binomial_upper(int(apart), 800, -math.log(0.025))
    assert final.certificate.value == pytest.approx(first + second, rel=1e-9)
    assert final.certificate.value >= first + second
    file = final.certificate.to_json()
    assert verify(file, final.pair, final.data).holds
    others = {
        "another retrained model": (replace(final.pair, retrained=Cut(0.33)), final.data),
        "another model of the picks": (replace(final.pair, picked=Cut(0.301)), final.data),
        "other inputs": (final.pair, RetrainedData(data, line(800, seed=8).X)),
        "another sample": (final.pair, RetrainedData(line(500, seed=7), fresh)),
    }
    for name, (pair, both) in others.items():
        assert not verify(file, pair, both).holds, name
    assert not verify(file | {"value": first}, final.pair, final.data).holds


@pytest.mark.parametrize("off", [-0.4, 0.4])
def test_counts_within_half_of_the_tolerance_are_accepted_and_told(off):
    τ = 0.05
    data, fresh = line(500), line(800, seed=9).X
    declared = {"batches": 2, "rounds": 6, "tolerance": τ}
    result = certify_training(OffCuts(arithmetic=off * τ), None, data, **declared, seed=0)
    final = certify_retrained(result, data, fresh, OffCut(0.32, off * τ))
    file, picked = final.certificate.to_json(), result.model
    assert isinstance(picked, OffCut)
    here = RetrainedPair(OffCut(picked.at), OffCut(0.32))
    seen = verify(file, here, final.data)
    assert seen.holds, seen.differences
    assert any(line.startswith("disagreements: this machine's") for line in seen.remarks)
    assert not verify(file, final.pair, final.data).remarks
    for name in ("disagreements", "failures", "errors_of_the_sample"):
        forged = file | {"facts": file["facts"] | {name: 0}}
        assert not verify(forged, here, final.data).holds, name
    far = RetrainedPair(OffCut(picked.at, 2 * τ), OffCut(0.32, 2 * τ))
    assert not verify(file, far, final.data).holds


def test_without_a_model_all_data_are_trained_on():
    result, data, fresh = trained()
    final = certify_retrained(result, data, fresh)
    assert final.model.sha256 == Cuts().prepare(data.X, data.y).sha256


def test_a_choice_among_methods_is_paid_by_both_parts():
    result, data, fresh = trained(among=2)
    facts = certify_retrained(result, data, fresh, Cut(0.32)).certificate.facts
    first = risk_upper(facts.k, 500, -math.log(0.02))
    assert facts.picked_error_at_most == pytest.approx(first, rel=1e-9)
    least = binomial_upper(facts.disagreements, 800, -math.log(0.005))
    assert facts.disagreement_at_most == pytest.approx(least, rel=1e-9)


def test_an_agreement_of_decisions_carries_every_margin_over():
    """Wherever both models agree and the first does not fail, the second does not."""
    rng = np.random.default_rng(0)
    for classes, τ in ((1, 0.0), (1, 0.5), (3, 0.0), (3, 0.5)):
        first, second = (rng.integers(-2, 3, (4000, classes)) / 2 for _ in range(2))
        first[rng.random(first.shape) < 0.05] = np.nan
        y = rng.integers(0, max(2, classes), 4000)
        a, b = Fixed(first), Fixed(second)
        agree = RetrainedPair(a, b).agreement(np.zeros((4000, 1))) > τ
        fails = [margins(outputs, y) <= τ for outputs in (first, second)]
        assert not (agree & ~fails[0] & fails[1]).any()
        assert (agree & ~fails[0]).any() and (~agree & ~fails[0] & fails[1]).any()


def test_the_number_of_the_picks_alone_fails_for_a_model_that_remembers():
    """The leaky twin: the picks stay as they are, whatever else a model has learnt by heart.

    The risk of the memory is .7, that of every input of class 1; of the sample it knows every
    label. With the disagreements counted the number holds.
    """
    risk, δ, runs, failed, covered = 0.7, 0.1, 100, 0, 0
    for run in range(runs):
        data, fresh = line(60, seed=2 * run), line(40, seed=2 * run + 1).X
        result = certify_training(Cuts(), None, data, batches=2, rounds=6, delta=δ, seed=0)
        memory = Memory(frozenset(data.X[:, 0].tolist()))
        assert (memory.margins(data) > 0).all()
        failed += result.certificate.value < risk
        covered += certify_retrained(result, data, fresh, memory).certificate.value >= risk
    assert leaks(failed, runs, δ) and covered >= (1 - δ) * runs


@pytest.mark.parametrize("δ", [0.1, 0.2])
def test_the_sum_covers_a_retrained_model_that_uses_the_sample_to_be_wrong(δ):
    """Both parts near their limits, the counts drawn from their laws, in 4,000 repetitions.

    The model of the picks learns x < t from uniform points, one pick and no more: its risk is that
    of all above the pick. The retrained model is wrong there too, and on another part of mass q
    at which Clopper and Pearson's bound for no disagreement fails as often as δ₂ allows.
    """
    runs, N, m, share, rng = 4000, 60, 20, 0.5, np.random.default_rng(6)
    first, second = -math.log(δ * (1 - share)), -math.log(δ * share)
    x = rng.random((runs, N))
    picked = x[:, 0]  # the example with the largest tag
    left = (x > picked[:, None]).sum(axis=1)
    q = 1 - (δ * share) ** (1 / m) + 1e-9
    apart = rng.binomial(m, q, runs)
    bounds = [risk_upper(1 + int(k), N, first) + binomial_upper(int(d), m, second)
              for k, d in zip(left, apart, strict=True)]  # fmt: skip
    failed = int((np.array(bounds) < 1 - picked + q).sum())
    assert allowed(failed, runs, δ)
    alone = [risk_upper(1 + int(k), N, -math.log(δ)) for k in left]
    assert not allowed(int((np.array(alone) < 1 - picked + q).sum()), runs, δ)


def test_a_pool_counts_the_sample_itself():
    pool = line(1000, seed=5)
    for seed in range(10):
        order = np.random.default_rng(seed).permutation(1000)
        data, fresh = pool.part(order[:300]), pool.X[order[300:600]]
        result = certify_training(Cuts(), None, data, pool=1000, rounds=3, seed=seed)
        final = certify_retrained(result, data, fresh, Cut(0.35))
        errors = int((final.model.margins(pool) <= 0).sum())
        assert errors / 1000 <= final.certificate.value < 0.5
        assert verify(final.certificate.to_json(), final.pair, final.data).holds
    data = pool.part(slice(0, 300))
    result = certify_training(Cuts(), None, data, pool=1000, rounds=3, seed=0)
    with pytest.raises(InputError, match="at most the 700 items"):
        certify_retrained(result, data, line(701).X, Cut(0.35))


def test_what_cannot_be_is_refused():
    result, data, fresh = trained()
    for unlabelled in (fresh[:, [0, 0]], fresh.astype(np.float32), fresh[:0]):
        with pytest.raises(InputError, match="of the sample's"):
            certify_retrained(result, data, unlabelled)
    with pytest.raises(InputError, match="1 rows that are in the sample"):
        certify_retrained(result, data, np.concatenate([fresh, data.X[:1]]))
    with pytest.raises(InputError, match="rows of X that differ"):
        certify_retrained(result, data, np.concatenate([fresh, fresh[:1]]))
    with pytest.raises(InputError, match="disagreements"):
        certify_retrained(result, data, fresh, share=1.0)
    loss = certify_training(Cuts(), None, data, event="loss", level=0.8, seed=0)
    with pytest.raises(InputError, match="disagreements bound errors"):
        certify_retrained(loss, data, fresh)
    final = certify_retrained(result, data, fresh)
    again = replace(result, certificate=final.certificate)
    with pytest.raises(InputError, match="one of pick-to-learn"):
        certify_retrained(again, data, fresh)
    method = Retrained()
    both = RetrainedData(data, fresh)
    for call in (
        lambda: method(Cut(0.3), both),
        lambda: method(RetrainedPair(Cut(0.3), Cut(0.3)), both),
        lambda: method.read_model("model.safetensors"),
        lambda: method.read_data("data.npz"),
    ):
        with pytest.raises(InputError):
            call()
    with pytest.raises(InputError, match="share of delta"):
        RetrainedDeclared(share=0.0)
    assert isinstance(both.whole, Dataset)
