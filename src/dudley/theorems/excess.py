"""Excess risk of an empirical risk minimiser, from the entropy of its class and what the noise is.

For a loss κ-Lipschitz in the prediction, |f| ≤ A on the class, |f*| ≤ B for the target and
M = κ(A + B), E exc(f̂) is at most

* noise-free (f* minimises the loss at almost every example):  4 R_off(G, 1/2M) + 3 inf_F exc;
* Bernstein (E g² ≤ V·E g, target in the class):               2(2 + M/V) R_off(G, 1/(4V + 2M));
* knowing neither, the slow rate:                              2κ R(F) + inf_F exc;

and never above M. At one scale R_off(G, β) ≤ min_δ log N(δ)/(2βn) + (1 + 2βM)κδ, where covers on
the sample's own points will do; :func:`best` also chains, and uses the direct arguments of
``calculus.offset`` where covers do not depend on the sample.

>>> from dudley.core.entropy import PowerLaw
>>> task = ExcessTask(n=1e6, κ=1.0, A=1.0, B=1.0, noise_free=True)
>>> [round(rule(PowerLaw(1.0, 1.0), task).value, 4) for rule in (derived, best, slow)]
[0.1512, 0.0507, 0.0507]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from dudley.calculus import offset
from dudley.core.assumption import Assumption, Status
from dudley.core.bound import Bound, Sense, Term
from dudley.core.entropy import Entropy
from dudley.theorems.chaining import chained

Numbers = TypeVar("Numbers", float, np.ndarray)

QUANTITY = "excess risk of an empirical risk minimiser"
ASSUMPTIONS = offset.COMMON[:3]


@dataclass(frozen=True)
class ExcessTask:
    """What a bound on the excess risk rests on, besides the class itself."""

    n: float
    κ: float
    A: float
    B: float
    approximation: float = 0.0
    noise_free: bool = False
    V: float = math.inf

    @property
    def M(self) -> float:
        """The largest excess loss κ(A + B): what holds without any theory."""
        return self.κ * (self.A + self.B)

    @property
    def bernstein(self) -> bool:
        """Is the Bernstein condition known, with the target in the class?"""
        return 0 < self.V < math.inf and self.approximation == 0

    @property
    def routes(self) -> list[Route]:
        """The ways to a fast rate that the noise allows."""
        routes = []
        if self.noise_free:
            routes.append(Route(4.0, 1 / (2 * self.M), 3.0, offset.NoiseFree(self.M)))
        if self.bernstein:
            V, M = self.V, self.M
            routes.append(
                Route(2 * (2 + M / V), 1 / (2 * (2 * V + M)), 0.0, offset.Bernstein(V, M))
            )
        return routes


@dataclass(frozen=True)
class Route:
    """E exc ≤ factor · R_off(G, β) + approximation · inf_F exc."""

    factor: float
    β: float
    approximation: float
    condition: offset.NoiseFree | offset.Bernstein

    def at(self, δ: Numbers, log_N: Numbers, task: ExcessTask) -> tuple[Numbers, Numbers]:
        """factor·R_off at one scale: factor·log N(δ)/(2βn), and factor·(1 + 2βM)κδ."""
        complexity = self.factor * log_N / (2 * self.β * task.n)
        return complexity, self.factor * (1 + 2 * self.β * task.M) * task.κ * δ


def derived(entropy: Entropy, task: ExcessTask) -> Bound:
    """At one scale, as the paper argues, where the noise allows it; by Dudley's rule otherwise."""
    if nothing(entropy, task):
        return total(task, 0.0)
    if not task.routes:
        return slow(entropy, task, "dudley")
    return smallest([one_scale(entropy, task, route) for route in task.routes])


def best(entropy: Entropy, task: ExcessTask) -> Bound:
    """The smallest of all that is known here."""
    if nothing(entropy, task):
        return total(task, 0.0)
    bounds = [slow(entropy, task, rule) for rule in ("dudley", "best")]
    for route in task.routes:
        bounds += [one_scale(entropy, task, route), by_chaining(entropy, task, route)]
        if not entropy.uses_points:
            bounds.append(directly(entropy, task, route))
    return smallest(bounds)


def nothing(entropy: Entropy, task: ExcessTask) -> bool:
    """Is there nothing to lose: one member, the best of its class, or predictions cost the same?"""
    return task.M == 0 or entropy.is_single


def one_scale(entropy: Entropy, task: ExcessTask, route: Route) -> Bound:
    """The route at the best δ of a grid."""
    δ = (task.M / task.κ) * np.exp(-np.arange(0, 100, 0.05))
    complexity, resolution = route.at(δ, log_cover(entropy, task)(δ), task)
    i = int(np.argmin(complexity + resolution))
    return total(task, float(complexity[i]), float(resolution[i]), route)


def by_chaining(entropy: Entropy, task: ExcessTask, route: Route) -> Bound:
    """factor·R_off with the offset complexity chained; G is covered at ε by F at ε/κ."""
    covers = log_cover(entropy, task)
    R = offset.chained(lambda ε: covers(ε / task.κ), task.n, route.β, task.M)
    return total(task, route.factor * R, 0.0, route)


def directly(entropy: Entropy, task: ExcessTask, route: Route) -> Bound:
    """Without symmetrisation, for covers that do not depend on the sample."""
    proper = entropy.proper() if isinstance(route.condition, offset.Bernstein) else entropy
    covers = log_cover(proper, task)
    bound = offset.excess(covers, task.n, task.κ, route.condition, task.approximation)
    complexity, resolution, _ = (term.value for term in bound.terms)
    return total(task, complexity, resolution, route)


def slow(entropy: Entropy, task: ExcessTask, rule: str = "best") -> Bound:
    """2κ R(F) + inf_F exc: symmetrisation and contraction, whatever the noise."""
    return total(task, 2 * task.κ * chained(entropy, task.A, task.n, rule))


def log_cover(entropy: Entropy, task: ExcessTask) -> Callable[[np.ndarray], np.ndarray]:
    """ε ↦ log N(ε), infinite past the floats."""

    def covers(ε: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return np.exp(entropy.log_log(np.log(ε), math.log(task.n)))

    return covers


def total(
    task: ExcessTask, complexity: float, resolution: float = 0.0, route: Route | None = None
) -> Bound:
    """The sum of the terms, cut at the trivial bound M."""
    share = 1.0 if route is None else route.approximation
    terms = (
        Term("complexity", complexity),
        Term("resolution", resolution),
        Term("approximation", share * task.approximation),
    )
    fast = () if route is None else route.condition.assumptions
    rate = Assumption("rate", "slow: no condition on the noise was declared", Status.CHECKED)
    return Bound.of(
        min(sum(term.value for term in terms), task.M),
        quantity=QUANTITY,
        sense=Sense.EXPECTATION,
        terms=terms,
        assumptions=fast or (rate,),
        trivial=task.M,
    )


def smallest(bounds: list[Bound]) -> Bound:
    """The least of several bounds, before the trivial one is taken into account."""
    return min(bounds, key=lambda bound: sum(term.value for term in bound.terms))
