"""The trainer with every optimiser: it trains, weights end in their balls, penalties are felt."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import training_toy as toy
from dudley.train.trainer import Memory


def curve(sink: Memory, metric: str) -> np.ndarray:
    """(evaluations, E)"""
    return np.array([point[metric] for _, point in sink.points])


BALLS = [
    {"norm": "l11", "radius": 4.0, "weights": "W_v"},
    {"norm": "col21", "radius": 1.5, "weights": "W_Q"},
    {"norm": "op", "radius": 0.1, "weights": "W_1"},
    {"norm": "fro", "radius": 0.2, "weights": "W_2", "around": "start"},
]
NORMS = {
    "l11": lambda W: np.abs(W).sum(),
    "col21": lambda W: np.sqrt((W**2).sum(0)).sum(),
    "op": lambda W: np.linalg.svd(W, compute_uv=False)[0],
    "fro": lambda W: np.sqrt((W**2).sum()),
}
NAMES = {"W_v": "2.0.1.W_v", "W_Q": "2.0.1.W_Q", "W_1": "2.1.1.W_1", "W_2": "2.1.2.W_2"}


@pytest.mark.parametrize(
    "optimiser",
    [
        {"name": "adam", "lr": 0.01},
        {"name": "adam", "lr": 0.01, "weight_decay": 0.01},
        {"name": "adamw", "lr": 0.01, "weight_decay": 0.1},
        {"name": "sgd", "lr": 0.1, "momentum": 0.9},
        {"name": "sgd", "lr": 0.1, "momentum": 0.9, "nesterov": True, "rate_inside": True},
        {"name": "gd", "lr": 0.5},
        {"name": "clipped", "limit": 1.0, "optimiser": {"name": "adamw", "lr": 0.01}},
        {"name": "constrained", "optimiser": {"name": "adam", "lr": 0.01}, "balls": BALLS},
    ],
    ids=lambda optimiser: optimiser["name"],
)
def test_every_optimiser_trains(optimiser: dict):
    stop = {"metric": "train_loss", "at_most": 0.001}
    _, _, sink = toy.train(toy.problem(optimiser=optimiser, stop=stop, evaluate_every=1))
    assert (curve(sink, "loss")[0] > 0.68).all(), "log 2, before the first step"
    assert (curve(sink, "train_loss")[-1] < 0.62).all()


@pytest.mark.parametrize("inner", [{"name": "adam", "lr": 0.02}, {"name": "gd", "lr": 2.0}])
def test_constrained_weights_end_in_their_balls(inner: dict, tmp_path: Path):
    optimiser = {"name": "constrained", "optimiser": inner, "balls": BALLS}
    stop = {"metric": "train_loss", "at_most": 0.3}
    _, _, sink = toy.train(toy.problem(optimiser=optimiser, stop=stop), tmp_path)
    assert isinstance(sink, toy.Snapshots)
    for ball in BALLS:
        name = "weights." + NAMES[ball["weights"]]
        reached = []
        for step in sink.files:
            state = sink.state(step)
            centre = state.first[name] if "around" in ball else torch.zeros_like(state.first[name])
            for W in (state.weights[name] - centre).double().numpy():
                reached.append(NORMS[ball["norm"]](W) / ball["radius"])
        assert max(reached) <= 1 + 1e-6, ball
        assert max(reached) > 0.99, f"{ball} was never felt"


def test_penalties_make_weights_sparse_and_of_low_rank():
    optimiser = {
        "name": "constrained",
        "optimiser": {"name": "gd", "lr": 0.1},
        "penalties": [
            {"norm": "l11", "strength": 0.003, "weights": "W_1"},
            {"norm": "nuc", "strength": 0.03, "weights": "W_2"},
        ],
    }
    trainer, _, _ = toy.train(toy.problem(optimiser=optimiser))
    plain, _, _ = toy.train(toy.problem(optimiser=optimiser["optimiser"]))
    for e in range(3):
        W_1, free_1 = (t.whole.weights["weights.2.1.1.W_1"][e] for t in (trainer, plain))
        assert (W_1 == 0).sum() > 20 and not (free_1 == 0).any() and (W_1 != 0).any()
        W_2, free_2 = (t.whole.weights["weights.2.1.2.W_2"][e] for t in (trainer, plain))
        ranks = [int(torch.linalg.matrix_rank(W.double(), rtol=1e-5)) for W in (W_2, free_2)]
        assert 0 < ranks[0] < ranks[1] == 8
