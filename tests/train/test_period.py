"""A period compiled is a period: the parts that a GPU compiles, traced on a processor."""

from __future__ import annotations

from functools import partial

import pytest
import torch

import training_toy
from dudley.train import period as module
from dudley.train.ensemble.and_classifier import AndEnsemble
from dudley.train.period import Period
from dudley.train.problem import Problem
from dudley.train.state import State

TRAINING = {
    "optimiser": {"name": "sgd", "lr": 0.1, "momentum": 0.9, "rate_inside": True},
    "schedule": {"name": "exponential", "factor": 0.9, "every": 2, "floor": 0.01},
    "loss": "binary-cross-entropy", "batch": 16, "steps": 40, "evaluate_every": 2,
    "evaluate": ["train", "validation"], "measures": ["l1"],
    "stop": {"metric": "train_accuracy", "at_least": 0.7}, "keep": [{"metric": "validation_loss"}],
}  # fmt: skip


def problem() -> Problem:
    def config_of_length(T: int, trial: int) -> dict:
        task = {"name": "majority", "T": T, "s": 3, "m": 24, "holdout": 50}
        model = {"name": "majority-classifier", "d": 8, "k": 8, "width": 8, "unit": "l2"}
        return {"task": task, "model": model, "training": TRAINING, "trial": trial, "seed": 0}

    return Problem([config_of_length(T, trial) for T in (5, 9) for trial in range(2)])


def run(periods: int = 6) -> tuple[State, torch.Tensor, Period]:
    toy = problem()
    state = State.start(toy)
    period = Period(toy, state)
    places = {name: W.data_ptr() for name, W in state.tensors()}
    for k in range(periods):
        toy.refresh(2 * k, 2)
        period(2)
    for name, W in state.tensors():
        assert W.data_ptr() == places[name], f"{name} moved: a replayed graph would miss it"
    return state, period.read(), period


@pytest.mark.slow
def test_all_of_a_period_is_traced_and_computes_the_same(monkeypatch):
    """No graph breaks, nothing asks for a value, and nothing is lost by way of side effects."""
    state, log, _ = run()
    assert not state.alive.all() and state.alive.any(), "too plain a case"
    calls = []
    compiled = partial(torch.compile, backend="aot_eager", fullgraph=True)
    monkeypatch.setattr(module, "COMPILED", {"cpu"})
    monkeypatch.setattr(torch, "compile", lambda f, **how: calls.append(f) or compiled(f, **how))
    same, log_of_it, _ = run()
    assert [f.__name__ for f in calls] == ["_losses", "_update", "_evaluate"]
    torch.testing.assert_close(log_of_it, log, rtol=1e-5, atol=1e-6)
    for (name, W), (_, W_same) in zip(state.tensors(), same.tensors(), strict=True):
        torch.testing.assert_close(W_same, W, rtol=1e-4, atol=1e-5, msg=name)


@pytest.mark.parametrize("optimiser", ["sgd", "constrained"])
def test_gradients_reach_every_weight(optimiser: str, monkeypatch):
    """In rows or each on its own: all move but b_K, which shifts all scores of a head alike."""
    inner = {"name": "sgd", "lr": 0.1}
    how = inner if optimiser == "sgd" else {"name": optimiser, "optimiser": inner}
    monkeypatch.setitem(TRAINING, "optimiser", how)
    monkeypatch.setitem(TRAINING, "stop", None)
    state, _, period = run(2)
    assert set(period.moving) == (set(state.weights) if optimiser != "sgd" else {"decayed"})
    for name, W in state.weights.items():
        assert W.equal(state.first[name]) == name.endswith("b_K"), name


@pytest.mark.parametrize("small", [False, True], ids=["step by step", "as a whole"])
def test_what_is_recorded_first_has_left_no_trace(small: bool, monkeypatch):
    """Recording runs each part, and all that it changed is as before; then parts are replayed."""
    rules = {"steps": 7, "evaluate_every": 3, **training_toy.RULES}
    _, by_hand, _ = training_toy.train(training_toy.problem(**rules))
    calls = []

    def record(functions, changed):
        before = [tensor.detach().clone() for tensor in changed]
        for function in functions:
            function()
        for tensor, old in zip(changed, before, strict=True):
            tensor.detach().copy_(old)
        calls.extend(function.__name__ for function in functions)
        return functions

    monkeypatch.setattr(module, "RECORDED_ON", {"cpu"})
    monkeypatch.setattr(module, "record_graphs", record)
    toy = training_toy.problem(**rules)
    monkeypatch.setattr(type(toy.ensemble), "many_small", small)
    assert training_toy.train(toy)[1] == by_hand
    assert calls[:2] == (["_run"] if small else ["_step", "_look"])


def test_whoever_ended_has_no_examples(monkeypatch):
    """Members that stand still are skipped by what looks at examples in use alone; whatever the
    others compute stays the same."""
    seen, stop = [], {"metric": "train_loss", "at_most": 0.0}
    for ended in ((), (1,)):
        toy = training_toy.problem((16, 24, 16), stop=stop, evaluate_every=1)
        state = State.start(toy)
        period = Period(toy, state)
        state.alive[list(ended)] = False
        counts, forward = [], AndEnsemble.forward

        def watched(self, weights, inputs, noise=None, counts=counts, forward=forward):
            counts.append(inputs.counts.tolist())
            return forward(self, weights, inputs, noise)

        with monkeypatch.context() as patch:
            patch.setattr(AndEnsemble, "forward", watched)
            period(1)
        assert counts == [[0 if e in ended else m for e, m in enumerate((16, 24, 16))]]
        seen.append(state)
    for name, W in seen[0].weights.items():
        assert W[[0, 2]].equal(seen[1].weights[name][[0, 2]]), name
        assert seen[1].weights[name][1].equal(seen[1].first[name][1]), name
