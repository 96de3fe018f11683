"""What PAC-Bayes around a start declares and finds; it chooses what `methods.pac_bayes` chooses."""

from __future__ import annotations

from dataclasses import dataclass

from dudley.certificates.around.declared import AroundDeclared
from dudley.certificates.around.posterior import RELATIVE
from dudley.core.constraint import size_of
from dudley.core.errors import InputError


@dataclass(frozen=True)
class PacBayesAroundDeclared(AroundDeclared):
    """Scales, forms and draws.

    ``relative`` says how the prior's scales of tensors compare (`around.posterior`), ``scale`` and
    ``grid`` what multiplies them (`methods.pac_bayes.scales`). ``draws`` = K of the weights are
    tried on ``examples`` = m of the examples each; ``share`` of δ is for them.
    """

    relative: str = "size"
    scale: float = 2.0**-5
    grid: str = "one"
    forms: tuple[str, ...] = ("kl",)
    draws: int = 1000
    examples: int = 64
    share: float = 0.05

    def __post_init__(self):
        super().__post_init__()
        if self.relative not in RELATIVE:
            raise InputError("relative", " or ".join(RELATIVE), self.relative)
        if self.relative == "share" and not self.initial:
            fix = "declare initial, a number of examples that are not counted"
            raise InputError("relative", "scales that no example decided", "share", fix)
        size_of("draws", self.draws)
        size_of("examples", self.examples)


@dataclass(frozen=True)
class PacBayesAroundFacts:
    """The divergence, and the failures of drawn weights."""

    n: int
    initial: int
    counted: int
    part: str
    weights: int
    divergence: float
    divergences: dict[str, float]
    draws: int
    examples: int
    mean_failure: float
    mean_failure_at_most: float
    mean_failures: int
    start_sha256: str
