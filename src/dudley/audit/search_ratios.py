"""The ratios of what a search reached to what a network declares, by radius and by mode.

A ratio above 1 refutes a declared fact; one far below 1 says that the fact, or the search, is
loose. ``where`` holds the weights, the moved weights, the rows and the moved rows of each ratio.

>>> reached = SearchRatios({(1.0, "radius"): 0.9}, declared={(1.0, "radius"): 2.0})
>>> print(reached)
       R  mode                declared     found  ratio
       1  radius                     2       1.8  0.900
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

TOLERANCE = 1e-6


@dataclass
class SearchRatios:
    """The largest ratio of reached to declared, by radius R and mode, and where it is reached."""

    ratios: dict[tuple[float, str], float] = field(default_factory=dict)
    where: dict[tuple[float, str], tuple] = field(default_factory=dict)
    declared: dict[tuple[float, str], float] = field(default_factory=dict)

    def worst(self) -> dict[str, float]:
        """The largest ratio over radii, by mode."""
        best: dict[str, float] = {}
        for (_, mode), ratio in self.ratios.items():
            best[mode] = max(best.get(mode, 0.0), ratio)
        return best

    def exceeded(self, tolerance: float = TOLERANCE) -> dict[tuple[float, str], float]:
        """The ratios above 1: declared facts that are false."""
        return {key: ratio for key, ratio in self.ratios.items() if not ratio <= 1 + tolerance}

    def __str__(self) -> str:
        lines = [f"{'R':>8}  {'mode':<16} {'declared':>11} {'found':>9}  ratio"]
        for (R, mode), ratio in self.ratios.items():
            declared = self.declared.get((R, mode), math.nan)
            numbers = (
                f"{'':>11} {'':>9}"
                if math.isnan(declared)
                else f"{declared:>11.4g} {declared * ratio:>9.4g}"
            )
            flag = "  above what is declared" if (R, mode) in self.exceeded() else ""
            lines.append(f"{R:>8.4g}  {mode:<16} {numbers}  {ratio:.3f}{flag}")
        return "\n".join(lines)
