"""What norm-cover declares, chooses and finds."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dudley.certificates.base import MethodDeclared
from dudley.certificates.methods.norm_cover.sets import RECIPES
from dudley.core.errors import InputError

FINEST, COARSEST = 1.001, 1e6  # ratios of a grid: neither endless nor past the floats


@dataclass(frozen=True)
class NormCoverDeclared(MethodDeclared):
    """The grids and the recipes.

    ``ratio`` is that of the grid of norms, ``margin_ratio`` of the grid of margins, ``norms`` the
    recipes among which one may be chosen (ln of their number is paid), ``radius`` the radius of
    clipped rows where it was fixed beforehand and is no power of two.
    """

    ratio: float = math.sqrt(2)
    margin_ratio: float = 2.0**0.125
    norms: tuple[str, ...] = ("sparse", "l1", "l2")
    radius: float | None = None

    def __post_init__(self):
        MethodDeclared.__post_init__(self)
        for name in ("ratio", "margin_ratio"):
            if not FINEST <= getattr(self, name) <= COARSEST:
                expected = f"a number from {FINEST} to {COARSEST:g}"
                raise InputError(f"{name} of norm-cover", expected, getattr(self, name))
        if not self.norms or len(set(self.norms)) != len(self.norms):
            raise InputError("norms", "recipes, each once", list(self.norms))
        for name in self.norms:
            RECIPES[name]


@dataclass(frozen=True)
class NormCoverChoices:
    """The recipe, and j of the margin γ = margin_ratio^j."""

    norms: str
    j: int


@dataclass(frozen=True)
class BlockFacts:
    """One block's part of the cover."""

    block: str
    log_size: float
    resolution: float
    cover: str
    share: float


@dataclass(frozen=True)
class NormCoverFacts:
    """The margin, the errors at it, and the cover at the resolution it leaves."""

    n: int
    errors: int
    errors_at_margin: int
    margin: float
    least_margin: float
    log_cover: float | None
    blocks: tuple[BlockFacts, ...]
    resolution: float
    rounding: float | None
    slope: float
    reduced: tuple[str, ...]
    kl_form: float
