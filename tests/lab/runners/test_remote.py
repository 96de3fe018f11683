"""A session far from the store: what the work tells arrives in order, once, and is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import grid_toy as toy
from dudley.core.errors import InputError
from dudley.lab import Session, Store, curves, run, table
from dudley.lab.runners.ray_mailbox import Mailbox, Message
from dudley.lab.runners.remote import FULL, Call, MailboxReply, Refused, RemoteSession, deliver
from dudley.lab.runners.session import EVERY
from dudley.lab.store.location import RunLocation

GRID = toy.toy_grid()


@pytest.fixture
def store(tmp_path: Path):
    store = Store.prepare(
        RunLocation.of(tmp_path / "run"), GRID, toy.toy_batches(GRID), resume=True
    )
    yield store
    store.close()


class Line:
    """Between a worker and the store: delivers when the answer is waited for."""

    def __init__(self, session: Session):
        self.session, self.stop, self.messages = session, False, []
        self.unanswered = 0

    def send(self, calls: Sequence[Call]):
        assert self.unanswered == 0, "a message was sent before the last one was answered"
        self.unanswered += 1
        self.messages.append(list(calls))
        return partial(self.answer, calls)

    def answer(self, calls: Sequence[Call]) -> MailboxReply:
        self.unanswered -= 1
        return deliver(self.session, calls, self.stop)


def opened(store: Store, folder: Path, clock=lambda: 0.0) -> tuple[RemoteSession, Line]:
    """A batch, claimed here and worked on through a line."""
    session = Session(toy.taken(store))
    line, latest = Line(session), session.latest()
    data = None if latest is None else (latest[0], np.fromfile(latest[1], dtype=np.uint8))
    folder.mkdir()
    return RemoteSession(session.batch, line.send, folder, data, clock=clock), line


def test_the_table_and_the_curves_are_those_of_a_near_session(store: Store, tmp_path: Path):
    for number in range(3):
        remote, _ = opened(store, tmp_path / str(number))
        toy.logistic(remote)
        assert remote.finished
    near = tmp_path / "near"
    assert table(tmp_path / "run") == run(GRID, toy.toy_batches(GRID), toy.logistic, near)
    for first, other in zip(curves(tmp_path / "run", "state"), curves(near, "state"), strict=True):
        np.testing.assert_array_equal(first, other)


def test_a_worker_goes_on_from_the_checkpoint_of_another(store: Store, tmp_path: Path):
    remote, line = opened(store, tmp_path / "one")
    line.stop = True
    remote.progress(1.0)
    toy.logistic(remote)  # stops at its first checkpoint
    assert not remote.finished and (tmp_path / "one" / str(toy.KEEP)).is_file()
    line.session.claim.release()
    remote, line = opened(store, tmp_path / "two")
    assert (remote.latest() or (0,))[0] == toy.KEEP
    toy.logistic(remote)
    assert line.session.finished
    assert store.standing()[0].status == "done"


def test_what_comes_late_from_a_lost_worker_is_refused(store: Store, tmp_path: Path):
    lost, line = opened(store, tmp_path / "lost")
    lost.append(0, {"state": np.zeros(4), "step": np.zeros(4)})
    line.session.claim.release()
    remote, _ = opened(store, tmp_path / "next")
    with pytest.raises(Refused, match="Lost: batch 1, attempt 1, was given to another worker"):
        lost.finish([{"state": 0.0, "high": False}] * 4)
    toy.logistic(remote)
    row = next(row for row in table(tmp_path / "run") if row["grid.batch"] == 0)
    assert row["result.state"] != 0.0


def test_messages_go_when_they_are_old_or_full_and_metrics_are_copied(store: Store, tmp_path: Path):
    now = [0.0]
    remote, line = opened(store, tmp_path / "folder", lambda: now[0])
    state = np.zeros(4)
    remote.append(0, {"state": state})
    state += 1.0
    for done in range(5):
        remote.progress(done / 5)
    assert line.messages == []
    now[0] = EVERY
    assert not remote.should_stop()
    (message,) = line.messages
    assert [name for name, _ in message] == ["append", "progress"]
    np.testing.assert_array_equal(message[0][1][1]["state"], np.zeros(4))
    for step in range(1, FULL + 1):
        remote.append(step, {"state": state})
    assert [len(message) for message in line.messages] == [2, FULL]


def test_a_stop_is_heard_with_an_answer(store: Store, tmp_path: Path):
    now = [0.0]
    remote, line = opened(store, tmp_path / "folder", lambda: now[0])
    line.stop = True
    messages = []
    for now[0] in (0.0, EVERY, 2 * EVERY):
        messages.append(remote.should_stop())
    assert messages == [False, False, True]


def test_what_the_store_refuses_is_raised_by_the_work(store: Store, tmp_path: Path):
    remote, _ = opened(store, tmp_path / "folder")
    remote.append(0, {"loss": np.zeros(3)})
    with pytest.raises(Refused, match=r"InputError: metric 'loss': expected shape \(4,\)"):
        remote.flush()
    with pytest.raises(InputError, match="of exactly that name, got none"):
        remote.checkpoint(1, lambda path: None)


def test_in_the_mailbox_a_message_is_taken_at_once_and_its_sender_waits_for_the_answer():
    async def meet() -> tuple[Sequence[Message], Sequence[Message], MailboxReply]:
        mailbox = Mailbox()
        sender = asyncio.create_task(mailbox.send((1, 1), [("progress", (1.0,))]))
        await asyncio.sleep(0)
        came = await mailbox.exchange({}, 0.0)
        assert not sender.done()
        none = await mailbox.exchange({came[0][0]: MailboxReply(stop=True)}, 0.01)
        return came, none, await sender

    came, none, answer = asyncio.run(meet())
    assert came == [(0, (1, 1), [("progress", (1.0,))])]
    assert none == [] and answer == MailboxReply(stop=True)
