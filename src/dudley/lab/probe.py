"""How fast a device trains a batch: some periods of it, timed, and thrown away.

What is timed is cheap by design: on a processor a few trials stand for all, a trial is cut to so
many examples that a step is short, and a period to so many steps that it takes about as long as
there is time. Work a second hardly depends on any of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from dudley.core.backend import torch
from dudley.lab import Batch, Trial
from dudley.lab.training import cost
from dudley.train.problem import Problem
from dudley.train.trainer import Memory, Trainer

SECONDS = 1.0
FEW = 4  # trials that keep a processor as busy as many
STEP = 1 << 15  # examples × tokens of a trial in a step that keep it busy too
LEAST = 32  # examples for which what a step costs beside them, such as its update, counts little
EPOCH = 10  # batches of a trial that is trained by parts


class _Watch(Memory):
    """Stops a training when enough was seen; the first period, with all preparations, is not.

    A GPU is waited for: what is asked of it is not done yet.
    """

    def __init__(self, seconds: float, device: torch.device, clock: Callable[[], float]):
        super().__init__()
        self.seconds, self.device, self.clock, self.seen = seconds, device, clock, []

    def should_stop(self) -> bool:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        self.seen.append(self.clock())
        return len(self.seen) > 1 and self.seen[-1] - self.seen[0] >= self.seconds


def speed(
    batch: Batch,
    device: str = "cpu",
    threads: int | None = None,
    seconds: float = SECONDS,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Work a second, in the units of the batch's cost, over about so many seconds.

    ``threads`` are those of a worker, or as many as torch takes now.
    """
    trials = list(batch.trials)
    if torch.device(device).type == "cpu":
        trials = trials[: 1 if trials[0].config["task"].get("T", 1) * LEAST > STEP else FEW]
    share = len(trials) / len(batch) / max(cost(one).work for one in trials)
    trials = [shorten(trial) for trial in trials]
    share *= max(cost(one).work for one in trials)
    how, usual = Problem([trials[0].config]).training, torch.get_num_threads()
    torch.set_num_threads(threads or usual)
    try:
        step = _seconds(trials, 1, 0.0, device, clock)  # also takes all preparations away
        period = max(1, min(how.evaluate_every, int(seconds / max(step, 1e-9))))
        taken = step if period == 1 else _seconds(trials, period, seconds, device, clock)
    finally:
        torch.set_num_threads(usual)
    return batch.cost.work * share * min(period, how.steps) / how.steps / max(taken, 1e-9)


def _seconds(
    trials: Sequence[Trial],
    period: int,
    seconds: float,
    device: str,
    clock: Callable[[], float],
) -> float:
    """How long a period takes, evaluated at its end; the mean of those seen in so many seconds."""
    watch = _Watch(seconds, torch.device(device), clock)
    problem = Problem([_with(one, training={"evaluate_every": period}) for one in trials], device)
    before = clock()
    Trainer(problem, watch).run()
    seen = watch.seen if len(watch.seen) > 1 else [before, *watch.seen]  # it ended with the first
    return (seen[-1] - seen[0]) / (len(seen) - 1)


def shorten(trial: Trial) -> Trial:
    """The trial with as few examples as keep a device busy; those of a batch are all there."""
    task, batch = trial.config["task"], trial.config["training"].get("batch")
    enough = EPOCH * batch if batch else max(LEAST, STEP // task.get("T", 16))
    sizes = {name: min(task[name], enough) for name in ("m", "holdout") if task.get(name)}
    return Trial(_with(trial, task=sizes), trial.key)


def _with(trial: Trial, **parts: dict[str, Any]) -> dict[str, Any]:
    """Its config with some fields of its parts changed."""
    changed = {name: trial.config[name] | fields for name, fields in parts.items()}
    return {**trial.config, **changed}


def ends(batches: Sequence[Batch]) -> list[Batch]:
    """The heaviest batch, and the lightest where it is another."""
    both = (max(batches, key=_weight), min(batches, key=_weight))
    return list({batch.number: batch for batch in both}.values())


def _weight(batch: Batch) -> float:
    return batch.cost.work
