"""The callback for Hugging Face's Trainer, on a module shaped like transformers."""

import sys
from dataclasses import dataclass, field
from types import ModuleType

import numpy as np
import pytest

from certificates.validity import reader
from dudley.certificates.callbacks import Log
from dudley.certificates.data import Dataset
from dudley.certificates.huggingface import trainer_callback
from dudley.core.extras import ExtraMissing


@dataclass
class State:
    """As much of a TrainerState as is read."""

    global_step: int = 0
    epoch: float = 0.0
    is_world_process_zero: bool = True
    log_history: list = field(default_factory=list)


class TrainerCallback:
    """The hooks of transformers ≥ 4.40 that a Trainer calls, doing nothing."""

    def on_evaluate(self, args, state, control, **kwargs): ...

    def on_train_end(self, args, state, control, **kwargs): ...


@pytest.fixture
def transformers(monkeypatch):
    module = ModuleType("transformers")
    module.TrainerCallback = TrainerCallback
    monkeypatch.setitem(sys.modules, "transformers", module)
    return module


@pytest.fixture
def log():
    X = np.random.default_rng(2).integers(0, 2, (300, 3)).astype(np.uint8)
    return Log("occam", Dataset(X, X[:, 1].astype(np.int64)), counts="last")


def trained(callback, state, model):
    """The calls of a Trainer that evaluates twice."""
    for step in (10, 20):
        state.global_step, state.epoch = step, step / 10
        metrics = {"eval_loss": 0.1}
        callback.on_evaluate("args", state, "control", model=model, metrics=metrics)
        assert metrics == {"eval_loss": 0.1}
    callback.on_train_end("args", state, "control", model=model, lr_scheduler=None)


def test_terms_reach_the_log_history(transformers, log):
    callback, state = trainer_callback(log), State()
    assert isinstance(callback, TrainerCallback)
    trained(callback, state, reader(3, 1))
    assert [row["step"] for row in state.log_history] == [10, 20, 20]
    assert [row["certificate.counts"] for row in state.log_history] == [False, False, True]
    assert state.log_history[-1]["certificate.value"] == log.certificate.value
    assert state.log_history[0]["certificate.facts.errors"] == 0


def test_other_processes_are_silent(transformers, log):
    state = State(is_world_process_zero=False)
    trained(trainer_callback(log), state, reader(3, 1))
    assert state.log_history == [] and log.rows == []


def test_without_transformers_the_way_is_told(monkeypatch, log):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ExtraMissing, match="pip install transformers"):
        trainer_callback(log)
