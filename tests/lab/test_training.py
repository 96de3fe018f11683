"""Grids of trainings: what goes together, what it costs, and that a seed and a packing decide."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import training_toy as toy
from dudley.core.errors import InputError
from dudley.core.philox import keys_tensor
from dudley.lab import Trial, curves
from dudley.lab.training import cost, memory_of, pack, shares, train_grid, trainings
from dudley.train.tasks.registry import task_of

PAPER = {
    "task": {
        "name": "and",
        "T": [*range(100, 401, 50), 500, 600, 700, 800],
        "s": 3,
        "m": list(range(50, 201, 10)),
    },
    "model": {"name": "and-classifier"},
    "training": {
        "optimiser": {
            "name": "clipped",
            "limit": 1.0,
            "optimiser": {"name": "adamw", "lr": 1e-3, "weight_decay": 1e-4},
        },
        "steps": 1000,
    },
}
GIB = 1 << 30


def trial(**changed) -> Trial:
    return Trial(toy.config(**changed), 0)


@pytest.fixture(scope="module")
def paper():
    return trainings("and", 0, PAPER, trials=50)


def test_a_grid_is_every_combination_with_keys_of_its_own():
    config = {**toy.config(), "task": {"name": "and", "T": [12, 20], "s": 2, "m": [16, 24, 32]}}
    grid = trainings("toy", 3, config, trials=2)
    cells = [(t.config["task"]["T"], t.config["task"]["m"], t.config["trial"]) for t in grid.trials]
    assert cells == [(T, m, i) for T in (12, 20) for m in (16, 24, 32) for i in range(2)]
    assert len({t.key for t in grid.trials}) == 12
    assert {t.config["seed"] for t in grid.trials} == {3}
    again = trainings("toy", 4, config, trials=2)
    assert not {t.key for t in grid.trials} & {t.key for t in again.trials}


def test_a_tuple_is_a_value():
    task = {"name": "table", "T": 8, "s": 2, "m": [4, 8], "table": (0, 1, 1, 0)}
    grid = trainings("toy", 0, {**toy.config(), "task": task}, trials=1)
    assert [t.config["task"]["table"] for t in grid.trials] == [[0, 1, 1, 0]] * 2
    data = task_of(grid.trials[0].config["task"]).sample(keys_tensor([grid.trials[0].key]))
    assert data.labels.shape == (1, 4)


def test_what_shares_a_batch():
    same = shares(trial())
    assert same == shares(trial(trial=5, seed=2, task={"m": 99}))
    for other in ({"task": {"T": 13}}, {"task": {"holdout": 9}}, {"model": {"H": 1}}, {"steps": 3}):
        assert same != shares(trial(**other))
    for how in ({"batch": 8}, {"batch": 8, "online": True}):
        assert shares(trial(**how)) == shares(trial(trial=5, seed=2, **how))
        assert shares(trial(**how)) != shares(trial(task={"m": 99}, **how))


def test_majorities_of_several_lengths_share_a_batch_unless_their_data_are_endless():
    def share_of(T: int, **how) -> str:
        task = {"name": "majority", "T": T, "s": 3, "m": 24}
        return shares(Trial(toy.config(**how) | {"task": task, "model": MAJORITY}, 0))

    assert share_of(20) == share_of(40) and share_of(20, batch=8) == share_of(40, batch=8)
    assert share_of(20, batch=8, online=True) != share_of(40, batch=8, online=True)


MAJORITY = {"name": "majority-classifier", "d": 8, "k": 4, "width": 8}


def test_the_papers_grid_is_a_batch_for_every_T(paper):
    batches = pack(paper, 90 * GIB)
    assert [len(batch) for batch in batches] == [800] * 11
    lengths = [{t.config["task"]["T"] for t in batch.trials} for batch in batches]
    assert lengths == [{T} for T in reversed(PAPER["task"]["T"])]
    assert all(len({t.config["task"]["m"] for t in batch.trials}) == 16 for batch in batches)


def test_batches_fit_the_memory_of_a_processor(paper):
    limit = memory_of("cpu")
    batches = pack(paper, limit)
    assert sum(map(len, batches)) == len({t.key for b in batches for t in b.trials}) == 8800
    for batch in batches:
        assert len(batch) * max(cost(t).bytes for t in batch.trials) <= limit
    sizes = {
        T: [len(b) for b in batches if b.trials[0].config["task"]["T"] == T] for T in (100, 800)
    }
    assert min(sizes[100]) > 60 and 10 <= min(sizes[800]) <= 40, "nor are they small"
    two = pack(paper, limit, workers=2)
    assert max(b.cost.work for b in two) <= sum(b.cost.work for b in two) / 2


def test_the_largest_trials_of_the_papers_fit_a_processor():
    mnist = {"name": "mnist01", "m": 10_000}
    how = {"optimiser": {"name": "gd"}, "steps": 1, "loss": "logistic"}
    wide = {"name": "shallow-encoder", "d": 64, "d_m": 4096}
    assert cost(Trial({"task": mnist, "model": wide, "training": how}, 0)).bytes < 2 * GIB
    majority = {"name": "majority", "T": 200, "s": 9, "m": 300}
    usual = {"name": "majority-classifier"}
    price = cost(Trial({"task": majority, "model": usual, "training": how | {"batch": 128}}, 0))
    assert 50 * price.bytes < 2 * GIB


MEASURED = """
import json, re, sys
from dudley.train.problem import Problem
from dudley.train.trainer import Memory, Trainer
from dudley.lab.training import Trial, cost

