"""The rule: pick what the model gets wrong, train on the picks alone, look again.

`bound` states the rule and proves what follows from it. Here it is carried out. With the key *tag*
examples are looked at in the order of their tags, and only until the round has its picks; the keys
*worst* (the smallest margin first) and *boundary* (the largest margin first) look at all of them.
What is looked at changes no pick.

A round's picks are a function of the examples, their tags and the model. A model is a function of
the picks and the seed: the first training, and the first that sees several classes, are done twice.
A learner that gives two different models is refused, since its certificate could not be replayed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dudley.certificates.learners.base import Learner
from dudley.certificates.methods.pick_to_learn.checkpoint import PickCheckpoint
from dudley.certificates.methods.pick_to_learn.declared import PickChoices, PickLists
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
    say: Say | None = None,
    checkpoint: PickCheckpoint | None = None,
    twice: bool = True,
) -> PickResult:
    """Carry out all rounds, and choose among the declared stops the one with the least bound."""
    declared, plan = sample.declared, PickPlan(sample.declared, sample)
    rounds = _Rounds(learner, sample, checkpoint)
    picks = [] if checkpoint is None else [sample.rows_of(names) for names in checkpoint.read()]
    bounds = {} if checkpoint is None else dict(checkpoint.bounds)
    models = {len(picks): rounds.model(picks)}

    def reach(stop: int) -> None:
        bounds[stop] = _bound(models[len(picks)], sample, picks, plan)
        models[stop] = models[len(picks)]
        if checkpoint is not None:
            checkpoint.save_stop(stop, bounds[stop])

    for step in range(len(picks) + 1, declared.rounds[-1] + 1):
        before = models[step - 1]
        if step - 1 in declared.rounds and step - 1 not in bounds:
            reach(step - 1)
        batch, looked, failing = _next_picks(before, sample, picks, declared.batch(step))
        if say is not None and step > 1:
            count = sum(map(len, picks))
            forecast = plan.forecast(count, failing / max(looked, 1))
            say(PickProgress(step - 1, count, looked, failing, forecast))
        if not len(batch):
            break
        picks.append(batch)
        models[step] = rounds.train(picks, before)
        if twice and _new_kind(sample.y, picks):
            _expect_same(models[step], rounds.train(picks, before))
        if checkpoint is not None:
            checkpoint.save(step, [sample.table.names[row] for row in batch], models[step])
        if step - 1 not in bounds:
            del models[step - 1]
    if not picks:
        fix = "a start that fails nowhere needs no picks: certify it by a hold-out"
        raise InputError("picks", "at least one", "none", fix)
    # The last declared round, or none fails any more: then every later stop is this one.
    if (last := min(step for step in declared.rounds if step >= len(picks))) not in bounds:
        reach(last)
    stop = min(bounds, key=lambda step: (bounds[step], step))
    names = tuple(tuple(sample.table.names[row] for row in batch) for batch in picks[:stop])
    model = models[stop] if stop in models else rounds.model(picks[:stop])
    return PickResult(model, PickChoices(stop, PickLists(names)))


class _Rounds:
    """Final: the learner's models, each a function of the picks; read where they were saved."""

    def __init__(self, learner: Learner, sample: PickSample, checkpoint: PickCheckpoint | None):
        self.sample, self.checkpoint, self.share = sample, checkpoint, sample.share
        self.learner = learner
        if self.share is not None:
            self.learner = learner.with_share(self.share.X, self.share.y)

    @cached_property
    def start(self) -> Predictor:
        if self.share is None:
            return self.learner.start()
        model = None if self.checkpoint is None else self.checkpoint.model(0)
        if model is None:
            model = self.learner.prepare(self.share.X, self.share.y)
            if self.checkpoint is not None:
                self.checkpoint.save_start(model)
        return model

    def train(self, picks: list[np.ndarray], before: Predictor) -> Predictor:
        """The model of the last of some rounds; ``before`` is that of the round before it."""
        chosen = np.concatenate(picks)
        begin = before if self.learner.warm else self.start
        return self.learner.train(self.sample.X[chosen], self.sample.y[chosen], len(picks), begin)

    def model(self, picks: list[np.ndarray]) -> Predictor:
        """The model of a round that an earlier run has passed, as it was saved or once more."""
        if not picks:
            return self.start
        model = None if self.checkpoint is None else self.checkpoint.model(len(picks))
        if model is None:
            before = self.model(picks[:-1]) if self.learner.warm else self.start
            model = self.train(picks, before)
        return model


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


def _new_kind(y: np.ndarray, picks: list[np.ndarray]) -> bool:
    """Is this the first training, or the first that sees several classes?

    A start that says the same of all examples of two classes picks one class first, from which an
    estimator learns nothing that chance could change.
    """
    kinds = [len(np.unique(y[np.concatenate(part)])) for part in (picks, picks[:-1]) if part]
    return len(kinds) == 1 or kinds[0] > kinds[1] == 1


def _expect_same(first: Predictor, second: Predictor) -> None:
    if first.sha256 != second.sha256:
        raise InputError(
            "fit",
            "the same model from the same examples and the same seed",
            "two different ones",
            "seed every generator that it uses, and let it read nothing but its arguments",
        )
