"""The rule of pick-to-learn: what the proof asks of it, files, resumes, and refusals."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dudley.certificates.certificate import baseline
from dudley.certificates.data import Dataset
from dudley.certificates.learners.base import Learner
from dudley.certificates.methods.pick_to_learn.checkpoint import PickCheckpoint
from dudley.certificates.methods.pick_to_learn.declared import PickDeclared
from dudley.certificates.methods.pick_to_learn.method import PickToLearn
from dudley.certificates.methods.pick_to_learn.rule import run_rule
from dudley.certificates.methods.pick_to_learn.sample import PickSample
from dudley.certificates.methods.pick_to_learn.tags import TagTable
from dudley.certificates.predictor import Predictor
from dudley.certificates.training import certify_training, verify_training
from dudley.certificates.verify import verify
from dudley.core.errors import InputError


@dataclass(frozen=True)
class ThresholdModel(Predictor):
    """Class 1 from a threshold on."""

    at: float

    @property
    def sha256(self) -> str:
        return f"{self.at:064.20f}"

    def outputs(self, X):
        return X[:, :1].astype(float) - self.at


@dataclass(frozen=True)
class ThresholdLearner(Learner):
    """The least example of class 1 among the picks, or 1 where there is none."""

    seed: int = 0
    start_at: float = 1.0

    def table(self) -> dict[str, Any]:
        return {"name": "threshold", "seed": self.seed}

    def start(self) -> Predictor:
        return ThresholdModel(self.start_at)

    def train(self, X, y, step, previous):
        ones = X[y == 1, 0]
        return ThresholdModel(float(ones.min()) - 1e-9 if len(ones) else 1.0)


def line(n: int, seed: int = 0) -> Dataset:
    """Points of [0, 1], of class 1 from .3 on."""
    X = np.random.default_rng(seed).random((n, 1))
    return Dataset(X, (X[:, 0] >= 0.3).astype(np.int64))


def declared_as(**fields: Any) -> PickDeclared:
    table = {"learner": ThresholdLearner().table(), **fields}
    return PickToLearn().read_declared(table)


def picked_of(X: np.ndarray, y: np.ndarray, tags: TagTable, declared: PickDeclared) -> frozenset:
    """Z of a run on some examples that carry their tags along: picked or still failing."""
    sample = PickSample(Dataset(X, y), declared)
    object.__setattr__(sample, "table", tags)
    result = run_rule(ThresholdLearner(), sample, twice=False)
    rows = sample.rows_of(list(result.choices.picks))
    left = np.flatnonzero(sample.failing(result.model, np.arange(len(y)))[0])
    return frozenset(tags.names[row] for row in {*rows.tolist(), *left.tolist()})


@pytest.mark.parametrize("key", ["tag", "worst", "boundary"])
@pytest.mark.parametrize("rounds", [(1,), (2,), (50,)])
def test_a_sample_between_the_picks_and_the_whole_gives_the_same_picks(key, rounds):
    """Property (i) of the proof, by brute force over all samples between Z and S."""
    data, declared = line(9, seed=3), declared_as(key=key, rounds=rounds, batches=(2, 1))
    noisy = Dataset(data.X, np.where(np.arange(9) == 4, 1 - data.y, data.y))
    for whole in (data, noisy):
        tags = TagTable.of(whole.X, whole.y, 0)
        Z = picked_of(whole.X, whole.y, tags, declared)
        others = [row for row in range(9) if tags.names[row] not in Z]
        for count in range(len(others) + 1):
            for extra in itertools.combinations(others, count):
                rows = sorted([r for r in range(9) if tags.names[r] in Z] + list(extra))
                part = TagTable(tuple(tags.names[r] for r in rows), tags.tags[rows])
                assert picked_of(whole.X[rows], whole.y[rows], part, declared) == Z


def test_a_loss_that_a_constant_never_has_makes_a_vacuous_number():
    """Even odds have the loss ln 2 on every example: above it, a level is met by saying nothing."""
    vacuous = {}
    for level in (0.5, 0.8):
        certificate = certify_training(
            ThresholdLearner(), None, line(400), batches=3, event="loss", level=level, seed=0
        ).certificate
        assert certificate.value < certificate.baseline["error_at_least"] or certificate.vacuous
        vacuous[level] = certificate.baseline["error_at_least"] == 0 and certificate.vacuous
    assert vacuous == {0.5: False, 0.8: True}
    data = Dataset(np.zeros((90, 1), np.uint8), np.repeat(np.arange(3), [20, 30, 40]))
    assert [baseline(data, 0.05, 90, classes)["errors"] for classes in (1, 2, 3)] == [50, 20, 0]


def test_the_order_of_a_file_changes_no_pick():
    data, shuffle = line(300), np.random.default_rng(1).permutation(300)
    first, second = (
        certify_training(ThresholdLearner(), None, (X, y), batches=2, rounds=3, seed=0)
        for X, y in ((data.X, data.y), (data.X[shuffle], data.y[shuffle]))
    )
    assert first.certificate.to_json()["choices"] == second.certificate.to_json()["choices"]


def test_lazy_looks_pick_what_a_look_at_all_examples_picks(monkeypatch):
    data = line(400)
    lazy = certify_training(ThresholdLearner(), None, data, batches=3, seed=0)
    monkeypatch.setattr("dudley.certificates.methods.pick_to_learn.rule.FIRST_LOOK", 10**6)
    eager = certify_training(ThresholdLearner(), None, data, batches=3, seed=0)
    assert lazy.certificate.to_json()["choices"] == eager.certificate.to_json()["choices"]


def test_k_counts_picks_and_failures_and_the_number_verifies():
    data = line(500)
    result = certify_training(ThresholdLearner(), None, data, batches=2, rounds=2, seed=0)
    facts = result.certificate.facts
    failing = int((result.model.margins(data) <= 0).sum())
    assert facts.picks == 4 and facts.failures == failing > 0 and facts.k == 4 + failing
    file = result.certificate.to_json()
    assert verify(file, result.model, data).holds
    assert verify_training(file, ThresholdLearner(), data).holds
    assert not verify(file, ThresholdModel(0.31), data).holds


def test_a_changed_file_does_not_verify():
    data = line(500)
    result = certify_training(ThresholdLearner(), None, data, batches=2, rounds=2, seed=0)
    file = result.certificate.to_json()
    names = file["choices"]["picks"]
    swapped = [[names[1][0], names[0][1]], [names[0][0], names[1][1]]]
    changes = {
        "value": 0.0001,
        "choices": {"stop": 2, "picks": swapped},
        "declared": file["declared"] | {"rounds": [2, 3]},
    }
    for name, value in changes.items():
        verification = verify_training(file | {name: value}, ThresholdLearner(), data)
        assert not verification.holds, name
    cut = file | {"choices": {"stop": 2, "picks": names[:1]}}
    assert not verify(cut, result.model, data).holds  # fewer picks, though some still fail


def test_the_best_of_several_stops_pays():
    data = line(500)
    several = certify_training(ThresholdLearner(), None, data, rounds=(2, 4, 8), seed=0).certificate
    alone = certify_training(ThresholdLearner(), None, data, rounds=(several.choices.stop,), seed=0)
    assert [price.name for price in several.prices] == ["stop"]
    assert several.facts.k == alone.certificate.facts.k
    assert several.value > alone.certificate.value


def test_an_initial_share_is_not_counted():
    data = line(500)
    result = certify_training(ThresholdLearner(), None, data, initial=100, seed=0).certificate
    assert (result.facts.n, result.facts.N, result.facts.initial) == (500, 400, 100)
    assert verify_training(result.to_json(), ThresholdLearner(), data).holds


def test_other_forms_and_events():
    data = line(500)
    for fields in ({"expected": 10}, {"most": 30, "rounds": 20}, {"event": "loss", "level": 0.8}):
        result = certify_training(ThresholdLearner(), None, data, **fields, seed=0)
        assert 0 < result.certificate.value < 1
        assert verify_training(result.certificate.to_json(), ThresholdLearner(), data).holds


def test_the_number_of_a_pool_covers_the_pool():
    pool = line(1000, seed=5)
    for seed in range(20):
        rows = np.random.default_rng(seed).permutation(1000)[:300]
        result = certify_training(
            ThresholdLearner(), None, pool.part(rows), pool=1000, rounds=3, batches=2, seed=seed
        )
        errors = int((result.model.margins(pool) <= 0).sum())
        assert errors / 1000 <= result.certificate.value < 0.2
    assert "1000 items of the pool" in result.certificate.quantity


def test_copies_have_names_of_their_own_and_share_their_tag():
    """So that the place of an example in the order depends on no other example."""
    X, y = np.zeros((5, 2), np.int64), np.zeros(5, np.int64)
    table = TagTable.of(X, y, 0)
    assert len(set(table.names)) == 5 and len(set(table.tags.tolist())) == 1
    assert TagTable.of(X[:2], y[:2], 0).tags[0] == table.tags[0]
    assert table.order.tolist() == [4, 3, 2, 1, 0]
    assert TagTable.of(X, y, 1).names == table.names
    assert set(TagTable.of(X, y, 1).tags.tolist()).isdisjoint(table.tags.tolist())


def test_a_kill_at_any_round_goes_on_at_the_same_picks(tmp_path):
    data, rounds = line(400), (2, 4, 9)
    whole = certify_training(
        ThresholdLearner(), None, data, rounds=rounds, seed=0
    ).certificate.to_json()

    class Killed(Exception):
        pass

    for moment in (1, 2):
        folder = tmp_path / str(moment)

        def kill(progress, moment=moment):
            if progress.step == moment:
                raise Killed

        with pytest.raises(Killed):
            certify_training(
                ThresholdLearner(), None, data, rounds=rounds, folder=folder, seed=0, say=kill
            )
        again = certify_training(
            ThresholdLearner(), None, data, rounds=rounds, folder=folder, seed=0
        )
        drop = {"provenance": None}
        assert again.certificate.to_json() | drop == whole | drop
    other = line(400, seed=9)
    with pytest.raises(InputError, match="the same declarations and data"):
        certify_training(ThresholdLearner(), None, other, rounds=rounds, folder=folder, seed=0)


def test_a_kill_before_the_bound_of_a_stop_is_kept_loses_no_stop(tmp_path, monkeypatch):
    data, rounds = line(400), (2, 4, 9)
    whole = certify_training(
        ThresholdLearner(), None, data, rounds=rounds, seed=0
    ).certificate.to_json()

    class Killed(Exception):
        pass

    def killed(self, step, bound):
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(PickCheckpoint, "save_stop", killed)
        certify_training(ThresholdLearner(), None, data, rounds=rounds, folder=tmp_path, seed=0)
    again = certify_training(ThresholdLearner(), None, data, rounds=rounds, folder=tmp_path, seed=0)
    drop = {"provenance": None}
    assert again.certificate.to_json() | drop == whole | drop
    assert len(PickCheckpoint(tmp_path, _digest_in(tmp_path), ThresholdLearner()).read()) > 0


def _digest_in(folder):
    return json.loads((folder / "picking.json").read_text())["digest"]


def test_a_fit_by_chance_is_refused():
    @dataclass(frozen=True)
    class ByChance(ThresholdLearner):
        def train(self, X, y, step, previous):
            return ThresholdModel(float(np.random.default_rng().random()))

    with pytest.raises(InputError, match="the same model from the same examples"):
        certify_training(ByChance(), None, line(300))


def test_a_model_that_never_fits_is_refused():
    @dataclass(frozen=True)
    class NeverFits(ThresholdLearner):
        def train(self, X, y, step, previous):
            return ThresholdModel(1.0)

    few = Dataset(np.linspace(0.4, 1, 20)[:, None], np.ones(20, np.int64))
    with pytest.raises(InputError, match="fewer than the 20 examples"):
        certify_training(NeverFits(), None, few, batches=5)


def test_a_start_that_fails_nowhere_is_sent_to_the_hold_out():
    with pytest.raises(InputError, match="certify it by a hold-out"):
        certify_training(ThresholdLearner(start_at=0.3), None, line(300))


def test_bad_declarations_are_refused():
    bad = (
        {"key": "mean"}, {"rounds": (3, 2)}, {"batches": (0,)}, {"initial": 500}, {"pool": 20},
        {"event": "loss"}, {"most": 3, "pool": 900}, {"tolerance": -1.0}, {"seed": -1},
        {"event": "rare"}, {"level": 1.0}, {"learner": {"name": "x"}}, {"unheard": 1},
    )  # fmt: skip
    for fields in bad:
        arguments = {"data": line(300), **fields}
        with pytest.raises((InputError, KeyError)):
            certify_training(ThresholdLearner(), None, **arguments)
    with pytest.raises(InputError, match="no file"):
        PickToLearn().read_model("model.safetensors")
    with pytest.raises(InputError, match="trained on its picks"):
        PickToLearn()(ThresholdModel(0.3), line(30), learner={"name": "threshold"})