def peak(task, model, E):
    how = {"optimiser": {"name": "adamw"}, "steps": 1}
    task = {"s": 3, "holdout": 100, **task}
    one = {"task": task, "model": {"name": model}, "training": how, "seed": 0}
    Trainer(Problem([one | {"trial": e} for e in range(E)]), Memory()).run()
    reached = re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())
    return 1024 * int(reached[1]), E * cost(Trial(one, 0)).bytes

tasks = json.loads(sys.argv[1])
before = peak({**tasks[0][0], "T": 20, "m": 2}, tasks[0][1], 1)[0]
for one in tasks:
    reached, told = peak(*one)
    print((reached - before) / told)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
@pytest.mark.parametrize(
    "tasks",
    [  # of those in one process, each takes more than the one before
        [({"name": "majority", "T": 200, "m": 300}, "majority-classifier", 32)],
        [
            ({"name": "and", "T": 100, "m": 100}, "and-classifier", 8),
            ({"name": "and", "T": 400, "m": 200}, "and-classifier", 4),
        ],
    ],
    ids=["majority", "and"],
)
def test_estimated_memory_is_that_of_a_process_within_a_factor_of_3(tasks: list):
    """Trial by trial: compiled attention keeps less, but batches are the same without numba."""
    command = [sys.executable, "-c", MEASURED, json.dumps(tasks)]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    for task, ratio in zip(tasks, map(float, done.stdout.split()), strict=True):
        assert 1 / 3 < ratio < 3, (task, ratio)


def small(seed: int = 0):
    config = toy.config(steps=12, evaluate_every=4, optimiser={"name": "sgd", "lr": 0.1})
    config["task"]["m"] = [16, 24]
    return trainings("toy", seed, config, trials=2)


def test_the_same_seed_and_packing_give_the_same_table(tmp_path: Path, capsys):
    grid = small()
    first = train_grid(grid, tmp_path / "a")
    assert first.rows == train_grid(grid, tmp_path / "b").rows
    again = train_grid(grid, tmp_path / "a", progress=True)
    assert first.rows == again.rows, "which is read again"
    said = f"{grid.name}: {len(grid)} trainings done, all of them before\n"
    assert capsys.readouterr().err == said
    assert set(first["grid.status"]) == {"done"} and set(first["grid.batch"]) == {0}
    other = train_grid(small(seed=1), tmp_path / "c")
    name = "result.metrics.holdout_loss"
    assert not set(other[name]) & set(first[name])


def test_another_packing_gives_nearly_the_same_table(tmp_path: Path):
    grid = small()
    whole = train_grid(grid, tmp_path / "a")
    parts = train_grid(grid, tmp_path / "b", batches=pack(grid, GIB, largest=1))
    assert len(set(parts["grid.batch"])) == 4
    for name in [name for name in whole.names if name.startswith("result.")]:
        np.testing.assert_allclose(whole[name], parts[name], rtol=0, atol=1e-5)
    for first, second in zip(*(curves(tmp_path / f, "loss") for f in "ab"), strict=True):
        assert first[0].tolist() == second[0].tolist() == [4, 8, 12]
        np.testing.assert_allclose(first[1], second[1], rtol=0, atol=1e-5)


def test_results_stand_in_the_order_of_the_grid(tmp_path: Path):
    grid = small()
    table = train_grid(grid, tmp_path)
    assert table["grid.key"].tolist() == [t.key for t in grid.trials]
    assert table["task.m"].tolist() == [16, 16, 24, 24]
    assert set(table["result.steps"]) == {12}


def test_two_workers_on_a_gpu_are_refused(tmp_path: Path):
    with pytest.raises(InputError, match="workers on a GPU: expected one"):
        train_grid(small(), tmp_path, device="cuda", workers=2)


@pytest.mark.parametrize("on", ["ray", "slurm?cluster=local"])
def test_a_gpu_must_be_asked_of_a_cluster(tmp_path: Path, on: str):
    with pytest.raises(InputError, match="gpus of a batch: expected a number > 0 for the device"):
        train_grid(small(), tmp_path / "run", device="cuda", workers=2, on=on)
    assert not (tmp_path / "run").exists()


def test_work_tells_models_of_one_grid_apart():
    """Twice the blocks are twice the work; Transformers are dearer than token networks."""
    task = {"name": "and", "T": 8, "s": 3, "m": 10}
    how = {"optimiser": {"name": "adam"}, "steps": 10}
    tokens = {"name": "token-network", "V": 3, "bits": True, "block": "trauger", "k": 8}
    pre_norm = {"name": "transformer", "V": 3, "inputs": "bits", "d": 16, "H": 2}
    works = [
        cost(Trial({"task": task, "model": model | {"L": L}, "training": how}, 0)).work
        for model in (tokens, pre_norm)
        for L in (1, 2)
    ]
    assert works[1] == 2 * works[0] and works[3] == 2 * works[2] > 2 * works[0]


def test_a_task_that_cannot_be_drawn_is_refused_before_anything_is_trained(tmp_path):
    task = {"name": "majority", "T": [8, 12], "s": 9, "m": 10}
    model = {"name": "token-network", "V": 3, "bits": True}
    how = {"optimiser": {"name": "adam"}, "steps": 10}
    grid = trainings("odd", 0, {"task": task, "model": model, "training": how}, 2)
    with pytest.raises(InputError, match="at most T = 8"):
        train_grid(grid, tmp_path / "run")
    assert not (tmp_path / "run").exists()
