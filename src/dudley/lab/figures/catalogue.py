"""Every experiment's figures: importing this module fills the registry of sketches."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from dudley.lab import experiments
from dudley.lab.figures.plain import plain
from dudley.lab.figures.sketch import SKETCHES

for _module in iter_modules(experiments.__path__):
    import_module(f"{experiments.__name__}.{_module.name}.figures")

__all__ = ["SKETCHES", "plain"]
