"""What the studies share: losses by hand, norms by numpy, bounds as of live models, statistics."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch

from dudley.calculus.union import Grid
from dudley.core.errors import InputError
from dudley.lab.experiment import Bench
from dudley.lab.shared.beyond_bounds import SLACK, at_norms, at_radii, priced, ramp_loss
from dudley.lab.shared.beyond_trained import (
    CLIP,
    NORMS,
    cells,
    clipped,
    difference,
    holds,
    measure_the_end,
    norms,
    ramp,
    train_parts,
    trend,
)
from dudley.models.token_network import TokenNetwork
from dudley.networks.capacity import capacity
from dudley.train.problem import Problem
from dudley.train.trainer import Memory, Trainer

PART = {
    "task": {"name": "and", "T": 5, "s": 2, "m": [12, 16], "holdout": 50},
    "model": {"name": "token-network", "V": 3, "bits": True, "k": 4},
    "training": {
        "optimiser": {"name": "adam", "lr": 0.02}, "steps": 6, "evaluate_every": 3,
        "evaluate": ["train"], "final": ["holdout"],
    },
}  # fmt: skip
ENDING = partial(measure_the_end, bounded="ramp")
CONFIG = {"seed": 3, "trials": 2, "parts": [PART]}


def test_bounded_losses_by_hand():
    outputs = torch.tensor([[[0.0, 0.25, -1.0], [3.0, 0.0, 2.5], [0.0, 1.0, 9.0]]])
    labels = torch.tensor([[1, 0, 0]])
    torch.testing.assert_close(ramp(outputs, labels), torch.tensor([[0.75, 0.5, 1.0]]))
    losses = -torch.log_softmax(outputs, -1)[0, torch.arange(3), labels[0]]
    torch.testing.assert_close(clipped(outputs, labels)[0], losses.clamp(max=CLIP))
    assert clipped(outputs, labels)[0, 2] == CLIP


def test_norms_by_numpy():
    W = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(0))
    by_name = norms({"weights.0.W_v": W})
    for e in range(2):
        X = W[e].double().numpy()
        rows, columns = np.abs(X).sum(1), np.abs(X).sum(0)
        expected = {
            "op": np.linalg.norm(X, 2), "fro": np.linalg.norm(X), "l11": np.abs(X).sum(),
            "row1inf": rows.max(), "col1inf": columns.max(), "linf": np.abs(X).max(),
            "col2inf": np.linalg.norm(X, axis=0).max(), "row2inf": np.linalg.norm(X, axis=1).max(),
        }  # fmt: skip
        assert set(expected) == set(NORMS)
        for name, value in expected.items():
            assert float(by_name[f"norms.0.W_v.{name}"][e]) == pytest.approx(value, rel=1e-12)


def test_rows_are_what_the_trainer_leaves(tmp_path):
    """A trial of the table, trained again alone, has the same end."""
    rows = train_parts("toy", CONFIG, tmp_path, Bench(), ENDING)
    assert [row["config"]["task"]["m"] for row in rows] == [12, 12, 16, 16]
    problem = Problem([rows[2]["config"]])
    trainer = Trainer(problem, Memory())
    results = trainer.run()
    assert results is not None
    assert rows[2]["holdout_accuracy"] == results[0]["final"]["holdout_accuracy"]
    W = trainer.whole.weights["weights.0.W_QK"][0].detach().double()
    assert rows[2]["norms.0.W_QK.fro"] == pytest.approx(float(W.norm()), rel=1e-5)
    data = problem.split("holdout")
    outputs = problem.ensemble.evaluate(trainer.whole.weights, data.inputs)
    assert rows[2]["holdout_bounded"] == pytest.approx(
        float(ramp(outputs, data.labels).mean()), rel=1e-4
    )


def test_a_broken_run_goes_on(tmp_path):
    first = train_parts("toy", CONFIG, tmp_path, Bench(), ENDING)
    assert train_parts("toy", CONFIG, tmp_path, Bench(), ENDING) == first


def test_bounds_from_norms_are_those_of_the_live_model():
    model = TokenNetwork(3, 9, k=4)
    weights = {name: W[None].detach() for name, W in model.named_parameters()}
    row = {name: float(value[0]) for name, value in norms(weights).items()}
    recorded = at_norms(model, row, ramp_loss(1.0))
    live = capacity(model.description(model.inputs), model.inputs, loss=ramp_loss(1.0))
    a, b = (float(one.gap(0.05, n=10**6, union=Grid())) for one in (recorded, live))
    assert a == pytest.approx(b, rel=1e-9)
    columns = priced(recorded, 10**6, 0.05, 0.5)
    assert columns["gap_bound"] == a
    assert recorded.gap(0.05, n=10 ** columns["log10_needed_n"], union=Grid()).value <= 0.5 + 1e-6


def test_radii_need_no_union_and_hold_what_projection_leaves():
    model = TokenNetwork(3, 9, k=4)
    radii = dict.fromkeys(("W_QK", "W_v", "W_c", "W"), ("l11", 2.0))
    tight, loose = (
        at_radii(model, {name: ("l11", r) for name in radii}, ramp_loss(1.0)) for r in (2.0, 4.0)
    )
    assert tight.gap(0.05, n=10**6).value < loose.gap(0.05, n=10**6).value
    assert SLACK >= 1 + 2**-23
    with pytest.raises(InputError, match="ball of 1"):
        at_radii(model, {name: one for name, one in radii.items() if name != "W"}, ramp_loss(1.0))


def test_planted_trends_are_found_and_nulls_are_flat():
    source = np.random.default_rng(0)
    x = np.repeat(np.arange(6.0), 20)
    noise = source.normal(scale=0.01, size=len(x))
    up = trend(x, 0.5 + 0.05 * x + noise, margin=0.02)
    assert up["interval"][0] < 0.05 < up["interval"][1] and not up["equivalent"]
    assert up["told"] == "grows"
    flat = trend(x, 0.5 + noise, margin=0.02)
    assert flat["equivalent"] and "within the margin" in flat["told"]
    scattered = trend(x, 0.5 + 30 * noise, margin=0.002)
    assert not scattered["equivalent"] and scattered["told"] == "no trend shown"


def test_differences_cells_and_violations():
    source = np.random.default_rng(1)
    a, b = source.normal(1.0, 0.1, 30), source.normal(0.5, 0.3, 30)
    gain = difference(a, b)
    assert gain["interval"][0] < 0.5 < gain["interval"][1] and gain["interval"][0] > 0.3
    table = {"L": np.repeat([1, 2], 30), "y": np.concatenate([a, b])}
    assert [cell["L"] for cell in cells(table, ("L",), ("y",))] == [1, 2]
    assert cells(table, ("L",), ("y",))[1]["y"]["mean"] == pytest.approx(b.mean())
    gaps = {"gap": np.array([0.1, 0.3]), "gap_bound": np.array([0.2, 0.25])}
    assert holds(gaps)["violations"] == 1 and holds(gaps)["least_room"] == pytest.approx(-0.05)
