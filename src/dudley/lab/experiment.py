"""An experiment: what is run at each scale, and what follows from the results.

Three scales: ``smoke`` takes seconds, shows that everything works and decides nothing; ``laptop``
takes minutes on two cores; ``paper`` is the printed protocol, on a GPU, and of a study beyond the
papers at least forty trials a cell, on a processor. ``run`` trains and writes tables (Parquet) into
a folder; ``analyse`` reads those tables, and nothing else, and returns findings: numbers with
intervals, for each claim of the paper the readings that were run and a verdict over all of them,
and answers to hypotheses of ours (`dudley.lab.finding`). Figures and pages are drawn from the
folder (`dudley.lab.figures`), so that none of them needs a training.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from dudley.core.boundary.paths import is_plain
from dudley.core.errors import InputError
from dudley.core.registry import Registry
from dudley.lab.finding import Finding

if TYPE_CHECKING:
    from dudley.lab.planned import PlannedGrid
    from dudley.lab.store.location import RunLocation

SCALES = ("smoke", "laptop", "paper")


@dataclass(frozen=True)
class Bench:
    """Where an experiment runs: device, workers, whether progress is shown, bytes of a batch.

    ``on`` is the runner of its grids (`dudley.lab.runners.runner`). ``store`` is where they are
    kept: an address that several machines share, or None for the results' folder.
    """

    device: str = "cpu"
    workers: int = 1
    progress: bool | None = None
    memory: int | None = None
    on: str = "local"
    store: str | None = None

    def location(self, folder: Path) -> RunLocation:
        """Where the grids of an experiment with this results folder are kept."""
        from dudley.lab.store.location import RunLocation

        return RunLocation.of(folder / "store" if self.store is None else self.store)


class Experiment(ABC):
    """Abstract: one experiment. Its docstring says the protocol and its source."""

    name: ClassVar[str]  # such as edelman2021-and
    source: ClassVar[str]  # paper, section, figures
    question: ClassVar[str]
    designs: ClassVar[tuple[str, ...]] = ("full",)  # which trials are run

    @abstractmethod
    def config(self, scale: str) -> dict[str, Any]:
        """All that is chosen at a scale, as JSON: sizes, seeds, protocol, margins set before."""

    def planned(self, config: dict[str, Any]) -> list[PlannedGrid]:
        """The grids that `run` would train, for a forecast: those that the config names."""
        from dudley.lab.planned import planned_in

        return planned_in(config)

    @abstractmethod
    def run(self, config: dict[str, Any], folder: Path, bench: Bench) -> None:
        """Train, and write tables ``*.parquet`` into the folder; resumes what was broken off.

        Whatever must survive a kill goes to ``bench.location(folder)``, which stays.
        """

    @abstractmethod
    def analyse(self, config: dict[str, Any], folder: Path) -> list[Finding]:
        """What follows from the tables alone."""

    def caveat(self, config: dict[str, Any]) -> str:
        """What a record with this config lacks that its verdicts could depend on; often nothing."""
        return ""


EXPERIMENTS: Registry[Experiment] = Registry("experiment", "dudley.lab.experiments.*.experiment")


def experiment(cls: type[Experiment]) -> type[Experiment]:
    """Register an experiment under its name, which is also that of its folder of results."""
    if not is_plain(cls.name):
        raise InputError("name of an experiment", "letters, digits, . _ -", ascii(cls.name))
    EXPERIMENTS.register(cls.name)(cls())
    return cls


def in_order() -> list[tuple[str, Experiment]]:
    """All of them by name, the papers' before those beyond them."""
    return sorted(EXPERIMENTS.items(), key=lambda item: (item[0].startswith("beyond"), item[0]))
