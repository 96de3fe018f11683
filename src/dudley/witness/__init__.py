"""Rigorous lower bounds: instances on which something is provably at least so large."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from dudley.witness.base import WITNESSES, Family, Witness


def load() -> dict[str, type[Witness]]:
    """Every witness, by name."""
    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    return dict(WITNESSES.items())


__all__ = ["WITNESSES", "Family", "Witness", "load"]
