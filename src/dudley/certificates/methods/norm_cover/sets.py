"""What is read off the weights, and what it costs.

Which numbers are read off each weight is itself a choice: one of ``RECIPES``, or of those of them
that were declared, each a fixed rule. Every number of every weight of every layer and head is then
paid for by itself: norms come certified from above and are moved up to the grid r^j
(`dudley.calculus.union`), and a number of nonzeros s costs ln s(s+1), since Σ 1/(s(s+1)) = 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dudley.calculus.compose import Node
from dudley.calculus.nest import Path, entries, name_of
from dudley.calculus.union import Grid, Payment, observed_numbers, pay
from dudley.certificates.price import Price
from dudley.core.constraint import Ball, Constraint, Observed
from dudley.core.errors import InputError, NotYetPaid
from dudley.core.registry import Registry
from dudley.core.rounding import up

RECIPES: Registry[NormRecipe] = Registry("recipe")


@dataclass(frozen=True)
class NormRecipe:
    """The norms read off a vector and a matrix, and whether nonzeros are counted."""

    vector: tuple[str, ...]
    matrix: tuple[str, ...]
    counts: bool = False


for _name, _recipe in {
    "sparse": NormRecipe(("linf",), ("linf", "op"), counts=True),
    "l1": NormRecipe(("linf", "l11"), ("op", "l11")),
    "l2": NormRecipe(("linf", "fro"), ("op", "fro")),
}.items():
    RECIPES.register(_name)(_recipe)


@dataclass(frozen=True, eq=False)
class Paid:
    """Sets that were paid for, by the paths of their weights, and the network without any."""

    bare: Node
    sets: dict[Path, Constraint]
    payments: tuple[Payment, ...]
    prices: tuple[Price, ...]

    @cached_property
    def network(self) -> Node:
        """The network with these sets; a number that was not paid for is refused."""
        whole = _constrain(self.bare, self.sets)
        if left := observed_numbers(whole):
            raise NotYetPaid(f"{left[0][0]} was read off and not paid for")
        return whole

    def scaled(self, path: Path, norm: str, factor: float) -> Node:
        """The network with one radius multiplied: what it would be worth to train it smaller."""
        old = self.sets[path]
        balls = (replace(b, radius=b.radius * (factor if b.norm == norm else 1)) for b in old.balls)
        return _constrain(self.bare, self.sets | {path: replace(old, balls=tuple(balls))})


def pay_for_sets(
    network: Node, weights: Mapping[str, np.ndarray], recipe: NormRecipe, grid: Grid, width: int
) -> Paid:
    """The sets in which the weights of a network lie, each number moved to its grid."""
    sets: dict[Path, Constraint] = {}
    payments: list[Payment] = []
    prices: list[Price] = []
    for path, parameter in entries(network.parameters(width)[0]):
        name = name_of(path)
        if not parameter.trained:
            raise InputError(f"weight {name}", "a trained one, which a cover counts", "a fixed one")
        seen = around(weights[name], recipe)
        sets[path], made = pay(seen, grid, name)
        if seen.nonzeros is not None:
            s = seen.nonzeros
            prices.append(Price(f"{name}.nonzeros", float(up(math.log(s * (s + 1)))), f"{s}"))
        for p in made:
            if p.used < p.observed:
                raise NotYetPaid(f"{p.where} was rounded down")
            prices.append(Price(p.where, float(up(p.nats)), f"{p.observed:.6g} → {p.used:.6g}"))
        payments += made
    return Paid(network, sets, tuple(payments), tuple(prices))


def _constrain(network: Node, sets: dict[Path, Constraint]) -> Node:
    from dudley.models.constrain import constrained

    return constrained(network, sets)


def around(W: np.ndarray, recipe: NormRecipe) -> Constraint:
    """The balls in which W lies, their radii observed, and how many nonzeros it has.

    >>> print(around(np.array([[3.0], [0.0], [-4.0]]), RECIPES["sparse"]))
    linf ≤ 4 & nonzeros ≤ 2
    """
    from dudley.weights import certified

    norms = certified.norms(W)
    wanted = recipe.vector if 1 in W.shape else recipe.matrix
    count = max(1, int(np.count_nonzero(W))) if recipe.counts else None
    return Constraint(tuple(Ball(n, Observed(norms[n])) for n in wanted), nonzeros=count)
