"""What PAC-Bayes declares, chooses and finds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dudley.certificates.base import MethodDeclared


@dataclass(frozen=True)
class PacBayesDeclared(MethodDeclared):
    """The prior, its scale and grid, forms, pairs, share and radius (`.method` explains each)."""

    prior: dict[str, Any] = field(default_factory=lambda: {"kind": "zero"})
    scale: float = 1.0
    grid: str = "each"
    forms: tuple[str, ...] = ("kl",)
    pairs: int = 100_000
    share: float = 0.05
    radius: float | None = None


@dataclass(frozen=True)
class PacBayesChoices:
    """The exponent of each matrix's prior scale, the form, and its entry."""

    scales: dict[str, int]
    form: str
    option: int


@dataclass(frozen=True)
class PacBayesFacts:
    """The divergence, and the errors of drawn weights."""

    n: int
    seen_by_prior: int
    divergence: float
    divergences: dict[str, float]
    pairs: int
    erring_pairs: int
    mean_error_at_most: float
    prior_sha256: str
    mean_sha256: str
