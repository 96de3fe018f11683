"""Penalties λ‖W‖ that make weights sparse, in columns, or of low rank: values and proximal steps.

    prox(W) = argmin over Z of ½‖Z − W‖_F² + rate · λ‖Z‖

* ``l11``: entries move towards 0 by rate · λ (soft threshold); ``row21``, ``col21``: whole rows,
  columns; ``fro``: the whole matrix; ``nuc``: singular values.

A proximal step after a descent step is the proximal gradient method (with any other optimiser it is
a proximal step in the Euclidean metric, not in the optimiser's own). What it sets to 0 is 0 exactly
(singular values: up to rounding). ``value`` has gradients, for those who add it to the loss. As for
balls, a matrix that is not finite stays, and the work is done in float64 and rounded once.

N. Parikh and S. Boyd, *Proximal algorithms* (2014), §6.5 and §6.7.3.

>>> from dudley.core.backend import torch
>>> W = {"head.W_v": torch.tensor([[[3.0, 0.25]], [[1.0, 1.0]]])}
>>> ell1 = penalty_of({"norm": "l11", "strength": 0.5, "weights": "W_v"})
>>> ell1.value(W).tolist()
[1.625, 1.0]
>>> ell1.proximal(W["head.W_v"], torch.tensor([1.0, 0.1])).flatten(1).tolist()
[[2.5, 0.0], [0.949999..., 0.949999...]]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dudley.core.backend import torch
from dudley.core.constraint import radius_of
from dudley.core.errors import InputError
from dudley.core.norms import norm_named
from dudley.train.optimise.balls import choose_names
from dudley.train.optimise.base import ReadTensors, per_trial
from dudley.train.optimise.catalogue import make_unit
from dudley.train.optimise.magnitudes import structure

SUMS = ("l11", "row21", "col21", "fro", "nuc")  # norms that are sums of the sizes of parts


@dataclass(frozen=True)
class Penalty:
    """strength · ‖W‖ for each weight whose name matches."""

    norm: str
    strength: float
    weights: str = "*"

    def __post_init__(self):
        object.__setattr__(self, "norm", norm_named(self.norm).name)
        if self.norm not in SUMS:
            raise InputError("norm of a penalty", f"one of {', '.join(SUMS)}", self.norm)
        radius_of(f"strength of the penalty on {self.norm}", self.strength)

    def value(self, weights: ReadTensors) -> torch.Tensor:
        """strength · Σ‖W‖ over the chosen weights of each trial, (E,) float64, with gradients."""
        norms = [self._norm(weights[name].double()) for name in choose_names(self.weights, weights)]
        return self.strength * torch.stack(norms).sum(0)

    def _norm(self, W: torch.Tensor) -> torch.Tensor:
        return structure(self.norm).sizes(W).flatten(1).sum(1)

    @torch.no_grad()
    def proximal(self, W: torch.Tensor, rate: torch.Tensor) -> torch.Tensor:
        """The proximal point of each trial's W (E, a, b) at its rate (E,)."""
        X = W.double()
        finite = X.isfinite().all(-1).all(-1)[..., None, None]
        sizes, rebuild = structure(self.norm).parts(torch.where(finite, X, 0.0))
        shrunk = (sizes - self.strength * per_trial(rate.double(), sizes)).clamp(min=0)
        return torch.where(finite, rebuild(shrunk).to(W.dtype), W)


def penalty_of(config: Mapping[str, Any]) -> Penalty:
    """A penalty from JSON."""
    return make_unit(Penalty, config, "penalty")
