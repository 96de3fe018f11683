"""The runner of a Ray cluster: a batch is a task, and who called `run` alone writes to the store.

Ray places the tasks: so many CPUs and (parts of) GPUs each. A task gets its batch and its latest
checkpoint and sends what its work tells to a *mailbox*, an actor on the driver's node; the driver
takes it from there, writes it under the claim of that task, and replies (`remote`). So nothing but
Ray's own ports is needed between machines, and ``ray://`` works from outside the cluster.

**Exactly once.** Ray would run a lost task again by itself (``max_retries``), with the arguments
of the first time: the old checkpoint and the old attempt, under which two workers would then write
if the first was only cut off. It is told not to. A lost task ends its attempt in the store; the
batch is claimed anew, under the next attempt and from the checkpoint that is the latest by then,
and whatever still comes from the lost one is refused. A task that is lost after its results were
written is done.

**Back-pressure.** At most ``workers`` batches are claimed at a time, so that Ray's queue stays
short and another run on the cluster gets its turn, and each has at most one message without reply.

[1] Ray documentation, "Task fault tolerance", "Actors", "Ray Client", version 2.60.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from dudley.core.errors import DudleyError, InputError
from dudley.core.sources import code_digest
from dudley.lab.runners.packed_work import PackedWork
from dudley.lab.runners.ray_mailbox import Mailbox, the_ray, work_on
from dudley.lab.runners.remote import MailboxReply, deliver
from dudley.lab.runners.retry_limit import RetryLimit
from dudley.lab.runners.runner import Order, Runner
from dudley.lab.runners.session import Session
from dudley.lab.runners.worker import log, settle
from dudley.lab.store.claims import claim
from dudley.lab.store.location import RunLocation
from dudley.lab.store.owner import Owner

POLL = 0.2  # seconds
TRIES = 3  # to connect


@dataclass(frozen=True)
class OnRay(Runner):
    """A Ray cluster.

    ``address``: None is the one that this machine belongs to, or else one that is started here and
    ended afterwards; ``local`` always starts one; ``host:port`` is one that this machine belongs
    to; ``ray://host:port`` one of which it is no part. ``cpus`` and ``gpus`` are of each batch:
    ``gpus=0.25`` lets four share a GPU, whose memory the packing must then allow for.
    """

    address: str | None = None
    cpus: float = 1.0
    gpus: float = 0.0

    def __post_init__(self):
        for what, value in (("cpus", self.cpus), ("gpus", self.gpus)):
            if not 0 <= value < float("inf"):
                raise InputError(f"{what} of a batch", "a finite number ≥ 0", value)

    def expect(self, location: RunLocation) -> None:
        the_ray()

    def work_off(self, order: Order) -> None:
        ray = the_ray()
        with _connection(self.address):
            self._warn_of_want()
            try:
                _Tasks(self, order).work_off()
            except ray.exceptions.RayError as error:
                raise DudleyError(
                    f"the Ray cluster is lost ({type(error).__name__}: {error}); what is stored "
                    "stands, and the same call goes on"
                ) from error

    def _warn_of_want(self) -> None:
        """Ray waits for a node that can run a task; say so if there is none now."""
        wanted = {"CPU": self.cpus, "GPU": self.gpus}
        nodes = [node["Resources"] for node in the_ray().nodes() if node["Alive"]]
        if not any(all(n.get(what, 0) >= some for what, some in wanted.items()) for n in nodes):
            text = f"{self.cpus:g} CPUs and {self.gpus:g} GPUs"
            log.warning("no node of the Ray cluster has %s; waiting for one", text)


@dataclass(frozen=True)
class _Task:
    """A batch that is under way: its session with the store, and the worker's number."""

    session: Session
    slot: int


