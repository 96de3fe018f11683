"""Adam and AdamW.

    m ← β₁m + (1−β₁)g        v ← β₂v + (1−β₂)g²
    W ← W − rate · (m/(1−β₁ᵗ)) / (√(v/(1−β₂ᵗ)) + eps)

with t the trial's own number of steps. ``Adam`` adds weight_decay · W to the gradient first (an ℓ2
penalty, as torch.optim.Adam does); ``AdamW`` multiplies the decaying weights by
1 − rate · weight_decay instead (decoupled; what minGPT uses, on its matrices only).

D. Kingma and J. Ba, *Adam*, ICLR 2015, algorithm 1; I. Loshchilov and F. Hutter, *Decoupled weight
decay regularization*, ICLR 2019, algorithm 2.

>>> from dudley.core.backend import torch
>>> weights = {"W": torch.zeros(1, 1, 2)}
>>> adam = Adam(lr=0.1)
>>> state = adam.start(weights)
>>> grads = {"W": torch.tensor([[[5.0, -0.01]]])}
>>> adam.update(weights, grads, state, torch.full((1,), adam.lr), torch.tensor([True]), {})
>>> [round(w, 4) for w in weights["W"].flatten().tolist()]  # whatever the gradient's size
[-0.1, 0.1]
>>> sorted(state)
['first.W', 'second.W', 'step']
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dudley.core.backend import torch
from dudley.core.constraint import radius_of
from dudley.core.errors import InputError
from dudley.train.optimise.base import OPTIMISERS, fraction
from dudley.train.optimise.entrywise import Entrywise


@OPTIMISERS.register("adam")
@dataclass(frozen=True)
class Adam(Entrywise):
    """Adam; weight decay is an ℓ2 penalty."""

    lr: float = 1e-3  # rate before any schedule
    betas: tuple[float, float] = (0.9, 0.999)  # decay of the first and of the second moment
    eps: float = 1e-8  # added to the root of the second moment
    weight_decay: float = 0.0  # coefficient of the ℓ2 penalty

    slots = ("first", "second")

    def __post_init__(self):
        _check(self)

    def factors(self, rate, step):
        return _corrections(self.betas, rate, step)

    def move(self, W, G, slots, factors, decays):
        if decays:
            G = G.add(W, alpha=self.weight_decay)
        _follow(W, G, slots, factors, self.betas, self.eps)


@OPTIMISERS.register("adamw")
@dataclass(frozen=True)
class AdamW(Entrywise):
    """Adam; weight decay shrinks the weights beside it."""

    lr: float = 1e-3  # rate before any schedule
    betas: tuple[float, float] = (0.9, 0.999)  # decay of the first and of the second moment
    eps: float = 1e-8  # added to the root of the second moment
    weight_decay: float = 0.01  # share of a weight, times the rate, taken off in a step

    slots = ("first", "second")

    def __post_init__(self):
        _check(self)

    def factors(self, rate, step):
        return (*_corrections(self.betas, rate, step), 1 - rate * self.weight_decay)

    def move(self, W, G, slots, factors, decays):
        *corrections, shrink = factors
        if decays:
            W.mul_(shrink)
        _follow(W, G, slots, corrections, self.betas, self.eps)


def _corrections(betas, rate, step):
    """rate/(1−β₁ᵗ) and √(1−β₂ᵗ)."""
    first, second = (-torch.expm1(step * (math.log(β) if β else -math.inf)) for β in betas)
    return rate / first, second.sqrt()


def _follow(W, G, slots, factors, betas, eps):
    (first, second), (size, root) = slots, factors
    first.lerp_(G, 1 - betas[0])
    second.mul_(betas[1]).addcmul_(G, G, value=1 - betas[1])
    below = second.sqrt().div_(root).add_(eps)
    W.addcmul_(size, torch.div(first, below, out=below), value=-1)


def _check(unit: Adam | AdamW) -> None:
    for field in ("lr", "eps", "weight_decay"):
        radius_of(f"{field} of {unit.name}", getattr(unit, field))
    if not isinstance(unit.betas, tuple) or len(unit.betas) != 2:
        raise InputError(f"betas of {unit.name}", "two numbers in [0, 1)", unit.betas)
    for β in unit.betas:
        fraction(f"betas of {unit.name}", β)
