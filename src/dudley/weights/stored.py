"""Stored: the matrices of a checkpoint in the places of the network that describes it.

A described network has the roles of its weights as their names; norm layers, patches, logits and a
few tables have others, and stand in the order in which ``weights.network`` puts them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dudley.calculus.facts import Parameter
from dudley.calculus.nest import at
from dudley.calculus.node import Node
from dudley.core.errors import InputError
from dudley.networks.outputs import Logits
from dudley.networks.pointwise import LayerNorm

LoadMatrix = Callable[[str, int | None], np.ndarray]
Place = tuple[str, int | None]  # role and layer


class StoredNest:
    """The nest of a described network, from matrices by role and layer.

    ``embeds``: it begins with the embedding of tokens. Where it does, or cuts an image, the norm
    layer of that follows if there is one. ``depth``: how many blocks it has, where one stored block
    is used several times.
    """

    def __init__(
        self, places: set[Place], load: LoadMatrix, embeds: bool, depth: int | None = None
    ):
        self.places, self.load = places, load
        layers = sorted({layer for role, layer in places if role == "W_1" and layer is not None})
        self.layers = max(1, 1 + max((i for _, i in places if i is not None), default=0))
        without = not any(role[:3] == "ln_" and role[3].isdigit() for role, _ in places)
        inside = [
            (f"ln_{j}", i)
            for i in layers
            for j in (1, 2, 3, 4)
            if (f"ln_{j}.gain", i) in places or (without and j < 3)
        ]
        again = 1 if depth is None else depth // self.layers
        patches = ("W_patch", None) in places
        before = self._stored("ln_E") if embeds or patches else []
        self.norms = [*before, *inside * again, *self._stored("ln_f", "ln_pre")]
        self.count = -1  # of the attentions that were filled

    def _stored(self, *roles: str) -> list[Place]:
        """The norm layers outside the blocks that the checkpoint has, of these."""
        return [(role, None) for role in roles if (f"{role}.gain", None) in self.places]

    def of(self, node: Node, nest: Any) -> Any:
        """The nest of a node, in the order of computation."""
        if isinstance(node, LayerNorm):
            role, layer = self.norms.pop(0)
            return {name: self._fitting(f"{role}.{name}", layer, nest[name]) for name in nest}
        if isinstance(node, Logits):
            return {name: self._logits(name, parameter) for name, parameter in nest.items()}
        parts = [self.of(part.node, at(nest, part.path)) for part in node.parts()]
        if parts:
            return parts if isinstance(nest, list) and node.gathers else parts[0]
        self.count += "W_Q" in nest
        return {name: self._block(name, parameter) for name, parameter in nest.items()}

    def _block(self, name: str, parameter: Parameter) -> np.ndarray:
        if name == "P":  # the first rows may be zero patches
            P, b = self.load("P", None).copy(), ("b_patch", None)
            for i, row in enumerate(r for r in ("cls", "dist") if (r, None) in self.places):
                P[i] += self.load(row, None)[0] - (self.load(*b)[0] if b in self.places else 0)
            return P
        if name == "b_E":
            return self.load("W_S", None)[:1]
        role = {"W": "W_patch", "b": "b_patch"}.get(name, name)
        i = self.count % self.layers if self.count >= 0 else -1
        return self._fitting(role, i if (role, i) in self.places else None, parameter)

    def _logits(self, name: str, parameter: Parameter) -> np.ndarray:
        """Those of classes or of the vocabulary, whose matrix may be the vocabulary's."""
        kind = "cls" if ("W_cls", None) in self.places else "out"
        if name == "W" and (f"W_{kind}", None) not in self.places:
            return self.load("W_E", None).T
        return self._fitting(f"{name}_{kind}", None, parameter)

    def _fitting(self, role: str, layer: int | None, parameter: Parameter) -> np.ndarray:
        """The matrix of this place, refused where the network has another shape there."""
        W = self.load(role, layer)
        if W.shape != parameter.shape:
            raise InputError(f"{role} of layer {layer}", f"shape {parameter.shape}", W.shape)
        return W
