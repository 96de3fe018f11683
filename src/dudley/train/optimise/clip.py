"""Gradient clipping, trial by trial: one norm over all weights of a trial.

    g ← g · min(1, limit / (‖g‖ + 10⁻⁶)),   ‖g‖² = Σ over all weights of the trial's squares

which is torch.nn.utils.clip_grad_norm_ on each trial alone, with its 10⁻⁶ (so that a gradient just
at the limit shrinks by a millionth). R. Pascanu et al., ICML 2013, algorithm 1.

>>> from dudley.core.backend import torch
>>> grads = {"W": torch.tensor([[[3.0]], [[0.3]]]), "b": torch.tensor([[[4.0]], [[0.4]]])}
>>> clip(grads, 1.0).tolist()
[5.0, 0.5]
>>> [round(g, 4) for g in grads["W"].flatten().tolist()]
[0.6, 0.3]
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dudley.core.backend import torch
from dudley.core.constraint import radius_of
from dudley.train.optimise.base import OPTIMISERS, Optimiser, ReadTensors, per_trial
from dudley.train.optimise.catalogue import read_by

SMALL = 1e-6  # added to the norm


@torch.no_grad()
def clip(grads: ReadTensors, limit: float) -> torch.Tensor:
    """Scale every trial's gradients to norm ``limit`` at most, in place; the norms before, (E,)."""
    norms = [torch.linalg.vector_norm(G.flatten(1), dim=1) for G in grads.values()]
    total = torch.linalg.vector_norm(torch.stack(norms), dim=0)
    factor = (limit / (total + SMALL)).clamp(max=1.0)
    for G in grads.values():
        G.mul_(per_trial(factor, G))
    return total


@OPTIMISERS.register("clipped")
@dataclass(frozen=True)
class Clipped(Optimiser):
    """Any optimiser; it follows clipped gradients."""

    # what is told the clipped gradients
    optimiser: Optimiser = field(metadata=read_by(OPTIMISERS.of))
    limit: float = 1.0  # largest ℓ2 norm of a trial's gradient

    def __post_init__(self):
        radius_of("limit of clipped", self.limit)

    @property
    def first_rate(self) -> float:
        return self.optimiser.first_rate

    @property
    def capturable(self) -> bool:
        return self.optimiser.capturable

    @property
    def entrywise(self) -> bool:
        return self.optimiser.entrywise

    def start(self, weights: ReadTensors) -> dict[str, torch.Tensor]:
        return self.optimiser.start(weights)

    def update(self, weights, grads, state, rate, alive, decayed):
        clip(grads, self.limit)
        self.optimiser.update(weights, grads, state, rate, alive, decayed)
