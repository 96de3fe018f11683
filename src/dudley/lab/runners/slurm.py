"""The runner of a Slurm cluster, through submitit: a worker is a job.

A job opens the store by itself and serves batches until none waits, its time is up or a stop is
asked for. Slurm's warning before the end of a job asks its work to stop at the next checkpoint; the
batch goes back, and a new job goes on with it. A job that dies without a word is replaced
(`supervisor`). Jobs are on other machines, so that the store must be a PostgreSQL database:
SQLite's write-ahead log works between processes of one machine only [1].

[1] SQLite documentation, "Write-Ahead Logging", section 1.
"""

from __future__ import annotations

import signal
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from dudley.core.canonical import digest
from dudley.core.errors import InputError
from dudley.core.extras import missing
from dudley.lab.runners.packed_work import PackedWork
from dudley.lab.runners.runner import Order, Runner
from dudley.lab.runners.supervisor import supervise, variables
from dudley.lab.runners.worker import work_batches
from dudley.lab.store.claims import take_over
from dudley.lab.store.location import RunLocation
from dudley.lab.store.owner import Owner
from dudley.lab.store.store import Store

POLL = 1.0  # seconds between looks at files
ASK = 60.0  # seconds between questions to Slurm, which jobs that died have not answered
PATIENCE = 15.0  # seconds that a shared file system may take to show a file
STOP = "stop"  # a file that asks all jobs of a start to stop


@dataclass(frozen=True)
class OnSlurm(Runner):
    """A Slurm cluster; what is None is the cluster's own.

    ``minutes``, ``cpus``, ``gpus`` and ``memory`` (GB) are of each job; ``folder`` is for job files
    and logs, and lies where all machines see it. ``cluster``: None is Slurm, and ``local`` runs
    the jobs as processes of this machine, to try it out.
    """

    partition: str | None = None
    account: str | None = None
    minutes: int = 60
    cpus: int = 1
    gpus: int = 0
    memory: float | None = None
    folder: str = "dudley-slurm"
    cluster: str | None = None

    def __post_init__(self):
        numbers = {"minutes": self.minutes, "cpus": self.cpus, "memory": self.memory}
        for what, value in numbers.items():
            if value is not None and not value > 0:
                raise InputError(f"{what} of a job", "a number > 0", value)
        if self.gpus < 0:
            raise InputError("gpus of a job", "an integer ≥ 0", self.gpus)

    def expect(self, location: RunLocation) -> None:
        _submitit()
        if location.folder is not None and self.cluster != "local":
            fix = "SQLite must not be written to from several machines"
            expected = "a database, postgresql://user@host/database#run"
            raise InputError("store of a run on Slurm", expected, location, fix)

    def work_off(self, order: Order) -> None:
        submitit, cluster = _submitit(), self.cluster or "slurm"
        starts = Path(self.folder).absolute() / digest(str(order.store.location))[:12]
        if cluster == "slurm" and _end_the_jobs_before(starts):
            take_over(order.store)
        starts.mkdir(parents=True, exist_ok=True)
        # mkdtemp, since others must not read or write what jobs unpickle.
        jobs = Path(tempfile.mkdtemp(prefix=f"{order.start}-", dir=starts))
        try:
            executor = submitit.AutoExecutor(jobs, cluster=cluster)
        except RuntimeError as error:
            fix = "run it where sbatch is, or with cluster=local"
            raise InputError("cluster", "Slurm", error, fix) from error
        executor.update_parameters(name="dudley", **self._parameters())

        # By cloudpickle, which submitit brings: it takes functions of the user's script along.
        work = PackedWork.of(order.work, import_module("cloudpickle").dumps, "what can be pickled")

        def begin(slots: list[int]) -> list[Job]:
            call = partial(_worker, order.store.location, work, order.start, jobs)
            with variables(order.environment):
                submitted = executor.map_array(call, slots)
            patience = 0.0 if cluster == "local" else PATIENCE
            return [Job(job, jobs, patience) for job in submitted]

        last_question = time.monotonic()

        def pause(workers: Sequence[Job]) -> None:
            nonlocal last_question
            end = time.monotonic() + POLL
            # One question is for all jobs at once; by itself submitit asks more seldom.
            if end - last_question >= ASK:
                workers[0].job.done(force_check=True)
                last_question = end
            while time.monotonic() < end and all(worker.ended() is None for worker in workers):
                # Ends of jobs are seen in files on a shared disk, where no event can be waited for.
                time.sleep(0.05)
            if order.stop.value:
                (jobs / STOP).touch()

        supervise(order, begin, pause)

    def _parameters(self) -> dict[str, Any]:
        """In submitit's words."""
        parameters = {
            "timeout_min": self.minutes,
            "cpus_per_task": self.cpus,
            "gpus_per_node": self.gpus or None,
            "mem_gb": self.memory,
            "slurm_partition": self.partition,
            "slurm_account": self.account,
        }
        return {name: value for name, value in parameters.items() if value is not None}


@dataclass
class Job:
    """A job of the queue; its outcome, a file, may be seen some seconds after its end."""

    job: Any
    folder: Path  # of all jobs of the start
    patience: float
    _over: float | None = None  # since when

    def ended(self) -> str | None:
        if not self.job.done():
            return None
        if self.job.paths.result_pickle.exists():
            error = self.job.exception()
            return "" if error is None else f"{self.job.state}: {_last_line(error)}"
        now = time.monotonic()
        self._over = now if self._over is None else self._over
        return f"state {self.job.state}" if now - self._over >= self.patience else None

    def holds(self, owner: Owner) -> bool:
        path = _owner_file(self.folder, self.job.job_id)
        return path.is_file() and Owner.read(path.read_text(encoding="utf-8")) == owner

    def kill(self) -> None:
        self.job.cancel(check=False)


def _worker(location: RunLocation, work: PackedWork, start: int, jobs: Path, slot: int) -> None:
    """The job: serve until none waits or somebody asks to stop."""
    environment = _submitit().JobEnvironment()
    path = _owner_file(jobs, environment.job_id)
    path.with_suffix(".part").write_text(Owner.me().text, encoding="utf-8")
    path.with_suffix(".part").replace(path)
    stop = _Stop(jobs / STOP)
    for name in ("SIG" + environment.USR_SIG, "SIGTERM"):
        signal.signal(getattr(signal, name), stop.ask)
    store = Store.open(location)
    work_batches(store, work.unpack(), start, slot, stop)
    store.close()


class _Stop:
    """Has somebody asked to stop: by a signal, or by the file, looked at once a second?"""

    def __init__(self, file: Path):
        self._file, self._stopped, self._looked = file, False, -POLL

    def ask(self, number, frame) -> None:
        self._stopped = True

    def __call__(self) -> bool:
        if not self._stopped and (now := time.monotonic()) - self._looked >= POLL:
            self._stopped, self._looked = self._file.exists(), now
        return self._stopped


def _end_the_jobs_before(starts: Path) -> bool:
    """Jobs of an earlier start may have outlived who started them. Were there any?"""
    names = list(starts.glob("*/*.owner"))
    for path in names:
        _submitit().SlurmJob(path.parent, path.stem).cancel(check=False)
    return bool(names)


def _owner_file(jobs: Path, job: str) -> Path:
    return jobs / f"{job}.owner"


def _last_line(error: BaseException) -> str:
    return str(error).strip().rpartition("\n")[2]


def _submitit() -> Any:
    try:
        return import_module("submitit")
    except ImportError:
        raise missing("submitit", "a run on Slurm", "slurm") from None
