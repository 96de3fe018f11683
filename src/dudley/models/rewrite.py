"""Rewrite a network node by node, in a way that leaves its nest of parameters alone.

``change(path, node)`` sees every leaf, then what stands around it, and gives what takes its place.
A path leads to a node's weights in the nest, so a residual connection has the path of what it goes
around. Heads and layers of equal norms become heads and layers with norms of their own: the nest is
the same.

>>> import dudley as du
>>> net = du.Repeat(du.Residual(du.Dense(3, du.Spectral(1.0))), 2) >> du.Readout(du.L2(1.0))
>>> seen = []
>>> _ = rewritten(net, lambda path, node: seen.append((path, type(node).__name__)) or node)
>>> seen[:3]
[((0, 0), 'Dense'), ((0, 0), 'Residual'), ((0, 1), 'Dense')]
"""

from __future__ import annotations

from collections.abc import Callable

from dudley.calculus.nest import Path
from dudley.calculus.node import Node

Rewriting = Callable[[Path, Node], Node]


def rewritten(node: Node, change: Rewriting, path: Path = ()) -> Node:
    """The network with every node changed, those inside first."""
    inside = [rewritten(part.node, change, (*path, *part.path)) for part in node.parts()]
    return change(path, node.with_parts(inside) if inside else node)
