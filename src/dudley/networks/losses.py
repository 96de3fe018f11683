"""Losses: the last node. What matters is the range and the Lipschitz constant.

The loss class is chained after subtracting ℓ(y, ·) at a fixed predictor or the middle of the
range, which does not change a Rademacher complexity; so |loss − centre| ≤ min(b/2, L·A) and no
contraction lemma of unknown constant is needed, for margins, clipped and multi-class losses alike.
Losses of one number are contracted as well, with constant 1, where a readout can be peeled.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dudley.core.constraint import radius_of
from dudley.core.errors import InputError


@dataclass(frozen=True)
class Loss:
    """A loss with values in [0, range], ``lipschitz`` in the network's output.

    For one output number the output is measured by its absolute value, for logits by the largest
    coordinate.
    """

    lipschitz: float = 1.0
    range: float = 1.0
    name: str = "a 1-Lipschitz loss in [0, 1]"

    def __post_init__(self) -> None:
        for what in ("lipschitz", "range"):
            if radius_of(f"loss.{what}", getattr(self, what)) == 0:
                raise InputError(f"loss.{what}", "a number > 0", 0)


@dataclass(frozen=True)
class Margin:
    """The ramp: 1 at margin ≤ 0, 0 at margin ≥ γ. Its risk bounds the classification error.

    The training loss is at most the share of examples with margin below γ. On logits the margin
    y_c − max of the others moves by at most twice the largest coordinate (``multiclass``).
    """

    margin: float = field(metadata={"round": "down"})
    multiclass: bool = False
    range = 1.0

    def __post_init__(self) -> None:
        if radius_of("margin", self.margin) == 0:
            raise InputError("margin", "a number > 0", 0)

    @property
    def lipschitz(self) -> float:
        return (2.0 if self.multiclass else 1.0) / self.margin

    @property
    def name(self) -> str:
        return f"the ramp at margin {float(self.margin):g}"


@dataclass(frozen=True)
class CrossEntropy:
    """min(cross-entropy, clip): 2-Lipschitz in the largest logit (trauger2024, appendix G)."""

    clip: float
    lipschitz = 2.0

    def __post_init__(self) -> None:
        if radius_of("clip", self.clip) == 0:
            raise InputError("clip", "a number > 0", 0)

    @property
    def range(self) -> float:
        return float(self.clip)

    @property
    def name(self) -> str:
        return f"cross-entropy clipped at {self.range:g}"
