"""Rigorous lower bounds: packings, exact suprema and risks, and counterexamples."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from dudley.theorems.witness import counterexamples
from dudley.theorems.witness.base import WITNESSES, Family, Witness


def load() -> dict[str, type[Witness]]:
    """Every witness, by name."""
    for module in iter_modules(counterexamples.__path__):
        import_module(f"{counterexamples.__name__}.{module.name}")
    return dict(WITNESSES.items())


__all__ = ["WITNESSES", "Family", "Witness", "load"]
