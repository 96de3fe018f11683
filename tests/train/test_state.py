"""The state of an ensemble and its file."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import training_toy as toy
from dudley.train.state import State


@pytest.fixture
def state() -> State:
    """After a training that gave every group something."""
    optimiser = {
        "name": "constrained",
        "optimiser": toy.ADAM,
        "balls": [{"norm": "fro", "radius": 1.0, "weights": "W_v", "around": "start"}],
    }
    trainer, _, _ = toy.train(toy.problem(optimiser=optimiser, steps=4, keep=[{"metric": "loss"}]))
    return trainer.whole


def same(a: State, b: State) -> bool:
    of_a, of_b = dict(a.tensors()), dict(b.tensors())
    return of_a.keys() == of_b.keys() and all(
        of_a[name].dtype == of_b[name].dtype and of_a[name].equal(of_b[name]) for name in of_a
    )


def test_a_start_is_the_ensembles_and_the_optimisers():
    problem = toy.problem()
    state = State.start(problem)
    assert int(state.step) == 0 and state.alive.all() and not state.ended.any()
    for name, W in problem.ensemble.start(problem.keys).items():
        assert state.weights[name].equal(W) and state.first[name].equal(W)
        assert state.first[name].data_ptr() != state.weights[name].data_ptr()


def test_a_file_holds_every_bit(state: State, tmp_path: Path):
    state.metrics["odd"] = torch.tensor([torch.nan, torch.inf, 1e-300], dtype=torch.float64)
    state.save(tmp_path / "state", live=[2, 0])
    read, live = State.load(tmp_path / "state", "cpu")
    assert live == [2, 0] and int(read.step) == int(state.step) == 4
    assert read.metrics["odd"][0].isnan()
    del state.metrics["odd"], read.metrics["odd"]
    assert same(read, state)
    groups = {name.split("/")[0] for name, _ in read.tensors()}
    assert groups >= {"weights", "first", "memory", "metrics", "extremes", "kept"}
    assert any(name.startswith("memory/centre.") for name, _ in read.tensors())


def test_a_part_taken_out_and_put_back_changes_its_own_trials_alone(state: State):
    before = {name: W.detach().clone() for name, W in state.tensors()}
    places = torch.tensor([2, 0])
    part = state.of(places)
    assert len(part) == 2
    for name, W in part.tensors():
        assert W.equal(before[name][places])
    with torch.no_grad():
        part.step += 3
        for _, W in part.tensors():
            W.copy_(~W if W.dtype == torch.bool else W + 1)
    assert all(W.equal(before[name]) for name, W in state.tensors()), "a part is a copy"
    part.metrics["born"] = torch.tensor([5.0, 7.0])
    state.put(part, places)
    assert int(state.step) == 7 and state.metrics["born"].tolist() == [7.0, 0.0, 5.0]
    for name, W in state.tensors():
        if name != "metrics/born":
            assert W[1].equal(before[name][1])
            assert W[places].equal(dict(part.tensors())[name])
