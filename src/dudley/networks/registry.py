"""Nodes and blocks by the names that network files use.

A node registers itself where it is defined; a module of this package is found by itself.
"""

from __future__ import annotations

from collections.abc import Callable

from dudley.calculus.node import Node
from dudley.core.registry import Registry

# How a reader meets them: attention, blocks, what acts on single rows, both ends of a network.
READING_ORDER = (
    *("head", "attention", "trauger-block", "li-block", "pre-ln-block", "post-ln-block"),
    *("dense", "mlp", "swiglu", "activate", "project-rows", "layer-norm", "rms-norm", "pool"),
    *("scale", "layer-scale"),
    *("positions", "embedding", "shallow-encoder", "readout", "logits", "heads"),
)


class Nodes(Registry[Callable[..., Node]]):
    """Nodes in the order of reading, whatever was imported first; others after them, by name."""

    def _filled(self) -> dict[str, Callable[..., Node]]:
        known = {name: i for i, name in enumerate(READING_ORDER)}
        units = super()._filled()
        order = sorted(units, key=lambda name: (known.get(name, len(known)), name))
        return {name: units[name] for name in order}


NODES = Nodes("node", "dudley.networks.*")
