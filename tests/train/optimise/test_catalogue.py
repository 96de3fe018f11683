"""Configurations: there and back, and refused where they make no sense."""

from __future__ import annotations

import json

import pytest

from dudley.core.errors import InputError, UnknownName
from dudley.train.optimise.adam import Adam
from dudley.train.optimise.balls import WeightBall
from dudley.train.optimise.base import OPTIMISERS, optimiser_of
from dudley.train.optimise.catalogue import config_of
from dudley.train.optimise.clip import Clipped
from dudley.train.optimise.constrained import Constrained
from dudley.train.optimise.descent import SGD, GradientDescent
from dudley.train.optimise.penalties import Penalty
from dudley.train.optimise.schedules import SCHEDULES, Cosine, Exponential, Warmup, schedule_of
from each import each

OPTIMISER_CASES = [
    Adam(lr=0.5, betas=(0.5, 0.25), eps=1e-6, weight_decay=0.1),
    optimiser_of({"name": "adamw", "lr": 1e-3, "betas": [0.9, 0.95]}),
    SGD(nesterov=True, rate_inside=True),
    GradientDescent(),
    Clipped(
        Constrained(
            Adam(),
            (WeightBall("l11", 2.0, "W_QK"), WeightBall("frobenius", 1.0, "W_c", "start")),
            (Penalty("nuc", 0.1),),
        ),
        limit=2.0,
    ),
    Constrained(Clipped(SGD())),
]
SCHEDULE_CASES = [
    schedule_of({"name": "constant"}),
    Exponential(0.999, every=3, floor=1e-3),
    Cosine(100),
    Warmup(10, Warmup(5, Cosine(100))),
]


def test_the_cases_cover_the_catalogues():
    assert {type(unit).name for unit in OPTIMISER_CASES} == set(OPTIMISERS.units)
    assert {type(unit).name for unit in SCHEDULE_CASES} == set(SCHEDULES.units)


@each("unit", OPTIMISER_CASES + SCHEDULE_CASES, ids=lambda unit: unit.name)
def test_there_and_back_through_json(unit):
    of = schedule_of if unit.name in SCHEDULES.units else optimiser_of
    config = config_of(unit)
    assert of(json.loads(json.dumps(config))) == unit
    assert config_of(of(config)) == config
    assert hash(unit) == hash(of(config))


def test_the_rate_is_found_through_wrappers():
    assert Clipped(Constrained(Adam(lr=0.25))).first_rate == 0.25


@each(
    ("config", "error", "message"),
    [
        ({"name": "adan"}, UnknownName, "did you mean adam"),
        ({"lr": 1e-3}, InputError, 'an object with a "name"'),
        ("adam", InputError, 'an object with a "name"'),
        ({"name": "adam", "beta": [0.9, 0.99]}, UnknownName, "field of optimiser adam 'beta'"),
        ({"name": "adam", "lr": -1.0}, InputError, "lr of adam"),
        ({"name": "adam", "lr": "1e-3"}, InputError, "lr of adam"),
        ({"name": "adam", "lr": float("nan")}, InputError, "lr of adam"),
        ({"name": "adamw", "betas": [0.9]}, InputError, "betas of adamw"),
        ({"name": "adamw", "betas": 0.9}, InputError, "betas of adamw"),
        ({"name": "adamw", "betas": [0.9, 1.0]}, InputError, "betas of adamw"),
        ({"name": "sgd", "momentum": 1.0}, InputError, "momentum of sgd"),
        ({"name": "sgd", "nesterov": 1}, InputError, "nesterov of sgd"),
        ({"name": "gd", "momentum": 0.9}, UnknownName, "field of optimiser gd 'momentum'"),
        ({"name": "clipped"}, InputError, "a field 'optimiser'"),
        ({"name": "clipped", "optimiser": {"name": "sdg"}}, UnknownName, "did you mean sgd"),
        (
            {"name": "constrained", "optimiser": {"name": "gd"}, "balls": [{"norm": "l11"}]},
            InputError,
            "ball: expected a field 'radius'",
        ),
    ],
)
def test_nonsense_is_refused(config, error, message):
    with pytest.raises(error, match=message):
        optimiser_of(config)


@pytest.mark.parametrize(
    ("config", "error"),
    [
        ({"name": "cosin", "steps": 1}, UnknownName),
        ({"name": "cosine", "steps": 0}, InputError),
        ({"name": "exponential", "factor": 1.5}, InputError),
        ({"name": "exponential", "factor": 0.5, "every": 2.5}, InputError),
        ({"name": "warmup", "steps": 3, "then": {"name": "cosine"}}, InputError),
    ],
)
def test_nonsense_schedules_are_refused(config, error):
    with pytest.raises(error):
        schedule_of(config)
