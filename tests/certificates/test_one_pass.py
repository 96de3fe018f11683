"""Training a classifier in one pass: what comes first, what is refused; and the record."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from dudley.certificates.data import Dataset
from dudley.certificates.methods.prequential.form import upper
from dudley.certificates.methods.prequential.passlog import read_pass
from dudley.certificates.one_pass import order_of, train_one_pass
from dudley.certificates.verify import verify
from dudley.core.backend import torch
from dudley.core.errors import InputError

RECORD = Path(__file__).parents[2] / "results/certificates/one-pass.json"
LIMITS = {"transformer": 0.0002, "linear": 0.0001, "vit": 0.005}
X = np.random.default_rng(0).integers(0, 2, (400, 12)).astype(np.float32)
DATA = Dataset(X, (X[:, 0]).astype(np.int64))


class Remembering(torch.nn.Module):
    """Right on the rows that it has learnt, and wrong on all others."""

    def __init__(self):
        super().__init__()
        self.known: dict[bytes, int] = {}
        self.calls: list[str] = []

    def forward(self, X):
        self.calls.append("predict")
        label = [self.known.get(row.numpy().tobytes()) for row in X]
        wrong = torch.tensor([[-1.0, 1.0], [1.0, -1.0]])
        rows = [
            -wrong[y] if y is not None else wrong[int(x[0])] for x, y in zip(X, label, strict=True)
        ]
        return torch.stack(rows)

    def update(self, X, y):
        self.calls.append(f"update {len(X)}")
        for row, label in zip(X, y.tolist(), strict=True):
            self.known[row.numpy().tobytes()] = label


def test_every_example_is_predicted_before_it_is_learnt(tmp_path):
    model = Remembering()
    certificate = train_one_pass(
        model, model.update, DATA, tmp_path, batch=30, replay=7, updates=2, seed=3
    )
    assert model.calls[:6] == ["predict", *["update 30"] * 2, "predict", *["update 37"] * 2]
    rows, log = DATA.X[order_of(DATA, 3).rows], read_pass(tmp_path)
    batches = [{row.tobytes() for row in rows[i : i + 30]} for i in range(0, 400, 30)]
    seen: set[bytes] = set()
    for i, batch in enumerate(batches):
        fresh = [float(row.tobytes() not in seen) for row in rows[30 * i : 30 * i + 30]]
        assert log.losses[30 * i : 30 * i + 30].tolist() == fresh
        seen |= batch
    assert certificate.value == upper("mixture", log.losses[40:], -np.log(0.05))
    assert verify(certificate.to_json(), log, order_of(DATA, 3)).holds


def test_what_would_spoil_the_pass_is_refused(tmp_path):
    model = Remembering()
    for words, changed in (
        ("replay", {"replay": -1}), ("batch", {"batch": 0}), ("loss", {"loss": "bits"}),
        ("seed", {"seed": -1}), ("limit", {"limit": 2.0}),
    ):  # fmt: skip
        with pytest.raises(InputError, match=words):
            train_one_pass(model, model.update, DATA, tmp_path, **changed)
    assert not model.calls and not list(tmp_path.iterdir())
    train_one_pass(model, model.update, DATA, tmp_path, seed=0)
    with pytest.raises(InputError, match="a folder without a pass"):
        train_one_pass(model, model.update, DATA, tmp_path, seed=0)


def test_a_batch_norm_that_mixes_the_units_of_a_batch_is_refused(tmp_path):
    """Their losses are not independent given the past, whatever each of them is."""
    running, mixed = torch.nn.BatchNorm1d(12), torch.nn.BatchNorm1d(12, track_running_stats=False)
    for norm, mode in ((running, "training"), (mixed, "training"), (mixed, "evaluation")):
        model = torch.nn.Sequential(norm, torch.nn.Linear(12, 2))
        with pytest.raises(InputError, match="the statistics of a batch"):
            train_one_pass(model, lambda X, y: None, DATA, tmp_path, mode=mode)
    assert not list(tmp_path.iterdir())
    model = torch.nn.Sequential(running, torch.nn.Linear(12, 2))
    assert train_one_pass(model, lambda X, y: None, DATA, tmp_path, seed=0).facts.units == 400


def test_every_row_of_the_record_follows_from_its_counts_and_keeps_its_limit():
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    learnt = [(row["task"], row["learner"], row["seed"]) for row in record["rows"]]
    tasks, learners = ("and", "majority"), ("transformer", "linear")
    expected = [*itertools.product(tasks, learners, range(3)), ("mnist01", "vit", 0)]
    assert sorted(learnt) == sorted(expected)
    for row in record["rows"]:
        x = np.zeros(row["counted"])
        x[: row["errors"]] = 1
        value = upper("mixture", x, -np.log(record["delta"]))
        assert row["value"] == pytest.approx(value, rel=1e-12), row
        n = 10_000 if row["task"] == "mnist01" else 100_000
        assert row["n"] == n and row["value"] <= LIMITS[row["learner"]]


def test_logging_costs_at_most_a_twentieth_of_a_step_of_a_transformer():
    speed = json.loads((RECORD.parent / "one-pass-speed.json").read_text(encoding="utf-8"))
    assert speed["logging_over_the_rest_of_a_step"] <= 0.05
    for row in json.loads(RECORD.read_text(encoding="utf-8"))["rows"]:
        if row["learner"] != "linear":  # whose step takes less than 2 ms
            assert row["logging_seconds"] <= 0.05 * row["seconds"], row
