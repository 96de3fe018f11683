"""How scores become attention weights.

A normaliser declares, for scores s ∈ [−ρ, ρ] over at most T tokens: the *mass*, sup ‖a(s)‖₁, and
its Lipschitz constant from ℓ∞ (scores) to ℓ1 (weights) on that range.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dudley.core.arrays import arange_like, namespace, sorted_descending
from dudley.core.constraint import radius_of
from dudley.core.errors import InputError
from dudley.core.magnitude import ONE, UNKNOWN, Magnitude
from dudley.core.registry import Registry


class Normaliser(ABC):
    """Abstract: scores → weights on tokens."""

    @abstractmethod
    def mass(self, ρ: Magnitude, T: float) -> Magnitude:
        """sup of the sum of the absolute weights."""

    @abstractmethod
    def lipschitz(self, ρ: Magnitude, T: float) -> Magnitude:
        """sup of ‖a(s) − a(s′)‖₁ / ‖s − s′‖_∞."""

    @abstractmethod
    def apply(self, scores: Any, allowed: Any = None) -> Any:
        """Weights along the last axis; ``allowed`` is a boolean mask."""

    sums_to_one: bool = False  # weights sum to one, so adding one row to all values adds that row
    shift_invariant: bool = False  # adding one number to all scores of a query changes nothing
    entrywise: bool = False  # no single weight exceeds mass/T


NORMALISERS: Registry[Callable[[], Normaliser]] = Registry("normaliser")


@NORMALISERS.register("softmax")
@dataclass(frozen=True)
class Softmax(Normaliser):
    """Mass 1; ‖softmax(s) − softmax(s′)‖₁ ≤ 2 tanh(‖s − s′‖_∞/2) ≤ ‖s − s′‖_∞.

    The Jacobian's norm from ℓ∞ to ℓ1 is max 4q(1−q) = 1, so the constant 1 is sharp; the papers'
    constant 2 (edelman2021 Corollary A.7, trauger2024 Lemma C.1) is available by name.
    """

    constant: float = 1.0
    sums_to_one = shift_invariant = True

    def __post_init__(self) -> None:
        if self.constant not in (1, 2):
            raise InputError("softmax constant", "1 (sharp) or 2 (the papers')", self.constant)

    def mass(self, ρ: Magnitude, T: float) -> Magnitude:
        return ONE

    def lipschitz(self, ρ: Magnitude, T: float) -> Magnitude:
        return Magnitude.of(self.constant if T > 1 else 0.0)

    def apply(self, scores: Any, allowed: Any = None) -> Any:
        xp = namespace(scores)
        if allowed is not None:
            scores = xp.where(allowed, scores, -xp.inf)
        e = xp.exp(scores - xp.amax(scores, axis=-1, keepdims=True))
        return e / xp.sum(e, axis=-1, keepdims=True)


NORMALISERS.register("softmax-papers")(lambda: Softmax(2.0))


@NORMALISERS.register("sparsemax")
@dataclass(frozen=True)
class Sparsemax(Normaliser):
    """Euclidean projection of the scores onto the simplex (Martins & Astudillo 2016).

    On a support of s tokens the Jacobian is I − 11ᵀ/s, whose norm from ℓ∞ to ℓ1 is s (s − 1/s for
    odd s): mass 1, Lipschitz T or T − 1/T. No bound free of the sequence length exists for it in
    these norms.
    """

    sums_to_one = shift_invariant = True

    def mass(self, ρ: Magnitude, T: float) -> Magnitude:
        return ONE

    def lipschitz(self, ρ: Magnitude, T: float) -> Magnitude:
        return Magnitude.of(T - 1 / T if T % 2 else T)

    def apply(self, scores: Any, allowed: Any = None) -> Any:
        xp = namespace(scores)
        if allowed is not None:
            lowest = xp.amin(scores, axis=-1, keepdims=True)
            scores = xp.where(allowed, scores, lowest - 2)  # never in the support
        ordered = sorted_descending(scores)
        ranks = arange_like(1, scores.shape[-1] + 1, scores)
        sums = xp.cumsum(ordered, axis=-1)
        inside = 1 + ranks * ordered > sums
        size = xp.sum(inside, axis=-1, keepdims=True)
        total = xp.sum(xp.where(inside, ordered, 0 * ordered), axis=-1, keepdims=True)
        excess = scores - (total - 1) / size
        return excess * (excess > 0)


@NORMALISERS.register("sigmoid")
@dataclass(frozen=True)
class Sigmoid(Normaliser):
    """a_t = 1/(1 + T e^{−s_t}): the logistic function with bias −log T, unnormalised.

    Each weight is at most a = e^ρ/(e^ρ + T), so the mass is Ta; the Jacobian is diagonal with
    entries a(1−a) while a ≤ 1/2 and 1/4 beyond: Lipschitz (Ta)²e^{−ρ} if ρ ≤ log T, else T/4.
    """

    entrywise = True

    def mass(self, ρ: Magnitude, T: float) -> Magnitude:
        return T / (1 + T * _exp(ρ, -1))

    def lipschitz(self, ρ: Magnitude, T: float) -> Magnitude:
        rising = self.mass(ρ, T) ** 2 * _exp(ρ, -1)
        steepest = Magnitude.of(T / 4)
        small = ρ.log <= math.log(max(math.log(T), 1e-300))
        return Magnitude(np.where(small, rising.log, steepest.log)[()])

    def apply(self, scores: Any, allowed: Any = None) -> Any:
        weights = 0.5 * (1 + namespace(scores).tanh((scores - math.log(scores.shape[-1])) / 2))
        return weights if allowed is None else weights * allowed


def _exp(x: Magnitude, sign: int) -> Magnitude:
    """e^{±x}."""
    with np.errstate(over="ignore"):
        return Magnitude(sign * np.exp(x.log))


@NORMALISERS.register("linear")
@dataclass(frozen=True)
class NormalisedLinear(Normaliser):
    """a_t = s_t / Σ s for scores s_t = φ(q)·φ(k_t) > 0, φ = 1 + elu (Katharopoulos et al. 2020).

    The weights are softmax(log s), and |(log φ)′| ≤ 1, so log s_t moves by at most
    ‖Δq‖_∞ + ‖Δk_t‖_∞ and ‖Δa‖₁ ≤ ‖Δq‖ + max_t ‖Δk_t‖: what matters is not a range of scores but
    queries and keys themselves, so only an attention that knows them can use it; mass 1.
    """

    sums_to_one = True

    def mass(self, ρ: Magnitude, T: float) -> Magnitude:
        return ONE

    def lipschitz(self, ρ: Magnitude, T: float) -> Magnitude:
        return UNKNOWN

    def apply(self, scores: Any, allowed: Any = None) -> Any:
        xp = namespace(scores)
        if allowed is not None:
            scores = scores * allowed
        return scores / xp.sum(scores, axis=-1, keepdims=True)

    @staticmethod
    def features(x: Any) -> Any:
        """φ(x) = 1 + elu(x) = x + 1 for x > 0, e^x else; 1-Lipschitz, φ(0) = 1."""
        xp = namespace(x)
        return xp.where(x > 0, x + 1, xp.exp(x * (x <= 0)))


@dataclass(frozen=True)
class Declared(Normaliser):
    """A normaliser known only by its declared constants; it can be bounded, not run."""

    constant: float
    total: float = 1.0

    def __post_init__(self) -> None:
        radius_of("attention.lipschitz", self.constant)
        radius_of("attention.mass", self.total)

    def mass(self, ρ: Magnitude, T: float) -> Magnitude:
        return Magnitude.of(self.total)

    def lipschitz(self, ρ: Magnitude, T: float) -> Magnitude:
        return Magnitude.of(self.constant)

    def apply(self, scores: Any, allowed: Any = None) -> Any:
        raise InputError("attention", "a normaliser that can be run", "declared constants only")


def normaliser(name: str | Normaliser) -> Normaliser:
    """A normaliser by name, or one of the user's own."""
    if isinstance(name, Normaliser):
        return name
    if not isinstance(name, str):
        raise InputError("attention", "a name or a Normaliser", repr(name))
    return NORMALISERS[name]()
