"""How trials are trained: a frozen description, from JSON and back.

>>> how = Training.of({"optimiser": {"name": "adam", "lr": 0.001}, "steps": 1000})
>>> how.evaluate_every, how.batch
(10, None)
>>> Training.of({"optimiser": {"name": "adam"}, "steps": 10, "bach": 5})
Traceback (most recent call last):
dudley.core.errors.UnknownName: unknown field of training 'bach'; did you mean batch?
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dudley.core.constraint import size_of
from dudley.core.errors import InputError
from dudley.train.losses import LOSSES
from dudley.train.optimise.base import Optimiser, optimiser_of
from dudley.train.optimise.catalogue import config_of, make_unit, read_by
from dudley.train.optimise.schedules import Constant, Schedule, schedule_of
from dudley.train.screen import Screen

SPLITS = ("train", "holdout", "validation", "test")
PRECISIONS = ("fast", "ieee")


@dataclass(frozen=True)
class Stop:
    """A trial ends at the first evaluation where ``metric`` is at least, or at most, a number."""

    metric: str  # what ends a trial
    at_least: float | None = None  # it ends where the metric is at least this
    at_most: float | None = None  # it ends where the metric is at most this

    def __post_init__(self):
        if (self.at_least is None) == (self.at_most is None):
            raise InputError("stop", "one of at_least and at_most", "both, or neither")

    def met(self, metrics: Mapping[str, Any]) -> Any:
        """Which trials meet it, (E,) booleans."""
        values = metrics[self.metric]
        return values <= self.at_most if self.at_least is None else values >= self.at_least


@dataclass(frozen=True)
class Keep:
    """Weights at the evaluation where ``metric`` is best are kept, under the metric's name.

    Best is ``largest`` or smallest; where it is not said, the largest of an accuracy.
    """

    metric: str  # weights are kept where this is best
    largest: bool | None = None  # is the largest best? None: of an accuracy

    def __post_init__(self):
        if self.largest is None:
            object.__setattr__(self, "largest", self.metric.endswith("_accuracy"))


@dataclass(frozen=True)
class Training:
    """``batch`` None means all examples at every step; ``online`` means fresh ones.

    ``evaluate`` names the splits of every evaluation; those in ``final`` are looked at only once,
    at the end, with the last weights and with those kept. One evaluation in ``points_every``
    becomes a point of the curves, and that of the last step; best values and rules see them all.

    ``decay_all``: weight decay on every weight, not on the matrices of linear maps only.
    ``precision``: ``fast`` is TF32 on a GPU and float16 products with scaled gradients in its
    kernels; ``ieee`` is float32 throughout. A processor always computes in float32.
    """

    # an object with the name of one below, and its fields
    optimiser: Optimiser = field(metadata=read_by(optimiser_of))
    steps: int  # updates of a trial at most
    evaluate_every: int = 10  # steps between evaluations
    points_every: int = 1  # evaluations between points of the curves
    loss: str = "cross-entropy"  # its name
    # an object with the name of one below, and its fields
    schedule: Schedule = field(default=Constant(), metadata=read_by(schedule_of))
    batch: int | None = None  # examples a step; None for all
    online: bool = False  # are examples fresh at every step?
    evaluate: tuple[str, ...] = ("train", "holdout")  # splits of every evaluation
    final: tuple[str, ...] = ()  # splits that are looked at only once, at the end
    measures: tuple[str, ...] = ()  # more that is measured at every evaluation
    # when a trial ends before its steps
    stop: Stop | None = field(
        default=None, metadata=read_by(lambda c: None if c is None else make_unit(Stop, c, "stop"))
    )
    # which weights are kept for the final evaluation
    keep: tuple[Keep, ...] = field(
        default=(), metadata=read_by(lambda c: make_unit(Keep, c, "keep"))
    )
    decay_all: bool = False  # do all weights decay, not the matrices of linear maps only?
    precision: str = "fast"  # fast or ieee (float32 throughout)
    # a split of which most evaluations see the first rows only
    screen: Screen | None = field(
        default=None,
        metadata=read_by(lambda c: None if c is None else make_unit(Screen, c, "screen")),
    )

    def __post_init__(self):
        if self.online and self.batch is None:
            expected = "the number of fresh examples a step"
            raise InputError("batch of online training", expected, None)
        counts = ("steps", "evaluate_every", "points_every")
        for name in counts + (("batch",) if self.batch is not None else ()):
            object.__setattr__(self, name, size_of(f"{name} of training", getattr(self, name)))
        LOSSES[self.loss]
        for name in ("evaluate", "final", "measures", "keep"):
            if not isinstance(getattr(self, name), tuple):
                raise InputError(f"{name} of training", "a list", getattr(self, name))
        metrics = [keep.metric for keep in self.keep]
        if len(set(metrics)) < len(metrics):
            raise InputError("keep", "one rule for a metric", ", ".join(metrics))
        for split in (*self.evaluate, *self.final):
            if split not in SPLITS:
                raise InputError("evaluate", f"some of {', '.join(SPLITS)}", split)
        if self.screen is not None and self.screen.split not in self.evaluate:
            expected = f"one of the splits of every evaluation, {', '.join(self.evaluate)}"
            raise InputError("split of a screen", expected, self.screen.split)
        if self.precision not in PRECISIONS:
            raise InputError("precision", " or ".join(PRECISIONS), self.precision)

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Training:
        """From JSON."""
        return make_unit(cls, config, "training")

    def config(self) -> dict[str, Any]:
        """As JSON, every field said."""
        return config_of(self)
