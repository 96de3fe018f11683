"""The runner of a Ray cluster: a batch is a task, and who called `run` alone writes to the store.

Ray places the tasks: so many CPUs and (parts of) GPUs each. A task gets its batch and its latest
checkpoint and sends what its work tells to a *desk*, an actor on the driver's node; the driver
takes it from there, writes it under the claim of that task, and answers (`remote`). So nothing but
Ray's own ports is needed between machines, and ``ray://`` works from outside the cluster.

**Exactly once.** Ray would run a lost task again by itself (``max_retries``), with the arguments
of the first time: the old checkpoint and the old attempt, under which two workers would then write
if the first was only cut off. It is told not to. A lost task ends its attempt in the store; the
batch is claimed anew, under the next attempt and from the checkpoint that is the latest by then,
and whatever still comes from the lost one is refused. A task that is lost after its results were
written is done.

**Back-pressure.** At most ``workers`` batches are claimed at a time, so that Ray's queue stays
short and another run on the cluster gets its turn, and each has at most one parcel unanswered.

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

from dudley.audit.journal import code_digest
from dudley.core.errors import DudleyError, InputError
from dudley.lab.runners.ray_mailbox import Mailbox, the_ray, work_on
from dudley.lab.runners.remote import MailboxReply, deliver
from dudley.lab.runners.retry_limit import RetryLimit
from dudley.lab.runners.runner import Order, Runner
from dudley.lab.runners.session import Session
from dudley.lab.runners.worker import Work, log, settle
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

    def expect(self, place: RunLocation) -> None:
        the_ray()

    def work_off(self, order: Order) -> None:
        ray = the_ray()
        with _connected(self.address):
            self._warn_of_want()
            try:
                _Flights(self, order).work_off()
            except ray.exceptions.RayError as error:
                raise DudleyError(
                    f"the Ray cluster is lost ({type(error).__name__}: {error}); what is stored "
                    "stands, and the same call goes on"
                ) from error

    def _warn_of_want(self) -> None:
        """Ray waits for a node that can run a task; say so if there is none now."""
        asked = {"CPU": self.cpus, "GPU": self.gpus}
        nodes = [node["Resources"] for node in the_ray().nodes() if node["Alive"]]
        if not any(all(n.get(what, 0) >= some for what, some in asked.items()) for n in nodes):
            told = f"{self.cpus:g} CPUs and {self.gpus:g} GPUs"
            log.warning("no node of the Ray cluster has %s; waiting for one", told)


@dataclass(frozen=True)
class _Flight:
    """A batch that is under way: its session with the store, and the worker's number."""

    session: Session
    slot: int


class _Flights:
    """The batches of one start that are under way."""

    def __init__(self, runner: OnRay, order: Order):
        ray = self.ray = the_ray()
        self.order, self.toll = order, RetryLimit()
        self.flights: dict[Any, _Flight] = {}  # by the reference to what the task returns
        self.answers: dict[int, MailboxReply] = {}  # by the parcel's number
        here = ray.get_runtime_context().get_node_id()
        pinned = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(here, soft=False)
        self.desk = (
            ray.remote(Mailbox)
            .options(num_cpus=0, max_concurrency=2 * order.workers + 2, scheduling_strategy=pinned)
            .remote()
        )
        self.task = ray.remote(work_on).options(
            num_cpus=runner.cpus,
            num_gpus=runner.gpus,
            max_retries=0,
            runtime_env={"env_vars": dict(order.environment)},
        )
        # As bytes: nobody but a worker needs the modules that the work needs.
        self.about = ray.put((_packed(order.work), code_digest()))

    def work_off(self) -> None:
        ray = self.ray
        try:
            while True:
                self._take_off()
                if not self.flights:
                    return
                # What a task sent before it ended is at the desk by then: look in this order.
                ended, _ = ray.wait(list(self.flights), num_returns=len(self.flights), timeout=0)
                self._hear(0.0 if ended else POLL)
                for ref in ended:
                    self._land(ref, self.flights.pop(ref))
                self.order.heard()
        finally:
            for flight in self.flights.values():
                flight.session.claim.release()
            with suppress(ray.exceptions.RayError):  # it may be the cluster that is gone
                for ref in self.flights:
                    ray.cancel(ref, force=True)

    def _take_off(self) -> None:
        """Claim and submit as long as there is room; what has finished takes none."""
        order, flying = self.order, self.flights.values()
        while not order.stop.value:
            busy = {flight.slot for flight in flying if not flight.session.finished}
            if len(busy) >= order.workers:
                return
            taken = claim(order.store, Owner.me(), order.start)
            if taken is None:
                return
            slot = next(slot for slot in count() if slot not in busy)
            session = Session(taken, slot)
            kept = session.latest()
            data = None if kept is None else (kept[0], np.fromfile(kept[1], dtype=np.uint8))
            key = taken.id, taken.attempt
            ref = self.task.remote(self.about, session.batch, data, self.desk, key, slot)
            self.flights[ref] = _Flight(session, slot)

    def _hear(self, patience: float) -> None:
        """Answer the last parcels, and deliver those that have come since."""
        sessions = {(f.session.claim.id, f.session.claim.attempt): f.session
                    for f in self.flights.values()}  # fmt: skip
        parcels = self.ray.get(self.desk.exchange.remote(self.answers, patience))
        self.answers, stop = {}, bool(self.order.stop.value)
        for number, key, calls in parcels:
            if key in sessions:
                self.answers[number] = deliver(sessions[key], calls, stop)
            else:
                told = f"Lost: batch {key[0]}, attempt {key[1]}, was given to another worker"
                self.answers[number] = MailboxReply(True, told)

    def _land(self, ref: Any, flight: _Flight) -> None:
        """A task has ended: see how."""
        errors, session = self.ray.exceptions, flight.session
        try:
            failure = self.ray.get(ref)
        except errors.RayTaskError as error:  # an argument that could not be read, say
            failure = str(error)
        except errors.RayError as error:
            if not session.finished:
                told = str(error).strip().partition("\n")[0]
                self.toll.of(session.claim, f"its worker was lost ({type(error).__name__}: {told})")
            return
        if failure is None:
            settle(session, bool(self.order.stop.value))
        elif not session.finished:
            log.error("a batch failed: %s", failure.strip().rpartition("\n")[2])
            session.claim.fail(failure)


def _packed(work: Work) -> bytes:
    """Work for another machine: a module's function by its name, another one as it is."""
    try:
        return the_ray().cloudpickle.dumps(work)
    except Exception as error:
        told = f"{work!r} ({error})"
        raise InputError("work of a run", "what can be pickled", told) from None


@contextmanager
def _connected(address: str | None) -> Iterator[None]:
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
            told = str(error).strip().rpartition("\n")[2]  # a server answers with its traceback
            raise InputError("Ray cluster", f"one at {address or 'hand'}", told, fix) from error
