"""Extrapolation: longer networks are what they are said to be, and planted tables give verdicts."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from beyond_cases import finding, study
from dudley.core.errors import InputError
from dudley.core.philox import Stream, packed_bits
from dudley.lab.experiments.beyond_extrapolation.experiment import ARMS, DRAWN, TRAINED, WAVES
from dudley.lab.experiments.beyond_extrapolation.figures import figures
from dudley.lab.experiments.beyond_extrapolation.longer import (
    MOVES,
    OF,
    STAYS,
    P,
    at_lengths,
    rows_at,
    table_of_positions,
)
from dudley.lab.finding import SMOKE
from dudley.lab.shared.training_table import read, write
from dudley.train.ensemble.and_classifier import AndEnsemble
from dudley.train.packed import unpack
from dudley.train.problem import Problem
from dudley.train.tasks.planted import Planted

EXPERIMENT = study("beyond-extrapolation")
SMALL = EXPERIMENT.config("smoke")


def problem_of(arm: str) -> Problem:
    part = SMALL["parts"][ARMS.index(arm)]
    return Problem([part | {"trial": trial, "seed": 5} for trial in range(2)])


def ensemble_of(problem: Problem) -> AndEnsemble:
    assert isinstance(problem.ensemble, AndEnsemble)
    return problem.ensemble


def shaken(problem: Problem) -> dict[str, torch.Tensor]:
    source = torch.Generator().manual_seed(0)
    first = problem.ensemble.start(problem.keys)
    return {
        name: W if name == P else W + 0.5 * torch.randn(W.shape, generator=source)
        for name, W in first.items()
    }


def test_rows_of_a_longer_network():
    """It begins with the rows of the shorter one, and those after them were never trained."""
    for arm in (DRAWN, WAVES):
        problem = problem_of(arm)
        ensemble = ensemble_of(problem)
        first = ensemble.start(problem.keys)[P]  # 32 bits and [CLS]
        whole = replace(ensemble, T=96).start(problem.keys)[P]
        assert whole[:, :33].equal(first)
        table = table_of_positions(ensemble, first + 1, problem.keys, 96)
        assert table[:, :33].equal(first + 1) and table[:, 33:].equal(whole[:, 33:])
        assert rows_at(table, 32, 32, STAYS).equal(table[:, :33])
        assert rows_at(table, 32, 32, MOVES).equal(table[:, :33])
        stays, moves = (rows_at(table, 32, 96, cls) for cls in (STAYS, MOVES))
        assert stays[:, -1].equal(table[:, 32]) and moves[:, -1].equal(table[:, 96])
        assert stays[:, :-1].equal(torch.cat([table[:, :32], table[:, 33:]], 1))


@pytest.mark.parametrize("cls", [STAYS, MOVES])
def test_a_longer_network_answers_as_the_ordinary_module(cls: str):
    problem = problem_of(DRAWN)
    weights, T = shaken(problem), 96
    columns = at_lengths(problem, weights, [32, 64, T], 50)
    words = packed_bits(problem.keys, Stream.TEST, 0, 50, T, 0.5)
    task, ensemble = problem.tasks[0], ensemble_of(problem)
    assert isinstance(task, Planted)
    hidden = task.indices(problem.keys)
    assert int(hidden.max()) < 32
    table = table_of_positions(ensemble, weights[P], problem.keys, T)
    longer = weights | {P: rows_at(table, 32, T, cls)}
    for e in range(2):
        model = replace(ensemble, T=T).member(longer, e).eval()
        bits = unpack(words[e], T, torch.int64)
        with torch.no_grad():
            logits = model(model.tokens(bits))[:, 0]
        answers = (logits[:, 1] > logits[:, 0]).long()
        labels = bits[:, hidden[e]].prod(1)
        right = (answers == labels).double().mean()
        assert float(columns[f"{T}.{cls}.accuracy"][e]) == pytest.approx(float(right))
        assert float(columns[f"{T}.{cls}.ones"][e]) == pytest.approx(float(answers.double().mean()))
    masses = [columns[f"{n}.{cls}.mass"] for n in (32, 64, T)]
    assert (masses[0] > masses[1]).all() and (masses[1] > masses[2]).all()  # diluted


def test_lengths_that_do_not_fit_are_refused():
    problem = problem_of(TRAINED)
    weights = problem.ensemble.start(problem.keys)
    for lengths in ([64, 96], [32, 40], [32, 0]):
        with pytest.raises(InputError, match="multiples of 32, the first the trained 32"):
            at_lengths(problem, weights, lengths, 5)


def planted(folder, falls: dict[str, float], learn: int = 50):
    """Accuracy falls by so much per octave of T, but where [CLS] moves by twice as much."""
    config, source, rows = EXPERIMENT.config("paper"), np.random.default_rng(0), []
    for arm in ARMS:
        for trial in range(60):
            for cls in (STAYS, MOVES):
                for i, T in enumerate(config["lengths"]):
                    fall = falls[arm] * i * (2 if cls == MOVES else 1)
                    able = trial < learn
                    accuracy = 0.99 - fall + source.normal(0, 0.002) if able else 0.875
                    mass = 0.8 / 2**i if able else 0.01
                    rows.append({"arm": arm, "trial": trial, "cls": cls, "T": T, "steps": 100,
                                 "train": 1.0 if able else 0.875, "accuracy": accuracy,
                                 "ones": 0.1, "mass": mass, "diluted": mass})  # fmt: skip
    write(folder / "trials.parquet", {name: [row[name] for row in rows] for name in rows[0]})
    return EXPERIMENT.analyse(config, folder)


def test_planted_falls_are_found(tmp_path):
    findings = planted(tmp_path, {TRAINED: 0.0, DRAWN: 0.005, WAVES: 0.05})
    still, little, far = (
        finding(findings, words) for words in ("trained positions", "drawn beforehand", "sinusoids")
    )
    assert still.verdict == "confirmed" and far.verdict == "refuted"
    assert little.verdict == "depends on [CLS], criterion"  # .03 and .06, and never below .9
    assert all(one.kind != "claim" for one in findings)
    assert still.numbers["networks"] == 60 and still.numbers["learnt"] == 50
    for each in (still, little, far):
        assert len(each.readings) == 12 and "no bound applies" in each.observation
        for cls in (STAYS, MOVES):
            cells = each.numbers[f"cells, {cls}"]
            assert {cell["bound"] for cell in cells[1:]} == {"does not apply"}
            assert all(cell["accuracy"]["trials"] == 50 for cell in cells)
    last = far.numbers["cells, stays"][-1]
    assert last["difference"]["mean"] == pytest.approx(-0.3, abs=0.002)
    assert last["mass"]["mean"] == pytest.approx(0.8 / 2**6)
    assert last["beyond dilution"] == {"mean": 0.0, "interval": [0.0, 0.0], "trials": 50}
    json.dumps([one.as_json() for one in findings])


def test_networks_that_learnt_nothing_decide_nothing(tmp_path):
    findings = planted(tmp_path, dict.fromkeys(ARMS, 0.0), learn=0)
    assert {one.verdict for one in findings} == {"undecided", "measured"}
    assert finding(findings, "attention").observation == "no network learnt the task"


def test_dilution_is_what_noise_alike_would_do():
    """Where bits at further places draw what noise drew before, the prediction is the mass."""
    problem = problem_of(DRAWN)
    weights = shaken(problem)
    weights[P] = torch.zeros_like(weights[P])  # no place matters, and further rows are small
    columns = at_lengths(problem, weights, [32, 64, 1024], 200)
    for T in (32, 64, 1024):
        mass, left = (columns[f"{T}.stays.{name}"] for name in ("mass", "diluted"))
        torch.testing.assert_close(mass, left, rtol=0.05, atol=0.0)
    assert (columns["1024.stays.mass"] < columns["32.stays.mass"] / 4).all()


@pytest.mark.slow
def test_smoke(smoke):
    results = smoke("beyond-extrapolation")
    table = read(results.folder / "trials.parquet")
    assert len(table["T"]) == 3 * 2 * 2 * 2 and set(table["arm"]) == set(ARMS)
    assert all(one.verdict == SMOKE and one.kind != "claim" for one in results.findings)
    for name in OF:
        assert ((table[name] >= 0) & (table[name] <= 1)).all()
    trained = {
        cls: table["accuracy"][(table["T"] == 32) & (table["cls"] == cls)] for cls in (STAYS, MOVES)
    }
    assert (trained[STAYS] == trained[MOVES]).all()
    assert [one.name for one in figures(results)] == [STAYS, MOVES]
