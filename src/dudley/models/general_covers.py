"""What a general attention head is covered by: linear maps on tokens of a stated radius.

A general head takes the entropies of its scores and inner values as they are, so they hold only for
the tokens they were made for; ``ForTokens`` lets in no others.

>>> import dudley as du
>>> from dudley.calculus.facts import Parameter
>>> OnTokens(Parameter((4, 4), du.Spectral(1.0)), factor=3.0)(3.0)  # the radius: one point
0.0
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dudley.calculus.facts import Facts, Parameter, Signal
from dudley.calculus.node import Node
from dudley.classes.best import BestOf
from dudley.core.entropy import Entropy
from dudley.core.errors import InputError
from dudley.networks.general import GeneralHead
from dudley.networks.pointwise import expect_width


@dataclass(frozen=True)
class OnTokens(Entropy):
    """The entropy of x ↦ xW, or of (x, z) ↦ xWzᵀ, times ``factor``.

    It follows its parameter: where a norm is rounded up to a grid, so is what is covered.
    """

    parameter: Parameter
    factor: float
    form: str = "linear"
    rows: float = 1
    l1: float | None = None

    @cached_property
    def covers(self) -> BestOf:
        best = self.parameter.map.entropy(self.form, self.rows, self.rows, self.l1)
        return best.scaled(self.factor)

    @property
    def log_radius(self) -> float:
        return self.covers.log_radius

    @property
    def uses_points(self) -> bool:
        return self.covers.uses_points

    def log_log(self, log_ε: Any, log_n: float | None = None) -> np.ndarray:
        return self.covers.log_log(log_ε, log_n)

    def proper(self) -> Entropy:
        return self.covers.proper()

    def parts(self) -> tuple[Entropy, ...]:
        return self.covers.parts()

    def unit(self) -> Entropy:
        return self.covers.unit()


@dataclass(frozen=True)
class ForTokens(Node):
    """A general head whose covers were made for T tokens of this radius: no others are let in."""

    inner: GeneralHead
    d: int
    radius: float
    T: float
    l1: float | None
    lemma = GeneralHead.lemma

    def facts(self, signal: Signal) -> Facts:
        expect_width("general head", self.d, signal)
        known = self.l1 is None or (signal.l1 is not None and signal.l1 <= self.l1)
        if not (float(signal.radius) <= self.radius and signal.rows <= self.T and known):
            raise InputError(
                "inputs of a general head",
                f"at most {self.T:g} tokens of norm at most {self.radius:g}, for which it was "
                "described",
                f"{signal.rows:g} of norm {float(signal.radius):g}",
                "describe it for these inputs",
            )
        return self.inner.facts(signal)

    def parameters(self, width: int) -> tuple[dict[str, Parameter], int]:
        return self.inner.parameters(width)

    def apply(self, params: Any, X: Any) -> Any:
        return self.inner.apply(params, X)
