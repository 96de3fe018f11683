"""The trainer: steps, evaluations, checkpoints. It knows nothing of the model.

Metrics of an evaluation go to the sink; the whole state goes to a checkpoint now and then, after
the metrics up to its step. A trial that meets the stopping rule stands still, and its examples are
looked at no more; when half of those on the device do, the others go on without them (the same
batch does so at the same step again: it is part of what is computed). A processor looks at every
evaluation; a GPU would have to be waited for, and looks at every sixteenth. Where members without
examples cost nearly nothing, a GPU goes on without them when seven of eight stand still: it takes
about a second to begin anew.

>>> config = {
...     "task": {"name": "and", "T": 10, "s": 1, "m": 40, "holdout": 100},
...     "model": {"name": "and-classifier", "d": 16, "H": 2},
...     "training": {"optimiser": {"name": "adam", "lr": 0.01}, "steps": 40},
... }
>>> problem = Problem([config | {"trial": trial, "seed": 0} for trial in range(3)])
>>> trained = Trainer(problem, Memory()).run()
>>> sorted(trained[0])
['extremes', 'metrics', 'steps']
>>> trained[0]["metrics"]["train_loss"] < 0.7
True
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from dudley.core.backend import torch
from dudley.train.measures import measure_all
from dudley.train.period import ROWS, Period
from dudley.train.precision import precision
from dudley.train.problem import Problem
from dudley.train.state import VALUES, State

CHECK = {"cpu": 1, "cuda": 16}  # evaluations between looks at who is alive
FEW = 64  # trials for which a GPU takes no longer than for one
AHEAD = 2  # periods that may wait for the device


class Sink(Protocol):
    """Where results go: a session of a run (`dudley.lab`), or `Memory`."""

    def latest(self) -> tuple[int, Any] | None: ...
    def append(self, step: int, metrics: Mapping[str, Any]) -> None: ...
    def checkpoint(self, step: int, write: Callable[[Any], None]) -> None: ...
    def progress(self, done: float) -> None: ...
    def should_stop(self) -> bool: ...


@dataclass
class Memory:
    """Keeps the metrics, ``points``: [(step, {name: (E,)})], and no checkpoint."""

    points: list[tuple[int, dict[str, Any]]] = field(default_factory=list)

    def latest(self) -> None:
        return None

    def append(self, step, metrics) -> None:
        self.points.append((step, dict(metrics)))

    def checkpoint(self, step, write) -> None:
        pass

    def progress(self, done) -> None:
        pass

    def should_stop(self) -> bool:
        return False


@dataclass(frozen=True)
class Pace:
    """Seconds between writes, which are of no consequence for results."""

    append: float = 1.0
    checkpoint: float = 60.0
    clock: Callable[[], float] = time.monotonic


class Trainer:
    """All trials of a problem, from the start or the sink's checkpoint to the end.

    ``work`` is what the whole training costs, in the units in which the sink counts progress.
    """

    def __init__(self, problem: Problem, sink: Sink, pace: Pace | None = None, work: float = 1.0):
        self.problem, self.sink, self.pace, self.work = problem, sink, pace or Pace(), work
        checkpoint = sink.latest()
        if checkpoint is None:
            self.whole, live = State.start(problem), list(range(len(problem)))
        else:
            self.whole, live = State.load(checkpoint[1], problem.device)
        for split in problem.training.final:  # what is not there is refused before the first step
            Problem(problem.configs[:1]).split(split)
        self._check = CHECK[problem.device.type]
        self._unread: list[int] = []
        self.period: Any = None
        with precision(problem.training.precision):
            self._go_on_with(live)

    def run(self) -> list[dict[str, Any]] | None:
        """Results of all trials in order, or None where the sink asked to stop before the end."""
        how, clock = self.problem.training, self.pace.clock
        step = int(self.whole.step)
        appended = saved = clock()
        with precision(how.precision):
            while step < how.steps and self.live:
                steps = min(how.evaluate_every - step % how.evaluate_every, how.steps - step)
                self.part.refresh(step, steps)
                self.period(steps)
                step += steps
                self._unread.append(step)
                if how.stop is not None and (step // how.evaluate_every) % self._check == 0:
                    self._thin_out()
                self._keep_up()
                stop, now = self.sink.should_stop(), clock()
                if stop or now - saved > self.pace.checkpoint:
                    self._flush()
                    self._gather()
                    self.sink.checkpoint(step, lambda path: self.whole.save(path, self.live))
                    appended = saved = clock()
                elif now - appended > self.pace.append or len(self._unread) == ROWS:
                    self._flush()
                    appended = clock()
                if stop:
                    return None
            self._flush()
            self._gather()
            return self._results()

    def _go_on_with(self, live: list[int]) -> None:
        """Keep only these trials, by their places in the batch, on the device."""
        self.live, everyone = live, len(live) == len(self.problem)
        self.places = torch.tensor(live, dtype=torch.int64, device=self.problem.device)
        self.state = self.whole.of(self.places)
        self._ahead: deque[torch.cuda.Event] = deque()
        if live:
            self.part = self.problem if everyone else self.problem.subset(live)
            self.period = Period(self.part, self.state)
        elif self.period is None:  # all had ended when the checkpoint was made
            self.period = Period(self.problem, self.whole.of(torch.arange(len(self.problem))))

    def _thin_out(self) -> None:
        """Go on without finished trials once they are half of those on the device, or all."""
        alive = self.state.alive.tolist()
        on_processor = self.problem.device.type == "cpu"
        pays = on_processor or len(alive) > FEW
        share = 2 if on_processor or not self.problem.ensemble.skips_empty else 8
        if not any(alive) or (pays and share * sum(alive) <= len(alive)):
            self._flush()
            self._gather()
            self._go_on_with([e for e, lives in zip(self.live, alive, strict=True) if lives])

    def _keep_up(self) -> None:
        """Do not run more than a few periods ahead of the device: its clock is the true one."""
        if self.problem.device.type == "cuda":
            self._ahead.append(torch.cuda.Event())
            self._ahead[-1].record()
            if len(self._ahead) > AHEAD:
                self._ahead.popleft().synchronize()

    def _gather(self) -> None:
        """Bring what became of the live trials into the whole."""
        self.whole.put(self.state, self.places)

    def _flush(self) -> None:
        """Hand the log to the sink: finished trials keep the metrics they had."""
        if not self._unread:
            return
        names, places, how = self.period.names, self.places.cpu(), self.problem.training
        whole = torch.full((len(names), len(self.whole)), torch.nan, dtype=torch.float64)
        if self.whole.metrics:
            whole.copy_(self.whole.metrics[VALUES].T)
        for step, line in zip(self._unread, self.period.read(), strict=True):
            if self._is_point(step):
                whole[:, places] = line
                self.sink.append(step, dict(zip(names, whole.clone().numpy(), strict=True)))
                self.sink.progress(self.work * step / how.steps)
        self.sink.progress(self.work * self._unread[-1] / how.steps)
        self._unread.clear()

    def _is_point(self, step: int) -> bool:
        """Does this evaluation become a point of the curves?"""
        how = self.problem.training
        return step % (how.evaluate_every * how.points_every) == 0 or step == how.steps

    def _results(self) -> list[dict[str, Any]]:
        whole, period, how = self.whole, self.period, self.problem.training
        last, best = whole.metrics[VALUES].T, whole.extremes[VALUES].T
        sensed = (period.sense != 0).tolist()
        columns = {
            "metrics": dict(zip(period.names, last, strict=True)),
            "extremes": {n: v for n, v, s in zip(period.names, best, sensed, strict=True) if s},
        }
        if how.final:
            columns["final"] = measure_all(self.problem, whole.weights, whole.first, final=True)
        for keep in how.keep:
            weights = period.best_weights(whole, keep.metric)
            at = measure_all(self.problem, weights, whole.first, final=True)
            columns[f"at best {keep.metric}"] = at | {"step": whole.best[f"{keep.metric}/step"]}
        lists = {g: {n: v.tolist() for n, v in own.items()} for g, own in columns.items()}
        return [
            {"steps": steps} | {g: {n: v[e] for n, v in own.items()} for g, own in lists.items()}
            for e, steps in enumerate(whole.ended.tolist())
        ]
