"""What is chained: the losses of a network, or the vectors before its readout.

Two ways to bound the Rademacher complexity of a loss class. *Covered*: a cover of the network is a
cover of the losses, |loss − centre| ≤ min(b/2, L·A). *Peeled*, for networks that end in ⟨w, y⟩: the
vectors y are covered, and w costs its norm alone (``calculus.peel``). Both hold for every sample,
so the smaller one does.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dudley.calculus import chain, peel
from dudley.calculus.allocate import Allocated
from dudley.calculus.assemble import CoverNames, compose
from dudley.calculus.compose import Chain
from dudley.calculus.facts import Signal
from dudley.calculus.node import Node
from dudley.core.bound import ROUNDING
from dudley.core.entropy import Entropy, PowerLaw
from dudley.core.magnitude import Magnitude
from dudley.networks.explain import power

ONE_MAP = PowerLaw(0.0)  # the entropy of a class with one member


@dataclass(frozen=True, eq=False)
class Chained(ABC):
    """Abstract: a class of radius A, its entropy, and what a link costs."""

    entropy: Entropy
    log_A: float
    _known: dict[bytes, np.ndarray] = field(default_factory=dict, init=False, repr=False)

    @abstractmethod
    def relative(self, log_n: np.ndarray) -> np.ndarray:
        """The complexity in units of A, for each n."""

    @abstractmethod
    def price(self, log_H: np.ndarray, log_n: np.ndarray) -> np.ndarray:
        """What a link costs per unit of its length."""

    def first(self, log_H: np.ndarray, log_n: np.ndarray) -> np.ndarray:
        """What a link from the top costs."""
        return self.price(log_H, log_n)

    def complexity(self, log_n: np.ndarray) -> np.ndarray:
        """A bound on the Rademacher complexity, for each n."""
        key = log_n.tobytes()
        if key not in self._known:
            self._known[key] = self.relative(log_n)
        with np.errstate(over="ignore", divide="ignore"):
            return np.exp(self.log_A + np.log(self._known[key]))

    def links(self, log_n: float) -> list[tuple[float, float]]:
        """The links of the best chain for one n: (log scale, cost), in units of A, top down."""
        price, grid, first = self._table(log_n)
        return chain.best_chain(price, grid, proper=False, first=first)

    def log_unclipped(self, log_n: float) -> float:
        """The log of what the best chain of covers gives, though A itself may be less."""
        price, grid, first = self._table(log_n)
        return self.log_A + math.log(chain.unclipped(price, grid, proper=False, first=first))

    def chosen(self, log_n: float) -> chain.ChosenChain:
        """The chain whose value is the bound for one n."""
        return chain.chosen(self.entropy, self.log_A, log_n, self.price, self.first)

    def _table(self, log_n: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For one n the scales, and what a link to each costs."""
        grid, size = chain.scales(log_n), np.array([log_n])
        log_H = chain.entropies(self.entropy, self.log_A, size, grid)
        return self.price(log_H, size)[:, 0], grid, self.first(log_H, size)[:, 0]


class CoveredNetwork(Chained):
    """All blocks are covered, the readout with them."""

    def relative(self, log_n: np.ndarray) -> np.ndarray:
        return chain.complexity(self.entropy, self.log_A, log_n)

    def price(self, log_H: np.ndarray, log_n: np.ndarray) -> np.ndarray:
        return chain.massart(log_H, log_n)


@dataclass(frozen=True, eq=False)
class PeeledNetwork(Chained):
    """All blocks are covered but the readout, which costs its norm (``calculus.peel``)."""

    reach: float  # of the losses from their centre, in units of A

    def relative(self, log_n: np.ndarray) -> np.ndarray:
        return peel.complexity(self.entropy, self.log_A, log_n, self.reach)

    def price(self, log_H: np.ndarray, log_n: np.ndarray) -> np.ndarray:
        return peel.price(log_H, log_n)

    def first(self, log_H: np.ndarray, log_n: np.ndarray) -> np.ndarray:
        return peel.first(log_H, log_n, self.reach)


def chain_together(ways: Sequence[Chained], log_n: np.ndarray) -> None:
    """Compute these complexities side by side, each as by itself, and remember them."""
    ways = [way for way in ways if way.log_A > -math.inf and not way.entropy.is_single]
    tasks = [chain.ChainTask(way.entropy, way.log_A, log_n, way.price, way.first) for way in ways]
    for way, values in zip(ways, chain.cheapest_of(tasks) if tasks else (), strict=True):
        way._known[log_n.tobytes()] = values


def clipped(ways: Sequence[Chained], complexity: float, log_n: float) -> str:
    """Where 2R is no less than the range of the losses: what the best chain of covers gives."""
    span = 2 * math.exp(min(way.log_A for way in ways))
    if span == 0 or complexity < span * (1 - ROUNDING):
        return ""
    log = math.log(2) + min(way.log_unclipped(log_n) for way in ways)
    chained = power(log) if log < math.inf else "nothing finite"
    return f", clipped at {span:.4g}, the range of the losses: chaining gives {chained}"


def peeled(
    network: Node, signal: Signal, covers: CoverNames, L: float = 1.0, b: float = math.inf
) -> PeeledNetwork | None:
    """L-Lipschitz losses in [0, b] of a network that ends in a readout other than 0, if it does."""
    *nodes, last = [part.node for part in network.stages()]
    body = Chain(tuple(nodes))
    facts = body.facts(signal)
    w = last.functional(facts.out.width)
    if w is None:
        return None
    factor = w.norm("fro") * L
    A = factor * facts.out.radius
    if not -np.inf < A.log < np.inf:
        return None
    entropy = stretched(compose(body, signal, covers)[0], factor) if facts.uses else ONE_MAP
    reach = min(1.0, math.exp(min(0.0, math.log(b / 2) - A.log)))
    return PeeledNetwork(entropy, float(A.log), reach)


def stretched(entropy: Allocated, factor: Magnitude | float) -> Allocated:
    """The entropy of the same outputs times a number."""
    log = float(factor.log) if isinstance(factor, Magnitude) else math.log(factor)
    blocks = tuple(replace(b, weight=b.weight * factor) for b in entropy.blocks)
    return Allocated(blocks, entropy.log_output + log)
