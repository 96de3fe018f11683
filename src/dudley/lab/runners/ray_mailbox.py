"""What runs on a Ray cluster: the task that works on a batch, and the mailbox that it writes to.

The mailbox is an actor. Workers leave messages there (`remote`) and wait for replies; the driver
looks in, replies, and takes what has come.
"""

from __future__ import annotations

import asyncio
import platform
import tempfile
import traceback
from contextlib import suppress
from functools import partial
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from dudley.core.errors import InputError
from dudley.core.extras import missing
from dudley.core.sources import code_digest
from dudley.lab.grid.batch import Batch
from dudley.lab.runners.packed_work import PackedWork
from dudley.lab.runners.remote import Call, MailboxReply, RemoteSession

Key = tuple[int, int]  # of a claim: batch and attempt
Message = tuple[int, Key, list[Call]]  # its number, from whom, what


class Mailbox:
    """Where messages wait for the driver, and workers for its replies."""

    def __init__(self):
        self._messages: list[Message] = []
        self._replies: dict[int, asyncio.Future[MailboxReply]] = {}
        self._numbers, self._some = count(), asyncio.Event()

    async def send(self, key: Key, calls: list[Call]) -> MailboxReply:
        """A worker's message; returns with the reply."""
        number = next(self._numbers)
        # The future is there before the driver can see the message and reply to it.
        self._replies[number] = asyncio.get_running_loop().create_future()
        self._messages.append((number, key, calls))
        self._some.set()
        return await self._replies[number]

    async def exchange(self, replies: dict[int, MailboxReply], patience: float) -> list[Message]:
        """The driver's replies, for the messages that have come or come within so many seconds."""
        for number, reply in replies.items():
            self._replies.pop(number).set_result(reply)
        if not self._messages:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._some.wait(), patience)
        messages, self._messages = self._messages, []
        self._some.clear()
        return messages


def work_on(
    about: tuple[PackedWork, str],
    batch: Batch,
    checkpoint: tuple[int, np.ndarray] | None,
    mailbox: Any,
    key: Key,
    slot: int,
) -> str | None:
    """The task: work off one batch; returns the traceback of what was raised.

    As text: Ray raises for what cannot be pickled, and calls the worker lost.
    """

    def send(calls: list[Call]):
        return partial(the_ray().get, mailbox.send.remote(key, calls))

    try:
        work, code = about
        _expect_code(code)
        with tempfile.TemporaryDirectory(prefix="dudley-") as folder:
            session = RemoteSession(batch, send, Path(folder), checkpoint, slot)
            work.unpack()(session)  # pyright: ignore[reportArgumentType]  # it has Session's methods
            session.flush()
    except Exception:
        return traceback.format_exc()
    return None


def _expect_code(code: str) -> None:
    """Results must not depend on the node: refuse to work with another package than the driver."""
    if code_digest() != code:
        got = f"another one on {platform.node()}"
        raise InputError("dudley on the cluster", "the driver's own code", got, "install it there")


def the_ray() -> Any:
    """The library, or an error that says how to get it."""
    try:
        ray = import_module("ray")
        import_module("ray.util.scheduling_strategies")
    except ImportError:
        raise missing("ray", "a run on a Ray cluster", "ray") from None
    return ray
