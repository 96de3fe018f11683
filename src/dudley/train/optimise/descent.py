"""Gradient descent, plain or with momentum.

    v ← μv + g,  W ← W − rate · v            (Nesterov: W ← W − rate · (g + μv))

as torch.optim.SGD. Keras keeps the rate inside the velocity (``rate_inside``), which is another
trajectory once the rate changes:

    v ← μv + rate · g,  W ← W − v            (Nesterov: W ← W − (rate · g + μv))

Weight decay is an ℓ2 penalty: weight_decay · W is added to the gradient of what decays. Whether the
gradient is of a batch or of all data is no matter of the optimiser: ``gd`` is the rule with nothing
remembered.

B. Polyak, USSR Comput. Math. Math. Phys. 4 (1964) 1–17; I. Sutskever et al., ICML 2013.

>>> from dudley.core.backend import torch
>>> weights, on = {"W": torch.zeros(1, 1, 1)}, torch.tensor([True])
>>> sgd = SGD(lr=0.1, momentum=0.9)
>>> state = sgd.start(weights)
>>> for _ in range(2):
...     sgd.update(weights, {"W": torch.ones(1, 1, 1)}, state, torch.tensor([sgd.lr]), on, {})
>>> round(float(weights["W"]), 6)  # −.1 − .1 · 1.9
-0.29
"""

from __future__ import annotations

from dataclasses import dataclass

from dudley.core.constraint import radius_of
from dudley.core.errors import InputError
from dudley.train.optimise.base import OPTIMISERS, fraction
from dudley.train.optimise.entrywise import Entrywise


@OPTIMISERS.register("sgd")
@dataclass(frozen=True)
class SGD(Entrywise):
    """Descent with momentum μ."""

    lr: float = 1e-2  # rate before any schedule
    momentum: float = 0.9  # share of the velocity that stays, μ
    nesterov: bool = False  # is the gradient taken ahead?
    rate_inside: bool = False  # is the rate part of the velocity, as in Keras?
    weight_decay: float = 0.0  # coefficient of the ℓ2 penalty

    slots = ("velocity",)

    def __post_init__(self):
        for field in ("lr", "weight_decay"):
            radius_of(f"{field} of sgd", getattr(self, field))
        fraction("momentum of sgd", self.momentum)
        for field in ("nesterov", "rate_inside"):
            if not isinstance(getattr(self, field), bool):
                raise InputError(f"{field} of sgd", "true or false", getattr(self, field))

    def factors(self, rate, step):
        return (rate,)

    def move(self, W, G, slots, factors, decays):
        (velocity,), (rate,) = slots, factors
        if decays:
            G = G.add(W, alpha=self.weight_decay)
        if self.rate_inside:
            G = G * rate
        velocity.mul_(self.momentum).add_(G)
        way = G.add(velocity, alpha=self.momentum) if self.nesterov else velocity
        W.sub_(way) if self.rate_inside else W.addcmul_(rate, way, value=-1)


@OPTIMISERS.register("gd")
@dataclass(frozen=True)
class GradientDescent(Entrywise):
    """Plain descent: W ← W − rate · g."""

    lr: float = 0.1  # rate before any schedule
    weight_decay: float = 0.0  # coefficient of the ℓ2 penalty

    def __post_init__(self):
        for field in ("lr", "weight_decay"):
            radius_of(f"{field} of gd", getattr(self, field))

    def factors(self, rate, step):
        return (rate,)

    def move(self, W, G, slots, factors, decays):
        (rate,) = factors
        W.addcmul_(rate, G.add(W, alpha=self.weight_decay) if decays else G, value=-1)
