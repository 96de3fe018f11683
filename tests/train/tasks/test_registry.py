"""Tasks from configurations, and back."""

import json

import pytest

from dudley.core.errors import DudleyError, InputError, UnknownName
from dudley.core.philox import key, keys_tensor
from dudley.train.tasks.base import Labelled, Task
from dudley.train.tasks.registry import TASKS, task_of

CONFIGS = {
    "and": {"T": 20, "s": 3, "m": 5, "holdout": 7},
    "or": {"T": 20, "s": 2, "m": 5, "noise": 0.1, "holdout_noise": True},
    "majority": {"T": 20, "s": 9, "m": 5},
    "parity": {"T": 20, "s": 3, "m": 5, "p": 0.3},
    "threshold": {"T": 20, "s": 3, "k": 2, "m": 5},
    "table": {"T": 20, "s": 2, "table": [0, 1, 1, 0], "m": 5},
    "masked-tokens": {"V": 4, "T": 8, "lag": 4, "m": 5, "masked": 2},
    "mnist01": {"m": 5, "tokens": "patches"},
    "matrices": {"T": 4, "d": 3, "law": "pareto", "tail": 2.5, "m": 5},
}


def test_every_task_of_the_folder_is_tried():
    names = [
        name for name, task in TASKS.items() if task.__module__.startswith("dudley.train.tasks")
    ]
    assert sorted(CONFIGS) == sorted(names)


@pytest.mark.parametrize("name", CONFIGS)
def test_there_and_back(name):
    config = {"name": name, **CONFIGS[name]}
    task = task_of(json.loads(json.dumps(config)))
    assert isinstance(task, Task) and task.name == name
    assert task.config() == config
    assert task_of(json.loads(json.dumps(task.config()))) == task
    hash(task)


@pytest.mark.parametrize("name", CONFIGS)
def test_samples_and_holdouts_have_a_row_for_every_trial(name):
    keys = keys_tensor([key(0), key(1), key(2)])
    task = task_of({"name": name, **CONFIGS[name]})
    for data, rows in ((task.sample(keys), 5), (task.held_out(keys), task.holdout)):
        assert isinstance(data, Labelled)
        assert data.labels.shape[:2] == (3, rows) and data.inputs.shape[1] == rows
        assert len(data.inputs) == (3 if data.cell is None else 1)


def test_refusals():
    with pytest.raises(UnknownName, match="did you mean parity"):
        task_of({"name": "parities", "T": 3, "s": 1})
    with pytest.raises(UnknownName, match="field of the task and 'tt'"):
        task_of({"name": "and", "tt": 3, "s": 1})
    with pytest.raises(InputError, match="no s"):
        task_of({"name": "and", "T": 3})
    with pytest.raises(DudleyError):
        task_of({"T": 3})
