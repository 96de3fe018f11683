"""Optimisers, schedules, clipping, norm balls and penalties for many trainings at once.

>>> from dudley.train.optimise import config_of, optimiser_of, schedule_of
>>> adamw = {"name": "adamw", "lr": 0.001, "weight_decay": 0.0001}
>>> config_of(optimiser_of({"name": "clipped", "limit": 1.0, "optimiser": adamw}))["optimiser"]
{'name': 'adamw', 'lr': 0.001, 'betas': [0.9, 0.999], 'eps': 1e-08, 'weight_decay': 0.0001}
>>> optimiser_of({"name": "adamm"})
Traceback (most recent call last):
dudley.core.errors.UnknownName: unknown optimiser 'adamm'; did you mean adam or adamw?
>>> schedule_of({"name": "exponential", "factor": 0.999, "every": 3, "floor": 0.001})
Exponential(factor=0.999, every=3, floor=0.001)
"""

from dudley.train.optimise.adam import Adam, AdamW
from dudley.train.optimise.balls import WeightBall, ball_of, project
from dudley.train.optimise.base import OPTIMISERS, Optimiser
from dudley.train.optimise.catalogue import config_of
from dudley.train.optimise.clip import Clipped, clip
from dudley.train.optimise.constrained import Constrained
from dudley.train.optimise.descent import SGD, GradientDescent
from dudley.train.optimise.penalties import Penalty, penalty_of
from dudley.train.optimise.schedules import (
    SCHEDULES,
    Constant,
    Cosine,
    Exponential,
    Schedule,
    Warmup,
    schedule_of,
)

optimiser_of = OPTIMISERS.of

__all__ = [
    "OPTIMISERS",
    "SCHEDULES",
    "SGD",
    "Adam",
    "AdamW",
    "Clipped",
    "Constant",
    "Constrained",
    "Cosine",
    "Exponential",
    "GradientDescent",
    "Optimiser",
    "Penalty",
    "Schedule",
    "Warmup",
    "WeightBall",
    "ball_of",
    "clip",
    "config_of",
    "optimiser_of",
    "penalty_of",
    "project",
    "schedule_of",
]
