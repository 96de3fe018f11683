"""Activation functions with their facts: Lipschitz constant and value at zero.

|σ(x) − σ(y)| ≤ L_σ|x − y| entrywise, so ‖σ(x)‖₂ ≤ L_σ‖x‖₂ + |σ(0)|√width. Constants that are
maxima of smooth derivatives are rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from dudley.calculus import arithmetic
from dudley.core.arrays import erf, namespace
from dudley.core.constraint import radius_of
from dudley.core.errors import InputError
from dudley.core.magnitude import Magnitude
from dudley.core.registry import Registry


@dataclass(frozen=True)
class Activation:
    """σ with its Lipschitz constant, |σ(0)|, and g with |σ(x)| ≤ g|x| + |σ(0)|."""

    name: str
    apply: Callable
    lipschitz: float
    at0: float = 0.0
    growth: float | None = None  # the Lipschitz constant, unless something smaller is known

    def __post_init__(self) -> None:
        for what in ("lipschitz", "at0"):
            radius_of(f"sigma.{what}", getattr(self, what))
        if self.growth is not None:
            radius_of("sigma.growth", self.growth)

    def radius(self, norm: Magnitude, width: int) -> Magnitude:
        """A bound on ‖σ(x)‖₂ for rows of that norm and width."""
        growth = self.lipschitz if self.growth is None else self.growth
        return norm * growth + self.at0 * math.sqrt(width)

    def rounding(self, e: float, size: float, width: int) -> tuple[float, float]:
        """Error and size after σ in float64, of rows of that size that are off by e.

        identity and relu are exact. The others are an entry times a gate in [0, 1], a gate, or a
        sum of two terms below |x| + 1, each within a few operations of ``tanh``, ``erf`` or
        ``exp``: |fl(σ(x)) − σ(x)| ≤ 64u(|x| + 1), the 1 only where σ(0) ≠ 0.
        """
        if self.name not in ACTIVATIONS or ACTIVATIONS[self.name] is not self:
            expected = "a registered one"
            raise InputError("activation with a proven rounding error", expected, self.name)
        there = size + e
        off = 0.0
        if self.name not in ("identity", "relu"):
            off = 64 * arithmetic.U * (there + (math.sqrt(width) if self.at0 > 0 else 0.0))
        return self.lipschitz * e + off, float(self.radius(Magnitude.of(there), width))


ACTIVATIONS: Registry[Activation] = Registry("activation")


def _declare(
    name: str, apply: Callable, lipschitz: float, at0: float = 0.0, growth: float | None = None
) -> None:
    ACTIVATIONS.register(name)(Activation(name, apply, lipschitz, at0, growth))


def _sigmoid(x: Any) -> Any:
    return 0.5 * (1 + namespace(x).tanh(x / 2))


_declare("identity", lambda x: x, 1.0)
_declare("relu", lambda x: x * (x > 0), 1.0)
_declare("leaky-relu", lambda x: x * (x > 0) + 0.01 * x * (x <= 0), 1.0)
_declare("tanh", lambda x: namespace(x).tanh(x), 1.0)
_declare("sigmoid", _sigmoid, 0.25, 0.5)
_declare("gelu", lambda x: x * 0.5 * (1 + erf(x / math.sqrt(2))), 1.12905, growth=1.0)
_declare("swish", lambda x: x * _sigmoid(x), 1.09985, growth=1.0)
_declare(
    "gelu-tanh",  # tanh instead of the normal distribution: gelu_new of GPT-2
    lambda x: x * _sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)),
    1.129,
    growth=1.0,
)
_declare("quick-gelu", lambda x: x * _sigmoid(1.702 * x), 1.09985, growth=1.0)
_declare(
    "softplus",
    lambda x: x * (x > 0) + namespace(x).log1p(namespace(x).exp(-abs(x))),
    1.0,
    math.log(2),
)


def _refuse(x: Any) -> NoReturn:
    raise InputError("sigma", "an activation that can be run", "declared constants only")


def declared(lipschitz: float, at0: float = 0.0) -> Activation:
    """An activation known only by its facts; it can be bounded, not run."""
    return Activation("declared", _refuse, lipschitz, at0)


def activation(σ: str | Activation) -> Activation:
    """An activation by name, or one of the user's own.

    >>> activation("gelu").lipschitz
    1.12905
    """
    if isinstance(σ, Activation):
        return σ
    if not isinstance(σ, str):
        raise InputError("sigma", "a name or an Activation", repr(σ))
    return ACTIVATIONS[σ]
