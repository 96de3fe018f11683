"""What a user reads when a training cannot be certified, and that no half of a result is left."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dudley.certificates.data import Dataset
from dudley.certificates.methods.pick_to_learn.checkpoint import STATE
from dudley.certificates.training import certify_training
from dudley.core.errors import InputError

torch = pytest.importorskip("torch")

X = np.random.default_rng(0).standard_normal((40, 2), dtype=np.float32)
DATA = Dataset(X, (X[:, 0] > 0).astype(np.int64))


def linear():
    return torch.nn.Linear(2, 2)


def nothing(model, X, y):
    """A training that learns nothing: the start stays."""


def upside_down():
    """A start that is wrong on every example."""
    model = torch.nn.Linear(2, 2)
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]))
        model.bias.zero_()
    return model


def refusal(make_model, fit, **declared) -> str:
    with pytest.raises(InputError) as caught:
        certify_training(make_model, fit, DATA, **declared)
    return str(caught.value)


def test_a_model_that_never_fits(tmp_path):
    said = refusal(upside_down, nothing, batches=8, folder=tmp_path)
    assert said == (
        "picks: expected fewer than the 40 examples, got 40; take more examples, or a learner that "
        "fits what it is shown"
    )
    # The state of whole rounds stays, so that the same call says the same at once.
    assert [file.name for file in tmp_path.iterdir()] == [STATE]
    assert refusal(upside_down, nothing, batches=8, folder=tmp_path) == said


def test_a_model_that_does_not_fit_in_time_gets_a_vacuous_number():
    certificate = certify_training(
        upside_down, nothing, DATA, batches=8, rounds=3, seed=0
    ).certificate
    assert certificate.facts.k == 40 and certificate.value == 1.0 and certificate.vacuous


def test_a_sample_that_is_smaller_than_the_picks(tmp_path):
    said = refusal(upside_down, nothing, batches=100, folder=tmp_path)
    assert "fewer than the 40 examples, got 40" in said
    assert "fewer than the 40 examples, got 40" in refusal(linear, nothing, initial=40)


def test_a_fit_that_is_not_a_function_of_its_examples(tmp_path):
    calls = itertools.count(1)

    def counting(model, X, y):
        with torch.no_grad():
            model.bias += next(calls)

    said = refusal(upside_down, counting, batches=8, folder=tmp_path / "run")
    assert said == (
        "fit: expected the same model from the same examples and the same seed, got two different "
        "ones; seed every generator that it uses, and let it read nothing but its arguments"
    )
    assert not (tmp_path / "run").exists()


class ByChance:
    """An estimator whose predictions differ from call to call."""

    calls = itertools.count()

    def get_params(self, deep=True):
        return {}

    def set_params(self, **parameters):
        return self

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.random.default_rng(next(self.calls)).integers(0, 2, len(X))


def test_an_estimator_that_predicts_by_chance(monkeypatch):
    monkeypatch.setattr(ByChance, "calls", itertools.count())
    with pytest.raises(InputError, match="the same model from the same examples"):
        certify_training(ByChance(), data=DATA, batches=4, seed=0)


def test_a_fit_that_breaks_says_what_broke_and_leaves_whole_rounds(tmp_path):
    memory = [8]

    def breaks(model, X, y):
        if len(X) > memory[0]:
            raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        certify_training(upside_down, breaks, DATA, batches=8, folder=tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == [STATE]
    memory[0] = 40
    assert "fewer than the 40 examples" in refusal(upside_down, breaks, batches=8, folder=tmp_path)
