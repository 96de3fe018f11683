"""The description of a training: from JSON and back, and what it refuses."""

from __future__ import annotations

import json

import pytest

from dudley.core.errors import DudleyError
from dudley.train.training import Keep, Stop, Training
from each import each

LEAST = {"optimiser": {"name": "gd"}, "steps": 10}
FULL = {
    "optimiser": {
        "name": "constrained",
        "optimiser": {"name": "clipped", "optimiser": {"name": "adamw"}},
        "balls": [{"norm": "op", "radius": 2.0, "weights": "W_v", "around": "start"}],
        "penalties": [{"norm": "nuc", "strength": 0.1}],
    },
    "steps": 100,
    "evaluate_every": 7,
    "loss": "logistic",
    "schedule": {"name": "warmup", "steps": 5, "then": {"name": "cosine", "steps": 50}},
    "batch": 16,
    "evaluate": ["holdout", "test"],
    "final": ["validation"],
    "measures": ["l1", "moved"],
    "stop": {"metric": "holdout_accuracy", "at_least": 1.0},
    "keep": [{"metric": "test_loss"}, {"metric": "holdout_accuracy"}],
    "decay_all": True,
    "precision": "ieee",
}


@pytest.mark.parametrize("config", [LEAST, FULL], ids=["least", "full"])
def test_there_and_back(config: dict):
    how = Training.of(config)
    again = json.loads(json.dumps(how.config()))
    assert Training.of(again) == how
    assert set(again) >= set(FULL), "every field is said"


def test_what_was_said_is_there():
    how = Training.of(FULL)
    assert how.stop == Stop("holdout_accuracy", at_least=1.0)
    assert how.evaluate == ("holdout", "test") and how.batch == 16 and how.steps == 100


def test_an_accuracy_is_best_when_large_and_anything_else_when_small():
    assert Training.of(FULL).keep == (Keep("test_loss", False), Keep("holdout_accuracy", True))
    assert Keep("holdout_accuracy", largest=False).largest is False
    assert Keep("l1", largest=True).largest is True


def test_sizes_are_whole_numbers():
    how = Training.of(LEAST | {"steps": 1e3, "batch": 5.0, "evaluate_every": 10.0})
    assert [type(n) for n in (how.steps, how.batch, how.evaluate_every)] == [int] * 3


@each(
    ("changed", "message"),
    [
        ({"bach": 5}, "did you mean batch"),
        ({"steps": 0}, "steps of training: expected an integer ≥ 1"),
        ({"steps": 2.5}, "steps of training"),
        ({"evaluate_every": 0}, "evaluate_every of training"),
        ({"batch": 0}, "batch of training"),
        ({"online": True}, "batch of online training"),
        ({"loss": "cros-entropy"}, "did you mean cross-entropy"),
        ({"evaluate": ["hold-out"]}, "expected some of train, holdout"),
        ({"evaluate": "holdout"}, "evaluate of training: expected a list"),
        ({"final": "test"}, "final of training: expected a list"),
        ({"measures": "l1"}, "measures of training: expected a list"),
        ({"precision": "double"}, "precision: expected fast or ieee"),
        ({"stop": {"metric": "loss"}}, "one of at_least and at_most"),
        ({"stop": {"metric": "loss", "at_least": 0.0, "at_most": 1.0}}, "one of at_least"),
        ({"stop": {}}, "stop: expected a field 'metric'"),
        ({"stop": {"metrics": "loss", "at_most": 1.0}}, "did you mean metric"),
        ({"keep": {"metric": "test_loss"}}, "keep of training: expected a list"),
        ({"keep": [{"metric": "l1"}, {"metric": "l1", "largest": True}]}, "one rule for a metric"),
        ({"optimiser": {"name": "adamm"}}, "did you mean adam"),
        ({"optimiser": {"name": "adam", "lr": -1.0}}, "lr of adam"),
        ({"schedule": {"name": "cosin", "steps": 3}}, "did you mean cosine"),
    ],
)
def test_nonsense_is_refused(changed: dict, message: str):
    with pytest.raises(DudleyError, match=message):
        Training.of(LEAST | changed)
