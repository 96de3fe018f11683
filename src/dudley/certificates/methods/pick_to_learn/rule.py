"""The rule: pick what the model gets wrong, train on the picks alone, look again.

`bound` states the rule and proves what follows from it. Here it is carried out. With the key *tag*
examples are looked at in the order of their tags, and only until the round has its picks; the keys
*worst* (the smallest margin first) and *boundary* (the largest margin first) look at all of them.
What is looked at changes no pick.

A round's picks are a function of the examples, their tags and the model. A model is a function of
the picks and the seed: the first training is done twice, and a learner that gives two different
models is refused, since its certificate could not be replayed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dudley.certificates.learners.base import Learner
from dudley.certificates.methods.pick_to_learn.checkpoint import PickCheckpoint
from dudley.certificates.methods.pick_to_learn.declared import (
    PickChoices,
    PickDeclared,
    PickLists,
)
from dudley.certificates.methods.pick_to_learn.plan import PickPlan
from dudley.certificates.methods.pick_to_learn.sample import PickSample
from dudley.certificates.predictor import Predictor
from dudley.core.errors import InputError

FIRST_LOOK = 512  # examples looked at before the number is doubled


@dataclass(frozen=True)
class PickProgress:
    """What a round leaves: a forecast is no claim, for the examples looked at are no sample."""

    step: int
    picks: int
    looked: int
    failing: int
    forecast: float

    def __str__(self) -> str:
        return (
            f"round {self.step}: {self.picks:,} picked; {self.failing:,} of {self.looked:,} looked "
            f"at still fail; forecast {self.forecast:.4g} (no claim)"
        )


Say = Callable[[PickProgress], None]


@dataclass(frozen=True, eq=False)
class PickResult:
    """The model at the stop that was chosen, and what it was trained on."""

    model: Predictor
    choices: PickChoices


def run_rule(
    learner: Learner,
    sample: PickSample,
    declared: PickDeclared,
    say: Say | None = None,
    checkpoint: PickCheckpoint | None = None,
    twice: bool = True,
) -> PickResult:
    """Carry out all rounds, and choose among the declared stops the one with the least bound."""
    picks, model = _begin(learner, sample, declared, checkpoint)
    plan, models = PickPlan(declared, sample), dict[int, Predictor]()
    bounds = {} if checkpoint is None else checkpoint.bounds
    for step in range(len(picks) + 1, declared.rounds[-1] + 1):
        batch, looked, failing = _next_picks(model, sample, picks, declared.batch(step))
        if say is not None and step > 1:
            count = sum(map(len, picks))
            forecast = plan.forecast(count, failing / max(looked, 1))
            say(PickProgress(step - 1, count, looked, failing, forecast))
        if not len(batch):
            break
        picks.append(batch)
        chosen = np.concatenate(picks)
        X, y = sample.X[chosen], sample.y[chosen]
        before, model = model, learner.train(X, y, step, model)
        if twice and step == 1:
            _expect_same(model, learner.train(X, y, step, before))
        if checkpoint is not None:
            checkpoint.save(step, [sample.table.names[row] for row in batch], model)
        if step in declared.rounds:
            bounds[step], models[step] = _bound(model, sample, picks, plan), model
            if checkpoint is not None:
                checkpoint.save_stop()
    if not picks:
        fix = "a start that fails nowhere needs no picks: certify it by a hold-out"
        raise InputError("picks", "at least one", "none", fix)
    if len(picks) < declared.rounds[-1]:  # none fails any more: every later stop is this one
        last = min(step for step in declared.rounds if step >= len(picks))
        bounds[last], models[last] = _bound(model, sample, picks, plan), model
    stop = min(bounds, key=lambda step: (bounds[step], step))
    names = tuple(tuple(sample.table.names[row] for row in batch) for batch in picks[:stop])
    if stop not in models:  # passed before a kill
        models[stop] = _again(learner, sample, picks[:stop], checkpoint)
    return PickResult(models[stop], PickChoices(stop, PickLists(names)))


def _begin(
    learner: Learner, sample: PickSample, declared: PickDeclared, checkpoint: PickCheckpoint | None
) -> tuple[list[np.ndarray], Predictor]:
    """Picks and model to go on from: those of a checkpoint, or none and the start."""
    names, model = ([], None) if checkpoint is None else checkpoint.read(learner)
    picks = [sample.rows_of(batch) for batch in names]
    if model is None:
        share = sample.whole.part(slice(0, declared.initial)) if declared.initial else None
        model = learner.start() if share is None else learner.prepare(share.X, share.y)
        if picks:  # a learner that saves no models: the last training once more
            chosen = np.concatenate(picks)
            model = learner.train(sample.X[chosen], sample.y[chosen], len(picks), model)
    return picks, model


def _next_picks(
    model: Predictor, sample: PickSample, picks: list[np.ndarray], count: int
) -> tuple[np.ndarray, int, int]:
    """The picks of a round; how many examples were looked at for them, how many of those fail."""
    order = sample.table.order
    if picks:
        order = order[~np.isin(order, np.concatenate(picks))]
    if sample.declared.key != "tag":
        failing, margin = sample.failing(model, order)
        sign = 1.0 if sample.declared.key == "worst" else -1.0
        ranked = np.argsort(sign * margin[failing], kind="stable")  # ties: the larger tag first
        return order[failing][ranked][:count], len(order), int(failing.sum())
    rows, looked, size = np.empty(0, np.int64), 0, max(FIRST_LOOK, count)
    while looked < len(order) and len(rows) < count:
        part = order[looked : looked + size]
        rows = np.concatenate([rows, part[sample.failing(model, part)[0]]])
        looked, size = looked + len(part), 2 * size
    return rows[:count], looked, len(rows)


def _bound(model: Predictor, sample: PickSample, picks: list[np.ndarray], plan: PickPlan) -> float:
    """The bound if one stopped here."""
    chosen = np.concatenate(picks)
    rest = np.setdiff1d(np.arange(sample.N), chosen)
    return plan.least(len(chosen), int(sample.failing(model, rest)[0].sum()))


def _again(
    learner: Learner, sample: PickSample, picks: list[np.ndarray], checkpoint: PickCheckpoint | None
) -> Predictor:
    """The model of an earlier stop: as it was saved, or trained once more."""
    model = None if checkpoint is None else checkpoint.read_stop(len(picks))
    if model is None:
        chosen = np.concatenate(picks)
        start = _begin(learner, sample, sample.declared, None)[1]
        model = learner.train(sample.X[chosen], sample.y[chosen], len(picks), start)
    return model


def _expect_same(first: Predictor, second: Predictor) -> None:
    if first.sha256 != second.sha256:
        raise InputError(
            "fit",
            "the same model from the same examples and the same seed",
            "two different ones",
            "seed every generator that it uses, and let it read nothing but its arguments",
        )
