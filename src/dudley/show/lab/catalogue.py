"""Every experiment's figures: importing this module fills the registry of sketches."""

from __future__ import annotations

from dudley.show.lab import (  # noqa: F401
    beyond,
    edelman2021_and,
    edelman2021_and_far,
    edelman2021_parity,
    li2026_excess,
    mwigo2026_mnist,
    trauger2024_majority,
)
from dudley.show.lab.plain import plain
from dudley.show.lab.sketch import SKETCHES

__all__ = ["SKETCHES", "plain"]
