"""Alarms of a network: which levels its norm layers have, and what they do on given rows.

A level (``LayerNorm.least_std``) says that rows have that standard deviation or more; what a bound
makes of it stands in ``dudley.calculus.augment``. Whether an example gives alarm is a matter of the
*plain* network, the one without levels:

>>> import numpy as np
>>> import dudley as du
>>> net = du.LayerNorm(2, 1e-5, least_std=0.5) >> du.Readout(du.L2(1.0))
>>> rows = np.array([[[1.0, -1.0]], [[0.1, -0.1]]])  # two examples of one row each
>>> least_stds(net, [{}, {"w": np.ones((2, 1))}], rows)
array([[1. ],
       [0.1]])
>>> alarmed(net, [{}, {"w": np.ones((2, 1))}], rows)
array([False,  True])
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dudley.calculus.facts import Facts, Signal
from dudley.calculus.node import Node, Part
from dudley.core.arrays import namespace
from dudley.core.errors import InputError
from dudley.networks.pointwise import LayerNorm

LEVELS = {"layer-norm": "least_std", "rms-norm": "least_rms"}  # what a file calls the level


def norm_layers(network: Node) -> Iterator[LayerNorm]:
    """The norm layers of a network in the order of computation, one for each time it runs."""
    if isinstance(network, LayerNorm):
        yield network
    for part in network.parts():
        yield from norm_layers(part.node)


def with_norm_layers(network: Node, change: Callable[[LayerNorm], Node]) -> Node:
    """The network with a change of each norm layer, called in the order of ``norm_layers``."""
    if isinstance(network, LayerNorm):
        return change(network)
    nodes = [with_norm_layers(part.node, change) for part in network.parts()]
    return network.with_parts(nodes) if nodes else network


def set_level(tables: dict, level: float) -> None:
    """Give the tables of a network file this level, wherever they describe a norm layer."""
    if not _set_level(tables, level, ""):
        raise InputError("ln.least_std", "a network with norm layers", "none")


def _set_level(part: Any, level: float, key: str) -> bool:
    """The same below a key; were there any?"""
    if isinstance(part, list):
        return any([_set_level(entry, level, key) for entry in part])
    if not isinstance(part, dict):
        return False
    kind = part.get("node", "layer-norm" if key == "ln" else "")
    inside = any([_set_level(value, level, name) for name, value in part.items()])
    if kind in LEVELS:
        part[LEVELS[kind]] = level
    return inside or kind in LEVELS


def levels(network: Node) -> str:
    """The levels of a network's norm layers for people: 0.5, or 0.25 … 0.7."""
    values = [float(layer.least_std) for layer in norm_layers(network) if layer.least_std]
    ends = dict.fromkeys(f"{end(values):.4g}" for end in (min, max) if values)
    return " … ".join(ends) or "of a node that is not ours"


def least_stds(network: Node, params: Any, X: Any) -> np.ndarray:
    """The least standard deviation (RMSNorm: root mean square) that each norm layer reads.

    Of the plain network on X of shape (n, T, d): an array of a row for each example, a column for
    each norm layer in the order of computation.
    """
    least: list[np.ndarray] = []
    gauged = with_norm_layers(network, lambda layer: Gauge(replace(layer, least_std=0.0), least))
    gauged.apply(params, X)
    return np.stack(least, axis=-1)


def alarmed(network: Node, params: Any, X: Any) -> np.ndarray:
    """Which examples have a row below the level of the norm layer that reads it."""
    levels = np.array([float(layer.least_std) for layer in norm_layers(network)])
    return np.any(least_stds(network, params, X) < levels, axis=-1)


@dataclass(frozen=True)
class Gauge(Node):
    """A norm layer that notes the least standard deviation of each example; to be run."""

    inner: LayerNorm
    least: list[np.ndarray]
    lemma = LayerNorm.lemma

    def facts(self, signal: Signal) -> Facts:
        return self.inner.facts(signal)

    def parameters(self, width: int) -> tuple[Any, int]:
        return self.inner.parameters(width)

    def parts(self) -> tuple[Part, ...]:
        return (Part(self.inner, (), "", reads_input=True),)

    def with_parts(self, nodes: Sequence[Node]) -> Node:
        (inner,) = nodes
        return replace(self, inner=inner)

    def apply(self, params: Any, X: Any) -> Any:
        xp = namespace(X)
        c = X - xp.mean(X, axis=-1, keepdims=True) if self.inner.centered else X
        std = xp.sqrt(xp.mean(c * c, axis=-1))
        self.least.append(np.asarray(std).min(axis=-1))
        return self.inner.apply(params, X)
