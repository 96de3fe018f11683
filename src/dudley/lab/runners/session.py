"""A session: what the work function of a run is given for one batch.

>>> def work(session):
...     state = np.zeros(len(session.batch))
...     first, checkpoint = session.latest() or (0, None)
...     if checkpoint is not None:
...         state = np.load(checkpoint.open("rb"))
...     for step in range(first + 1, 11):
...         state += 1.0
...         session.append(step, {"count": state})
...         session.progress(session.batch.cost.work * step / 10)
...         if step % 5 == 0:
...             session.checkpoint(step, lambda path: np.save(path.open("wb"), state))
...             if session.should_stop():
...                 return
...     session.finish([{"count": count} for count in state])

The order matters: what belongs to steps up to s is appended before the checkpoint of step s. After
a kill the batch goes on at its latest whole checkpoint, and points after it are gone.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dudley.core.errors import InputError
from dudley.lab.grid.batch import Batch
from dudley.lab.store import checkpoints
from dudley.lab.store.claims import Claim
from dudley.lab.store.schema import DONE, points, sa, trials

EVERY = 0.5  # seconds between notes of progress
POINT = sa.insert(points)
RESULT = sa.update(trials).where(
    trials.c.batch == sa.bindparam("of"), trials.c.place == sa.bindparam("at")
)


class Session:
    """One batch, held by this process; ``worker`` counts the run's workers from 0."""

    def __init__(
        self,
        claim: Claim,
        worker: int = 0,
        stop: Callable[[], bool] = lambda: False,
        on_progress: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ):
        self.claim, self.worker = claim, worker
        self._stop, self._on_progress, self._clock = stop, on_progress, clock
        checkpoint = checkpoints.restore(claim)
        self._latest = None if checkpoint is None else checkpoint[:2]
        self._step, self._done = (-1, 0.0) if checkpoint is None else (checkpoint[0], checkpoint[2])
        self._noted = -np.inf
        self._results: list[str] | None = None
        self.batch: Batch = claim.store.packed[claim.id]

    def latest(self) -> tuple[int, Path] | None:
        """Step and file of the latest whole checkpoint, or None: begin at the beginning."""
        return self._latest

    def append(self, step: int, metrics: Mapping[str, Any]) -> None:
        """Metrics of every trial at a step: name ↦ E numbers, kept as float32 (NaN included)."""
        self._after_the_last(step, "append")
        E = len(self.batch)
        if not metrics:
            raise InputError("metrics to append", "at least one", "none")
        for name, values in metrics.items():
            if name.startswith("grid."):
                raise InputError("name of a metric", "none with grid., kept for tables", name)
            if np.shape(values) != (E,):
                raise InputError(f"metric {name!r}", f"shape ({E},)", np.shape(values))
        data = np.array([np.asarray(values) for values in metrics.values()], dtype="<f4")
        row = {"batch": self.claim.id, "step": step, "names": json.dumps(list(metrics))}
        with self.claim.writing(done=self._done) as connection:
            connection.execute(POINT, row | {"data": data.tobytes()})
        self._step = step

    def checkpoint(self, step: int, write: Callable[[Path], None]) -> None:
        """Keep the whole state: ``write`` fills exactly the file that it is given."""
        if step != self._step:
            self._after_the_last(step, "checkpoint")
        elif self._latest is not None and step == self._latest[0]:
            return  # it stands already
        self._latest = step, checkpoints.keep(self.claim, step, self._done, write)
        self._step = step

    def progress(self, done: float) -> None:
        """Work of this batch done so far, in the units of its cost; cheap to call often."""
        if not done >= 0:
            raise InputError("progress of a batch", "work done, a number ≥ 0", done)
        self._done = min(float(done), self.batch.cost.work)
        if (now := self._clock()) - self._noted >= EVERY:
            with self.claim.writing(done=self._done):
                self._noted = now
            self._on_progress()

    def should_stop(self) -> bool:
        """Was the run asked to stop? Then return after a checkpoint, without `finish`."""
        return self._stop()

    def finish(self, results: Sequence[Mapping[str, Any]]) -> None:
        """One result (JSON; NaN, infinities and numpy numbers allowed) a trial; ends the batch."""
        if len(results) != len(self.batch):
            raise InputError("results of a batch", f"{len(self.batch)}, one a trial", len(results))
        texts = [json.dumps(dict(result), sort_keys=True, default=_plain) for result in results]
        if self.finished:
            if texts != self._results:
                raise InputError("results of a finished batch", "those it has", "others")
            return
        left = self._latest is not None or self.claim.attempt > 1
        with self.claim.writing(status=DONE, done=self.batch.cost.work) as connection:
            of = self.claim.id
            rows = [{"of": of, "at": i, "result": text} for i, text in enumerate(texts)]
            connection.execute(RESULT, rows)
            if left:
                checkpoints.forget(self.claim, connection)
            self.claim.end(connection, DONE)
        self._results = texts
        if left:
            checkpoints.remove(self.claim)
        self._on_progress()

    @property
    def finished(self) -> bool:
        return self._results is not None

    def _after_the_last(self, step: int, what: str) -> None:
        if step <= self._step:
            expected = f"a step after {self._step}, in increasing order, points before checkpoints"
            raise InputError(f"step of {what}", expected, step)


def _plain(value: Any) -> Any:
    """Numpy's numbers as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise InputError("result of a trial", "JSON", f"{value!r} of type {type(value).__name__}")
