"""Every experiment: importing this module fills `dudley.experiments.base.EXPERIMENTS`.

An experiment is one file of this package; a file that is added is listed here.
"""

from __future__ import annotations

from dudley.experiments import (  # noqa: F401
    beyond_depth,
    beyond_length,
    beyond_masked,
    beyond_norms,
    beyond_variants,
    edelman2021_and,
    edelman2021_and_far,
    edelman2021_parity,
    li2026_excess,
    mwigo2026_mnist,
    trauger2024_majority,
)
from dudley.experiments.base import EXPERIMENTS, Experiment

__all__ = ["EXPERIMENTS", "in_order"]


def in_order() -> list[tuple[str, Experiment]]:
    """All of them by name, the papers' before those beyond them."""
    return sorted(EXPERIMENTS.items(), key=lambda item: (item[0].startswith("beyond"), item[0]))
