"""What runs on a Ray cluster: the task that works on a batch, and the desk that it writes to.

The desk is an actor. Workers leave parcels there (`remote`) and wait for answers; the driver comes
by, answers, and takes what has come.
"""

from __future__ import annotations

import asyncio
import pickle
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

from dudley.audit.journal import code_digest
from dudley.core.errors import InputError
from dudley.core.extras import missing
from dudley.lab.grid.batch import Batch
from dudley.lab.runners.remote import Call, MailboxReply, RemoteSession

Key = tuple[int, int]  # of a claim: batch and attempt
Parcel = tuple[int, Key, list[Call]]  # its number, from whom, what


class Mailbox:
    """Where parcels wait for the driver, and workers for its answers."""

    def __init__(self):
        self._parcels: list[Parcel] = []
        self._answers: dict[int, asyncio.Future[MailboxReply]] = {}
        self._numbers, self._some = count(), asyncio.Event()

    async def send(self, key: Key, calls: list[Call]) -> MailboxReply:
        """A worker's parcel; returns with the answer."""
        number = next(self._numbers)
        self._answers[number] = asyncio.get_running_loop().create_future()
        self._parcels.append((number, key, calls))
        self._some.set()
        return await self._answers[number]

    async def exchange(self, answers: dict[int, MailboxReply], patience: float) -> list[Parcel]:
        """The driver's answers, for the parcels that have come or come within so many seconds."""
        for number, answer in answers.items():
            self._answers.pop(number).set_result(answer)
        if not self._parcels:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._some.wait(), patience)
        parcels, self._parcels = self._parcels, []
        self._some.clear()
        return parcels


def work_on(
    about: tuple[bytes, str],
    batch: Batch,
    kept: tuple[int, np.ndarray] | None,
    desk: Any,
    key: Key,
    slot: int,
) -> str | None:
    """The task: work off one batch; returns the traceback of what was raised.

    As text: Ray raises for what cannot be pickled, and calls the worker lost.
    """

    def send(calls: list[Call]):
        return partial(the_ray().get, desk.send.remote(key, calls))

    try:
        packed, code = about
        _expect_code(code)
        with tempfile.TemporaryDirectory(prefix="dudley-") as folder:
            session = RemoteSession(batch, send, Path(folder), kept, slot)
            pickle.loads(packed)(session)
            session.flush()
    except Exception:
        return traceback.format_exc()
    return None


def _expect_code(code: str) -> None:
    """Results must not depend on the node: refuse to work with another package than the driver."""
    if code_digest() != code:
        told = f"another one on {platform.node()}"
        raise InputError("dudley on the cluster", "the driver's own code", told, "install it there")


def the_ray() -> Any:
    """The library, or an error that says how to get it."""
    try:
        ray = import_module("ray")
        import_module("ray.util.scheduling_strategies")
    except ImportError:
        raise missing("ray", "a run on a Ray cluster", "ray") from None
    return ray
