"""A session far from the store: the work's calls travel in messages to the store's process.

The worker's end is `RemoteSession`, with the methods of `Session`; the other end is `deliver`,
which tells a true `Session` what is in a message. A message is sent when it is `EVERY` seconds
old or holds `FULL` calls, and at most one of a session is without reply: the next one waits for it.
So calls arrive in order, a store that lags behind slows its workers down, and what is on its way
is bounded. A checkpoint and the results are waited for: what `checkpoint` returned from is stored.

A reply says whether the run is to stop, and what was wrong with a call, which is then raised by
the session's next one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dudley.core.errors import DudleyError, InputError
from dudley.lab.grid.batch import Batch
from dudley.lab.runners.session import EVERY, Session

FULL = 64  # calls
Call = tuple[str, tuple[Any, ...]]  # a method of Session and its arguments


class Refused(DudleyError):
    """The store did not take what it was told."""


@dataclass(frozen=True)
class MailboxReply:
    """What the process that holds the store says to a message."""

    stop: bool = False
    refused: str | None = None


Wait = Callable[[], MailboxReply]


class RemoteSession:
    """One batch, held by somebody else for this process.

    ``send`` hands a message over and returns at once with a way to wait for the reply; ``folder``
    is a place for checkpoints, of this process alone.
    """

    def __init__(
        self,
        batch: Batch,
        send: Callable[[list[Call]], Wait],
        folder: Path,
        checkpoint: tuple[int, np.ndarray] | None = None,
        worker: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ):
        self.batch, self.worker, self.finished = batch, worker, False
        self._send, self._folder, self._clock = send, folder, clock
        self._calls: list[Call] = []
        self._wait: Wait | None = None
        self._reply, self._sent = MailboxReply(), clock()
        self._latest = None
        if checkpoint is not None:
            step, data = checkpoint
            self._latest = step, folder / str(step)
            data.tofile(self._latest[1])

    def latest(self) -> tuple[int, Path] | None:
        """Step and file of the latest checkpoint, or None: begin at the beginning."""
        return self._latest

    def append(self, step: int, metrics: Mapping[str, Any]) -> None:
        """Metrics of every trial at a step: name ↦ E numbers, kept as float32."""
        copied = {name: np.array(values, dtype="<f4") for name, values in metrics.items()}
        self._tell("append", step, copied)

    def checkpoint(self, step: int, write: Callable[[Path], None]) -> None:
        """Keep the whole state: ``write`` fills exactly the file that it is given."""
        path, before = self._folder / str(step), self._latest
        write(path)
        if not path.is_file():
            raise InputError("checkpoint", f"the file {path.name}, of exactly that name", "none")
        self._calls.append(("checkpoint", (step, np.fromfile(path, dtype=np.uint8))))
        self.flush()
        self._latest = step, path
        if before is not None and before[1] != path:
            before[1].unlink(missing_ok=True)

    def progress(self, done: float) -> None:
        """Work of this batch done so far, in the units of its cost; cheap to call often."""
        if self._calls and self._calls[-1][0] == "progress":
            self._calls.pop()
        self._tell("progress", float(done))

    def should_stop(self) -> bool:
        """Was the run asked to stop? Then return after a checkpoint, without `finish`."""
        self._send_if_due()
        return self._reply.stop

    def finish(self, results: Sequence[Mapping[str, Any]]) -> None:
        """One result a trial; ends the batch."""
        self._calls.append(("finish", ([dict(result) for result in results],)))
        self.flush()
        self.finished = True

    def flush(self) -> None:
        """Send what is there, and wait until it is stored."""
        if self._calls:
            self._send_message()
        self._await_reply()

    def _tell(self, *call: Any) -> None:
        self._calls.append((call[0], call[1:]))
        self._send_if_due()

    def _send_if_due(self) -> None:
        if len(self._calls) >= FULL or self._clock() - self._sent >= EVERY:
            self._send_message()

    def _send_message(self) -> None:
        self._await_reply()
        calls, self._calls, self._sent = self._calls, [], self._clock()
        self._wait = self._send(calls)

    def _await_reply(self) -> None:
        """The reply to the message that is on its way, if one is."""
        if self._wait is None:
            return
        self._reply, self._wait = self._wait(), None
        if self._reply.refused is not None:
            raise Refused(self._reply.refused)


def deliver(session: Session, calls: Sequence[Call], stop: bool) -> MailboxReply:
    """Tell a session what is in a message; what follows a call that it refuses is dropped."""
    try:
        for name, arguments in calls:
            _DELIVER[name](session, *arguments)
    except Exception as error:
        return MailboxReply(stop, f"{type(error).__name__}: {error}")
    return MailboxReply(stop)


def _checkpoint(session: Session, step: int, data: np.ndarray) -> None:
    session.checkpoint(step, data.tofile)


_DELIVER: dict[str, Callable[..., None]] = {
    "append": Session.append,
    "checkpoint": _checkpoint,
    "progress": Session.progress,
    "finish": Session.finish,
}
