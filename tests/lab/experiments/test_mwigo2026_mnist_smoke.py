"""The smoke run of the experiment on MNIST: its tables, starts and findings."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dudley.core.backend import torch
from dudley.lab.experiments.mwigo2026_mnist import bounds, losses
from dudley.lab.experiments.mwigo2026_mnist.experiment import MnistDescent
from dudley.lab.experiments.mwigo2026_mnist.protocol import of_scale
from dudley.lab.experiments.mwigo2026_mnist.start import inputs_of, start_of
from dudley.lab.pages.results import Results
from dudley.lab.shared.training_table import read
from dudley.train.problem import Problem
from dudley.train.tasks.mnist import tokens_of

NAME = MnistDescent.name


@pytest.fixture(scope="module")
def results(smoke) -> Results:
    """The finished smoke run."""
    return smoke(NAME)


def one_config(N=20, d_m=32, trial=1, tokens="patches"):
    """A trial of the smoke scale, as the grid writes it."""
    grid = next(
        grid
        for grid in of_scale("smoke")["grids"]
        if grid["reading"] == "printed" and grid["model"]["d_m"] == d_m
    )
    task = grid["task"] | {"m": N, "tokens": tokens}
    return grid | {"task": task, "trial": trial, "seed": 0}


@pytest.mark.slow
def test_smoke_writes_tables_and_findings(results):
    folder, findings = results.folder, results.findings
    trials, curves, starts = (read(folder / f"{n}.parquet") for n in ("trials", "curves", "starts"))
    expected = sum(
        grid["trials"] * len(grid["task"]["m"]) * 2 for grid in of_scale("smoke")["grids"]
    )
    assert len(trials["N"]) == len(curves["N"]) == expected
    cells = {"unit": 2 * 2, "standardised": 2 + 1, "signed": 1}  # of every cell and trial once
    for pixels, count in cells.items():
        assert (starts["pixels"] == pixels).sum() == count * 2 * 3
    assert len(starts["N"]) == 2 * 3 * sum(cells.values())
    assert np.all(trials["best"] <= trials["last"])
    assert np.all(trials["best_epoch"] <= trials["epochs"])
    assert {*trials["epochs"][trials["reading"] == "mini-batches"]} == {4}
    longer = curves["epoch"][curves["reading"] == "longer"]
    assert all(list(line) == [20, 40] for line in longer) and len(longer) == 6
    assert len(findings) == 18
    json.dumps([one.as_json() for one in findings], allow_nan=False)
    assert (folder / "store").exists()


@pytest.mark.slow
def test_a_recorded_training_is_plain_gradient_descent(results):
    trials = read(results.folder / "trials.parquet")
    config = one_config()
    cell = {"reading": "printed", "tokens": "patches", "d_m": 32, "N": 20, "trial": 1}
    [last] = losses.of(trials, **cell)["last"]
    problem = Problem([config])
    model = problem.ensemble.twin()
    first = problem.ensemble.start(problem.keys)
    model.load_state_dict({name: W[0] for name, W in first.items()}, strict=False)
    X, y = problem.sample.inputs.rows[0], problem.sample.labels[0].float()
    loss = torch.nn.functional.binary_cross_entropy_with_logits
    for _ in range(20):
        model.zero_grad()
        loss(model(X).reshape(-1), y).backward()
        with torch.no_grad():
            for W in model.parameters():
                assert W.grad is not None
                W -= 0.1 * W.grad
    X, y = tokens_of("test", "patches")
    with torch.no_grad():
        ours = float(loss(model(X).reshape(-1), y.float()))
    assert last == pytest.approx(ours, abs=2e-5)


@pytest.mark.slow
def test_a_start_is_that_of_its_pixels(results):
    """Cells are alike under two scalings; what Lemma 4 is asked of is the reading's own."""
    starts, cell = read(results.folder / "starts.parquet"), {"tokens": "flat", "d_m": 32, "N": 20}
    plain, scaled = (
        bounds.starts_of(starts, reading, cell) for reading in ("square", "standardised-square")
    )
    assert len(plain["N"]) == len(scaled["N"]) == 3
    assert set(plain["X_fro"]) == {inputs_of("flat")["X_fro"]}
    assert set(scaled["X_fro"]) == {inputs_of("flat", "standardised")["X_fro"]}
    older = {name: column for name, column in plain.items() if name != "pixels"}
    assert len(bounds.starts_of(older, "square", cell)["N"]) == 3  # records without such a column


def test_the_start_is_that_of_the_training():
    config = one_config()
    row = start_of(config)
    problem = Problem([config])
    weights = problem.ensemble.start(problem.keys)
    f = problem.ensemble.evaluate(weights, problem.sample.inputs)[0, :, 0]
    residual = f - problem.sample.labels[0]
    assert row["loss_initial"] == pytest.approx(float(residual.square().sum() / 2), rel=1e-4)
    X = problem.sample.inputs.rows[0].double().numpy()
    W = {name.rsplit(".", 1)[1]: value[0].double().numpy() for name, value in weights.items()}
    F = []
    for image in X:  # by the formula, image by image
        scores = image @ W["W_Q"] @ W["W_K"].T @ image.T / np.sqrt(32)
        share = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
        F.append(np.maximum(share @ image @ W["W_v"], 0).mean(0))
    values = np.linalg.svd(np.array(F), compute_uv=False)
    assert row["alpha"] == pytest.approx(values[-1], rel=1e-6) and row["alpha"] > 0
    assert row["features_fro"] == pytest.approx(np.sqrt((values**2).sum()), rel=1e-9)
    assert start_of(one_config(N=40))["alpha"] == 0.0
    assert inputs_of("flat")["T"] == 13 and 0 < inputs_of("flat")["X_row2inf"] <= 8


@pytest.mark.slow
def test_lemma_4_and_theorem_5_fail_on_digits(results):
    lemma, theorem, *scaled = results.findings[-4:]
    assert lemma.kind == theorem.kind == "question", "no claims of the paper"
    assert lemma.numbers["valid"] == 0 and lemma.numbers["whatever_radii"] > 1
    assert theorem.numbers["negative"] == theorem.numbers["empty"] == len(theorem.numbers["cells"])
    assert all(finding.claim.endswith("Pixels standardised.") for finding in scaled)
    for line in lemma.numbers["cells"]:
        assert line["features"]["holds"] == line["cubed"]["holds"] == 0
        assert line["whatever_radii"][0] > 1
        assert (line["features"]["short_by"] is None) == (line["N"] > line["d_m"])
        if line["features"]["short_by"]:  # the bound that needs no radii is the weaker one
            assert line["features"]["short_by"][0] > line["whatever_radii"][0]
    for line in theorem.numbers["cells"]:
        assert line["printed"][1] < 0 <= line["measured_at_most"][0]
        assert line["derived"] == line["best"] == 1.0
        assert line["best_terms"]["complexity"] < line["derived_terms"]["complexity"]
