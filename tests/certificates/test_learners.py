"""Learners of users: torch modules and estimators, from training script to certificate."""

from __future__ import annotations

import numpy as np
import pytest

from dudley.certificates.learners.base import round_seed
from dudley.certificates.learners.estimator import EstimatorLearner
from dudley.certificates.learners.module_predictor import ModulePredictor
from dudley.certificates.training import certify_training, verify_training
from dudley.core.errors import InputError

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(0)
X = RNG.standard_normal((1500, 4), dtype=np.float32)
Y = (X[:, 0] > 0).astype(np.int64) + (X[:, 1] > 1)


def make_model():
    return torch.nn.Sequential(
        torch.nn.Linear(4, 16), torch.nn.Dropout(0.1), torch.nn.Linear(16, 3)
    )


def fit(model, X, y):
    optimiser = torch.optim.Adam(model.parameters(), 0.02)
    for _ in range(30):
        loss = torch.nn.functional.cross_entropy(model(torch.from_numpy(X)), torch.from_numpy(y))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


def test_a_module_of_several_classes_is_certified_and_replayed():
    result = certify_training(make_model, fit, (X, Y), batches=8, rounds=6, tolerance=1e-5, seed=0)
    error = float((result.model.outputs(X).argmax(1) != Y).mean())
    assert error < result.certificate.value < 0.3
    assert verify_training(result.certificate.to_json(), result.learner, (X, Y)).holds
    assert verify_training(result.certificate.to_json(), result.learner, (X, Y), result.model).holds


def test_a_warm_start_resumes_at_the_same_weights(tmp_path):
    whole = certify_training(make_model, fit, (X, Y), warm=True, batches=8, rounds=5, seed=0)

    def kill(progress):
        if progress.step == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        certify_training(
            make_model,
            fit,
            (X, Y),
            warm=True,
            batches=8,
            rounds=5,
            folder=tmp_path,
            seed=0,
            say=kill,
        )
    again = certify_training(
        make_model, fit, (X, Y), warm=True, batches=8, rounds=5, folder=tmp_path, seed=0
    )
    assert again.model.sha256 == whole.model.sha256
    assert again.certificate.value == whole.certificate.value


def test_rounds_begin_at_what_the_initial_share_gave(tmp_path):
    starts = []

    def watched(model, X, y):
        starts.append((len(X), round(float(model[0].weight.detach().norm()), 6)))
        if len(X) == 600:
            fit(model, X, y)

    for folder in (None, tmp_path, tmp_path):  # the third goes on where the second stopped
        starts.clear()
        certify_training(
            make_model, watched, (X, Y), initial=600, batches=4, rounds=3, folder=folder, seed=0
        )
        norms = [norm for count, norm in starts if count < 600]
        assert len(set(norms)) == 1
        assert folder is not None or norms[0] != starts[0][1]
    assert [count for count, _ in starts] == [12]


def test_a_batch_norm_without_running_statistics_is_no_predictor():
    """In evaluation mode, too, it makes an output depend on the others of its batch."""
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(4, track_running_stats=False)).eval()
    first, second = model(torch.ones(2, 4)), model(torch.tensor([[1.0] * 4, [2.0] * 4]))
    assert not torch.equal(first[0], second[0])
    with pytest.raises(InputError, match="the statistics of a batch"):
        ModulePredictor(model)
    ModulePredictor(torch.nn.BatchNorm1d(4).eval())


class Nearest:
    """A nearest neighbour with the interface of scikit-learn."""

    def __init__(self, power=2.0, random_state=None):
        self.power, self.random_state = power, random_state

    def get_params(self, deep=True):
        return {"power": self.power, "random_state": self.random_state}

    def set_params(self, **parameters):
        for name, value in parameters.items():
            setattr(self, name, value)
        return self

    def fit(self, X, y):
        self.seen, self.labels = X, y
        return self

    def predict(self, X):
        apart = (np.abs(X[:, None] - self.seen[None]) ** self.power).sum(-1)
        return self.labels[apart.argmin(1)]


def test_an_estimator_is_cloned_certified_and_replayed():
    estimator = Nearest()
    result = certify_training(estimator, data=(X, Y), batches=10, rounds=12, seed=0)
    assert not hasattr(estimator, "seen")
    error = float((result.model.outputs(X).argmax(1) != Y).mean())
    assert error < result.certificate.value < 1
    assert result.certificate.model["estimator"] == "Nearest"
    assert verify_training(result.certificate.to_json(), result.learner, (X, Y)).holds


class Scaled:
    """An estimator inside another, which fits the inner one in place, as pipelines do."""

    def __init__(self, steps):
        self.steps = steps

    def get_params(self, deep=True):
        inner = self.steps[0][1].get_params() if deep else {}
        return {"steps": self.steps} | {f"nearest__{name}": v for name, v in inner.items()}

    def set_params(self, **parameters):
        inner = {name.removeprefix("nearest__"): v for name, v in parameters.items()}
        self.steps[0][1].set_params(**inner)
        return self

    def fit(self, X, y):
        self.steps[0][1].fit(3 * X, y)
        return self

    def predict(self, X):
        return self.steps[0][1].predict(3 * X)


def test_a_later_round_does_not_change_the_model_of_an_earlier_one():
    """Else a stop after two rounds is certified with a model of many more picks."""
    inner = Nearest()
    learner = EstimatorLearner(Scaled([("nearest", inner)]), 3)
    first = learner.train(X[:5], Y[:5], 1, learner.start())
    said = first.outputs(X)
    learner.train(X, Y, 2, first)
    assert (first.outputs(X) == said).all() and (said.argmax(1) != Y).any()
    assert not hasattr(inner, "seen") and inner.random_state is None
    assert first.predict.__self__.steps[0][1].random_state == round_seed(0, 1)


def test_what_is_no_learner_is_refused():
    with pytest.raises(InputError, match="a factory with fit"):
        certify_training(make_model, data=(X, Y))
    with pytest.raises(InputError, match="arrays"):
        certify_training(make_model, fit)


def encoder(heads: int = 2, norm_first: bool = False, activation: str = "relu"):
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(
        8, heads, 16, 0.0, activation, batch_first=True, norm_first=norm_first
    )
    return torch.nn.TransformerEncoder(layer, 1, enable_nested_tensor=False).eval()


def test_the_hash_tells_settings_that_torch_does_not_print():
    """The same weights with other heads are another model: a hash that is declared fixes them."""
    modules = [encoder(), encoder(4), encoder(norm_first=True), encoder(activation="gelu")]
    rows = torch.randn(1, 3, 8)
    assert not any(torch.allclose(modules[0](rows), other(rows)) for other in modules[1:])
    assert len({ModulePredictor(module).sha256 for module in modules}) == 4
    assert ModulePredictor(encoder()).sha256 == ModulePredictor(encoder()).sha256
