"""Every experiment: importing this module fills `dudley.lab.experiment.EXPERIMENTS`.

An experiment is one folder of `dudley.lab.experiments`, found by its name.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from dudley.lab import experiments
from dudley.lab.experiment import EXPERIMENTS, Experiment

for _module in iter_modules(experiments.__path__):
    import_module(f"{experiments.__name__}.{_module.name}.experiment")

__all__ = ["EXPERIMENTS", "in_order"]


def in_order() -> list[tuple[str, Experiment]]:
    """All of them by name, the papers' before those beyond them."""
    return sorted(EXPERIMENTS.items(), key=lambda item: (item[0].startswith("beyond"), item[0]))
