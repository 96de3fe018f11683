"""How fast a device trains a batch: some periods of it, timed, and thrown away."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from dudley.core.backend import torch
from dudley.grid import Batch, Cost
from dudley.train.problem import Problem
from dudley.train.trainer import Memory, Trainer

SECONDS = 1.0
FEW = 4  # trials that keep a processor as busy as many


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
        return self.seen[-1] - self.seen[0] >= self.seconds


def speed(
    batch: Batch,
    device: str = "cpu",
    threads: int | None = None,
    seconds: float = SECONDS,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Work a second, in the units of the batch's cost, over about so many seconds.

    A period is not cut short: where one takes long, so does this; on a processor, which some trials
    fill, only some are trained. ``threads`` are those of a worker, or as many as torch takes now.
    """
    if torch.device(device).type == "cpu" and len(batch) > FEW:
        own = Cost(batch.cost.bytes, batch.cost.work * FEW / len(batch))
        batch = Batch(batch.number, batch.trials[:FEW], own)
    watch, usual = _Watch(seconds, torch.device(device), clock), torch.get_num_threads()
    problem = Problem([trial.config for trial in batch.trials], device)
    before = clock()
    torch.set_num_threads(threads or usual)
    try:
        Trainer(problem, watch).run()
    finally:
        torch.set_num_threads(usual)
    how, seen = problem.training, watch.seen
    steps = min(len(seen) * how.evaluate_every, how.steps)
    if len(seen) == 1:  # it ended with the first
        seen = [before, *seen]
    else:
        steps -= how.evaluate_every
    return batch.cost.work * steps / how.steps / max(seen[-1] - seen[0], 1e-9)


def speeds(
    batches: Sequence[Batch], device: str = "cpu", threads: int | None = None
) -> tuple[float, float]:
    """The lower and the higher speed of the heaviest and the lightest batch."""
    ends = {one.number: one for one in (max(batches, key=_weight), min(batches, key=_weight))}
    found = sorted(speed(batch, device, threads) for batch in ends.values())
    return found[0], found[-1]


def _weight(batch: Batch) -> float:
    return batch.cost.work
