"""Experiments from outside this package: of installed packages, and of a file that the user names.

A package declares the module that registers its experiments as an entry point of the group
``dudley.experiments``. A file is executed because the user named it, and registers one experiment
with `experiment`, and its figures, if it has any of its own, with `sketches`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dudley.core.errors import InputError
from dudley.core.outside import execute, load_entry_points
from dudley.core.registry import Registry
from dudley.lab.experiment import EXPERIMENTS, Experiment
from dudley.lab.figures.sketch import SKETCHES

GROUP = "dudley.experiments"
REGISTRIES: tuple[Registry, ...] = (EXPERIMENTS, SKETCHES)


def known() -> Registry[Experiment]:
    """Every experiment by its name, those of installed packages included."""
    load_entry_points(GROUP, REGISTRIES)
    return EXPERIMENTS


def find(name: str) -> Experiment:
    """An experiment by its name, or by the Python file that registers it, which is executed."""
    return of_file(Path(name)) if name.endswith(".py") else known()[name]


def of_file(path: Path) -> Experiment:
    """Execute a file that the user named; the experiment that it registers."""
    known()  # first, so that a name which a package has already taken is refused
    execute(path, "experiment", REGISTRIES)
    registered = [one for _, one in EXPERIMENTS.items() if file_of(one) == path.resolve()]
    if len(registered) != 1:
        names = ", ".join(experiment.name for experiment in registered) or "none"
        fix = "register it with @experiment, and each in a file of its own"
        raise InputError(f"experiment {path}", "one experiment in the file", names, fix)
    return registered[0]


def file_of(experiment: Experiment) -> Path | None:
    """The file in which an experiment's class was defined."""
    file = getattr(sys.modules.get(type(experiment).__module__), "__file__", None)
    return None if file is None else Path(file).resolve()
