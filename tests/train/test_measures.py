"""What an evaluation measures."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch

import training_toy as toy
from dudley.core.errors import UnknownName
from dudley.train.measures import MEASURES, measure_all
from dudley.train.problem import Examples
from dudley.train.training import Training


def answered(outputs: torch.Tensor, labels: torch.Tensor, weights: torch.Tensor, **training):
    """Metrics of a problem whose ensemble gives these outputs."""
    how = {"optimiser": toy.ADAM, "steps": 1, "evaluate": ["train"], **training}
    stub = SimpleNamespace(
        training=Training.of(how),
        split=lambda name: Examples(None, labels, weights),
        ensemble=SimpleNamespace(evaluate=lambda weights, inputs, alive: outputs),
    )
    return measure_all(cast(Any, stub), {}, {})


@pytest.mark.parametrize("m", [12, 100, 116, 140, 190, 10_000])
def test_an_accuracy_is_1_where_all_is_right_and_less_elsewhere(m: int):
    """As a sum of m weights 1/m in float32 it would not be: no trial of 12 would ever stop at 1."""
    labels = torch.arange(m) % 2
    outputs = torch.stack([1.0 - labels, labels + 0.0], -1)[None]
    weights = torch.full((1, m), 1 / m)
    assert answered(outputs, labels[None], weights)["train_accuracy"].tolist() == [1.0]
    outputs[0, 0] = 0.0
    assert answered(outputs, labels[None], weights)["train_accuracy"].tolist() == [(m - 1) / m]


def test_padding_counts_nothing():
    labels = torch.tensor([[0, 1, 0, 0]])
    outputs = torch.tensor([[[1.0, 0.0]] * 4])  # says 0 always
    weights = torch.tensor([[0.5, 0.5, 0.0, 0.0]])
    metrics = answered(outputs, labels, weights)
    assert metrics["train_accuracy"].tolist() == [0.5]
    expected = torch.nn.functional.cross_entropy(outputs[0, :2], labels[0, :2])
    torch.testing.assert_close(metrics["train_loss"], expected[None])


def test_padding_counts_nothing_where_tokens_have_labels():
    labels = torch.tensor([[[2, -100], [-100, 1], [0, 0]]])  # the last row is padding
    outputs = torch.eye(3)[torch.tensor([[2, 1], [0, 0], [0, 0]])][None]
    metrics = answered(outputs, labels, torch.tensor([[0.5, 0.5, 0.0]]))
    assert metrics["train_accuracy"].tolist() == [0.5]


def test_squares_are_judged_by_the_nearer_label():
    outputs = torch.tensor([[[0.1], [0.9], [0.6]]])
    metrics = answered(outputs, torch.tensor([[0, 1, 0]]), torch.full((1, 3), 1 / 3), loss="square")
    assert metrics["train_accuracy"].tolist() == [2 / 3]
    metrics = answered(
        outputs, torch.tensor([[0, 1, 0]]), torch.full((1, 3), 1 / 3), loss="logistic"
    )
    assert metrics["train_accuracy"].tolist() == [1 / 3]


def test_regression_has_no_accuracy():
    outputs = torch.zeros(1, 3, 1)
    metrics = answered(outputs, torch.ones(1, 3), torch.full((1, 3), 1 / 3), loss="square")
    assert list(metrics) == ["train_loss"] and metrics["train_loss"].item() == pytest.approx(0.5)


def test_measures_of_weights_are_those_of_the_twins():
    trainer, results, _ = toy.train(toy.problem(measures=["l1", "moved"], steps=4))
    ensemble, state = trainer.problem.ensemble, trainer.whole
    for e, result in enumerate(results):
        now, first = (
            {name: W.detach().numpy() for name, W in ensemble.member(group, e).named_parameters()}
            for group in (state.weights, state.first)
        )
        assert result["metrics"]["l1"] == pytest.approx(sum(np.abs(W).sum() for W in now.values()))
        moved = {n: v for n, v in result["metrics"].items() if n.startswith("moved.")}
        assert moved.keys() == {f"moved.{name.removeprefix('weights.')}" for name in now}
        for name, W in now.items():
            way = np.linalg.norm(W - first[name])
            assert moved[f"moved.{name.removeprefix('weights.')}"] == pytest.approx(way, abs=1e-6)
        assert moved["moved.4.W"] > 0.01


def test_an_experiment_adds_its_own(monkeypatch):
    monkeypatch.setitem(
        MEASURES._units,
        "trials",
        lambda problem, weights, first: {"twice": torch.full((len(problem),), 2.0)},
    )
    _, results, _ = toy.train(toy.problem(measures=["trials"], steps=1))
    assert [result["metrics"]["twice"] for result in results] == [2.0] * 3
    with pytest.raises(UnknownName, match="did you mean moved"):
        toy.train(toy.problem(measures=["move"]))
