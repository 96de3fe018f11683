"""Norm balls, and the nearest point in them: projected training.

    P(W) = argmin over ‖Z − C‖ ≤ R of ‖Z − W‖_F,   C = 0 or the trial's first weights

for every norm of ``core.norms``, trial by trial (:mod:`magnitudes` has the formulas). What lies
inside stays bit by bit; so does a matrix with entries that are not finite. The rest is computed in
float64 and rounded once to the weights' type, which may leave it outside by a relative u = 2⁻²⁴
(float32), √rank · u for ``op`` and ``nuc``; around a start, by u times the norm of the matrix of
absolute values of the result. A guarantee measures the norm it uses (`dudley.weights`).

``weights`` chooses by name, ``"W_QK"`` or ``"*.1.W_*"`` (``*`` stands for anything; the whole name
or its last part must fit). ``op`` and ``nuc`` need singular values, which wait for the device.

>>> from dudley.core.backend import torch
>>> W = torch.tensor([[[3.0, 0.0], [1.0, 0.5]]])
>>> ball_of({"norm": "l11", "radius": 2.0}).project(W).tolist()
[[[2.0, 0.0], [0.0, 0.0]]]
>>> WeightBall("fro", 1.0, around="start").project(W, W + torch.tensor([2.0, 0.0])).tolist()
[[[4.292893..., 0.0], [2.292893..., 0.5]]]
>>> WeightBall("l12", 1.0)
Traceback (most recent call last):
dudley.core.errors.UnknownName: unknown norm 'l12'; did you mean l2 or l1 or l11?
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dudley.core.backend import torch
from dudley.core.constraint import radius_of
from dudley.core.errors import InputError, UnknownName
from dudley.core.norms import norm_named
from dudley.train.optimise.base import ReadTensors
from dudley.train.optimise.catalogue import make_unit
from dudley.train.optimise.magnitudes import structure


@torch.no_grad()
def project(W: torch.Tensor, norm: str, radius: float | torch.Tensor) -> torch.Tensor:
    """The nearest matrices (…, a, b) in the ball around 0; radius one number or one a matrix."""
    kind = structure(norm)
    X = W.double()
    R = radius.to(X) if isinstance(radius, torch.Tensor) else X.new_full(X.shape[:-2], radius)
    finite = X.isfinite().all(-1).all(-1)
    # What is not finite counts as 0, which lies in every ball.
    sizes, rebuild = kind.parts(torch.where(finite[..., None, None], X, 0.0))
    stays = kind.norm(sizes) <= R
    return torch.where(stays[..., None, None], W, rebuild(kind.capped(sizes, R)).to(W.dtype))


@dataclass(frozen=True)
class WeightBall:
    """The set of weights with ‖W − C‖ ≤ radius, for the weights whose names match."""

    norm: str
    radius: float
    weights: str = "*"
    around: str = "zero"

    def __post_init__(self):
        object.__setattr__(self, "norm", norm_named(self.norm).name)
        radius_of(f"radius of the ball in {self.norm}", self.radius)
        if self.around not in ("zero", "start"):
            raise InputError(f"around of the ball in {self.norm}", "zero or start", self.around)

    @torch.no_grad()
    def project(self, W: torch.Tensor, start: torch.Tensor | None = None) -> torch.Tensor:
        """The nearest point to each W (E, a, b); ``start`` is the centre of a ball around it."""
        if self.around == "zero":
            return project(W, self.norm, self.radius)
        assert start is not None
        centre = start.double()
        moved = W.double() - centre
        nearest = project(moved, self.norm, self.radius)
        stays = (nearest == moved).all(-1).all(-1) | ~moved.isfinite().all(-1).all(-1)
        return torch.where(stays[..., None, None], W, (centre + nearest).to(W.dtype))


def ball_of(config: Mapping[str, Any]) -> WeightBall:
    """A ball from JSON."""
    return make_unit(WeightBall, config, "ball")


def choose_names(pattern: str, weights: ReadTensors) -> list[str]:
    """The names that match, whole or in their last part; a pattern that chooses none is refused."""
    names = [n for n in weights if _fits(n, pattern) or _fits(n.rsplit(".", 1)[-1], pattern)]
    if not names:
        raise UnknownName("weight", pattern, weights)
    return names


def _fits(name: str, pattern: str) -> bool:
    """Is the name the pattern with something in place of each ``*``? (Plain enough to compile.)"""
    *heads, tail = pattern.split("*")
    at = 0
    for k, head in enumerate(heads):
        start = name.find(head, at)
        if start < 0 or (k == 0 and start > 0):
            return False
        at = start + len(head)
    return name.endswith(tail) and len(name) - len(tail) >= at if heads else name == tail