class _Tasks:
    """The batches of one start that are under way."""

    def __init__(self, runner: OnRay, order: Order):
        ray = self.ray = the_ray()
        self.order, self.limit = order, RetryLimit()
        self.tasks: dict[Any, _Task] = {}  # by the reference to what the task returns
        self.replies: dict[int, MailboxReply] = {}  # by the message's number
        here = ray.get_runtime_context().get_node_id()
        pinned = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(here, soft=False)
        self.mailbox = (
            ray.remote(Mailbox)
            .options(num_cpus=0, max_concurrency=2 * order.workers + 2, scheduling_strategy=pinned)
            .remote()
        )
        self.work_on = ray.remote(work_on).options(
            num_cpus=runner.cpus,
            num_gpus=runner.gpus,
            max_retries=0,
            runtime_env={"env_vars": dict(order.environment)},
        )
        # Pickled: nobody but a worker needs the modules that the work needs.
        work = PackedWork.of(order.work, ray.cloudpickle.dumps, "what can be pickled")
        self.about = ray.put((work, code_digest()))

    def work_off(self) -> None:
        ray = self.ray
        try:
            while True:
                self._submit()
                if not self.tasks:
                    return
                # What a task sent before it ended is in the mailbox by then: look in this order.
                ended, _ = ray.wait(list(self.tasks), num_returns=len(self.tasks), timeout=0)
                self._exchange(0.0 if ended else POLL)
                for ref in ended:
                    self._settle(ref, self.tasks.pop(ref))
                self.order.on_progress()
        finally:
            for task in self.tasks.values():
                task.session.claim.release()
            with suppress(ray.exceptions.RayError):  # it may be the cluster that is gone
                for ref in self.tasks:
                    ray.cancel(ref, force=True)

    def _submit(self) -> None:
        """Claim and submit as long as there is room; what has finished takes none."""
        order, running = self.order, self.tasks.values()
        while not order.stop.value:
            busy = {task.slot for task in running if not task.session.finished}
            if len(busy) >= order.workers:
                return
            taken = claim(order.store, Owner.me(), order.start)
            if taken is None:
                return
            slot = next(slot for slot in count() if slot not in busy)
            session = Session(taken, slot)
            checkpoint = session.latest()
            if checkpoint is not None:
                # As an array of bytes, which Ray sends without a copy.
                step, path = checkpoint
                data = step, np.fromfile(path, dtype=np.uint8)
            else:
                data = None
            key = taken.id, taken.attempt
            ref = self.work_on.remote(self.about, session.batch, data, self.mailbox, key, slot)
            self.tasks[ref] = _Task(session, slot)

    def _exchange(self, patience: float) -> None:
        """MailboxReply to the last messages, and deliver those that have come since."""
        sessions = {(t.session.claim.id, t.session.claim.attempt): t.session
                    for t in self.tasks.values()}  # fmt: skip
        messages = self.ray.get(self.mailbox.exchange.remote(self.replies, patience))
        self.replies, stop = {}, bool(self.order.stop.value)
        for number, key, calls in messages:
            if key in sessions:
                self.replies[number] = deliver(sessions[key], calls, stop)
            else:
                refusal = f"Lost: batch {key[0]}, attempt {key[1]}, was given to another worker"
                self.replies[number] = MailboxReply(True, refusal)

    def _settle(self, ref: Any, task: _Task) -> None:
        """A task has ended: see how."""
        errors, session = self.ray.exceptions, task.session
        try:
            failure = self.ray.get(ref)
        except errors.RayTaskError as error:  # an argument that could not be read, say
            failure = str(error)
        except errors.RayError as error:
            if not session.finished:
                first_line = str(error).strip().partition("\n")[0]
                reason = f"its worker was lost ({type(error).__name__}: {first_line})"
                self.limit.died(session.claim, reason)
            return
        if failure is None:
            settle(session, bool(self.order.stop.value))
        elif not session.finished:
            log.error("a batch failed: %s", failure.strip().rpartition("\n")[2])
            session.claim.fail(failure)


@contextmanager
def _connection(address: str | None) -> Iterator[None]:
    """A connection to the cluster: the one that stands, or one for this time."""
    ray = the_ray()
    if ray.is_initialized():
        yield
        return
    _connect(ray, address)
    try:
        yield
    finally:
        ray.shutdown()


def _connect(ray: Any, address: str | None) -> None:
    """Begin a connection.

    The process that a cluster starts for a client may die at its start (ray-project/ray#63202),
    and the cluster says so: then another one is asked for, TRIES in all.
    """
    for left in reversed(range(TRIES)):
        try:
            ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
            return
        except (ConnectionError, RuntimeError, ValueError) as error:
            if isinstance(error, ConnectionAbortedError) and left:
                continue
            fix = "start one (ray start --head), or name another"
            last_line = str(error).strip().rpartition("\n")[2]  # a server sends its traceback
            expected = f"one at {address or 'hand'}"
            raise InputError("Ray cluster", expected, last_line, fix) from error
