"""Dropout, for training: the same network with entries set to zero at random.

It stands outside the description: what is bounded is the network in evaluation mode. Entries are
kept with probability 1 − p and divided by it, by torch's global random numbers.

>>> import dudley as du
>>> from dudley.core.backend import torch
>>> net = with_dropout(du.Residual(du.Activate("relu")), residual=0.5)
>>> _ = torch.manual_seed(0)
>>> sorted(set(net.apply({}, torch.ones(1, 100, 1)).flatten().tolist()))
[1.0, 3.0]
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dudley.calculus.facts import Facts, Signal
from dudley.calculus.nest import Path
from dudley.calculus.node import Node, Part
from dudley.core.backend import torch
from dudley.core.errors import InputError
from dudley.core.lemma import Lemma
from dudley.core.magnitude import Magnitude
from dudley.models.rewrite import rewritten
from dudley.networks.embeddings import Positions
from dudley.networks.normalisers import NormalisedLinear, Normaliser, normaliser


@dataclass(frozen=True)
class Dropped(Node):
    """A node whose output is thinned out; to be trained, not bounded."""

    inner: Node
    p: float
    lemma = Lemma("Dropout", "Not a bound.", "", "")

    def facts(self, signal: Signal) -> Facts:
        raise InputError("network", "one in evaluation mode", "one with dropout")

    def parameters(self, width: int) -> tuple[Any, int]:
        return self.inner.parameters(width)

    def parts(self) -> tuple[Part, ...]:
        return (Part(self.inner, (), "", reads_input=True),)

    def with_parts(self, nodes: Sequence[Node]) -> Node:
        (inner,) = nodes
        return dataclasses.replace(self, inner=inner)

    def apply(self, params: Any, X: Any) -> Any:
        return torch.nn.functional.dropout(self.inner.apply(params, X), self.p)


@dataclass(frozen=True)
class DroppedWeights(Normaliser):
    """A normaliser whose weights are thinned out."""

    inner: Normaliser
    p: float

    def mass(self, ρ: Magnitude, T: float) -> Magnitude:
        raise InputError("attention", "one in evaluation mode", "one with dropout")

    lipschitz = mass

    def apply(self, scores: Any, allowed: Any = None) -> Any:
        weights = self.inner.apply(scores, allowed)
        return torch.nn.functional.dropout(weights, self.p)  # pyright: ignore[reportArgumentType]


def with_dropout(
    node: Node, embedding: float = 0.0, attention: float = 0.0, residual: float = 0.0
) -> Node:
    """Dropout after the positions, on attention weights, and at the end of residual branches."""
    for what, p in (("embedding", embedding), ("attention", attention), ("residual", residual)):
        if not 0 <= p < 1:
            raise InputError(f"dropout of {what}", "a number in [0, 1)", p)

    def change(path: Path, part: Node) -> Node:
        if isinstance(part, Positions):
            return Dropped(part, embedding)
        if part.adds_input:
            return part.with_parts([Dropped(inside.node, residual) for inside in part.parts()])
        if hasattr(part, "attention"):
            inner = normaliser(part.attention)  # pyright: ignore[reportAttributeAccessIssue]
            if isinstance(inner, NormalisedLinear):
                raise InputError(
                    "attention with dropout", "softmax, sparsemax or sigmoid", "linear"
                )
            thinned = DroppedWeights(inner, attention)
            return dataclasses.replace(part, attention=thinned)  # pyright: ignore
        return part

    return rewritten(node, change)
