"""Where the batches of a run are worked off: one interface, and its name on the command line.

``local`` is this machine, ``ray`` a Ray cluster, ``slurm`` a Slurm cluster. Settings of a runner
follow its name as in a URL; what they are called and what they mean stands with the runner.

>>> runner_of("local")
Local()
>>> runner_of("ray?gpus=0.25&cpus=2")
OnRay(address=None, cpus=2.0, gpus=0.25)
>>> runner_of("ray://head:10001")
OnRay(address='ray://head:10001', cpus=1.0, gpus=0.0)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import parse_qsl

from dudley.core.errors import InputError, UnknownName
from dudley.lab.runners.worker import Work
from dudley.lab.store.location import RunLocation
from dudley.lab.store.store import Store


@dataclass(frozen=True)
class Order:
    """What a runner is asked to do: the batches of a store that wait, so many at a time.

    ``stop.value`` turns true when somebody asks for a stop; ``on_progress`` is to be called now and
    then.
    """

    store: Store
    work: Work
    start: int
    workers: int
    stop: Any
    on_progress: Callable[[], None]
    environment: Mapping[str, str]


class Runner(ABC):
    """Abstract: works off batches, wherever that is.

    The contract. `work_off` returns when no batch waits or runs, or, once asked to stop, when
    those that ran are at their next checkpoint; nothing that it began works on after it. A batch
    runs under a claim, so that at most one attempt writes for it; an attempt whose worker is lost
    goes back to waiting and on from its latest checkpoint (`RetryLimit`); one whose work raises is
    failed, with the traceback. Which worker runs a batch has no influence on its results.
    """

    @abstractmethod
    def expect(self, location: RunLocation) -> None:
        """Refuse what it cannot do with a store there, before anything is written."""

    @abstractmethod
    def work_off(self, order: Order) -> None:
        """Until none waits."""


def runner_of(on: str | Runner) -> Runner:
    """A runner by its name, with settings, or itself."""
    if isinstance(on, Runner):
        return on
    kinds = _kinds()
    name, _, settings = on.partition("?")
    texts = dict(parse_qsl(settings, keep_blank_values=True))
    if name.startswith("ray://"):
        name, texts = "ray", texts | {"address": name}
    if name not in kinds:
        raise UnknownName("runner", name, kinds)
    kind = kinds[name]
    known = {field.name: field.type for field in fields(kind)}
    for setting in texts:
        if setting not in known:
            raise UnknownName(f"setting of the runner {name}", setting, known)
    return kind(**{key: _value(name, key, text, known[key]) for key, text in texts.items()})


def _kinds() -> dict[str, type[Any]]:
    from dudley.lab.runners.local import Local
    from dudley.lab.runners.ray_runner import OnRay
    from dudley.lab.runners.slurm import OnSlurm

    return {"local": Local, "ray": OnRay, "slurm": OnSlurm}


def _value(runner: str, setting: str, text: str, kind: Any) -> Any:
    """The setting's text as what its field says."""
    make = {"int": int, "float": float}.get(str(kind).partition(" ")[0], str)
    try:
        return make(text)
    except ValueError:
        expected = f"a value of type {make.__name__}"
        raise InputError(f"setting {setting} of the runner {runner}", expected, text) from None
