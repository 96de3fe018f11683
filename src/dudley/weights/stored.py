"""Stored: the matrices of a checkpoint in the places of the network that describes it.

A described network has the roles of its weights as their names; norm layers, patches and a few
tables have others, and stand in the order in which ``weights.network`` puts them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dudley.calculus.facts import Parameter
from dudley.calculus.nest import at
from dudley.calculus.node import Node
from dudley.core.errors import InputError
from dudley.networks.pointwise import LayerNorm

LoadMatrix = Callable[[str, int | None], np.ndarray]
Place = tuple[str, int | None]  # role and layer


class StoredNest:
    """The nest of a described network without its output, from matrices by role and layer.

    ``embeds``: it begins with the embedding of tokens, and with the norm layer of that if there is
    one.
    """

    def __init__(self, places: set[Place], load: LoadMatrix, embeds: bool):
        self.places, self.load = places, load
        layers = sorted({layer for role, layer in places if role == "W_1" and layer is not None})
        inside = [(f"ln_{j}", layer) for layer in layers for j in (1, 2)]
        before = self._stored("ln_E") if embeds else []
        self.norms = [*before, *inside, *self._stored("ln_f", "ln_pre")]
        self.layer = -1  # of the attention that was filled last

    def _stored(self, *roles: str) -> list[Place]:
        """The norm layers outside the blocks that the checkpoint has, of these."""
        return [(role, None) for role in roles if (f"{role}.gain", None) in self.places]

    def of(self, node: Node, nest: Any) -> Any:
        """The nest of a node, in the order of computation."""
        if isinstance(node, LayerNorm):
            role, layer = self.norms.pop(0)
            return {name: self._fitting(f"{role}.{name}", layer, nest[name]) for name in nest}
        parts = [self.of(part.node, at(nest, part.path)) for part in node.parts()]
        if parts:
            return parts if isinstance(nest, list) and node.gathers else parts[0]
        self.layer += "W_Q" in nest
        return {name: self._block(name, parameter) for name, parameter in nest.items()}

    def _block(self, name: str, parameter: Parameter) -> np.ndarray:
        if name == "P" and ("cls", None) in self.places:  # the first row is a zero patch
            P, b = self.load("P", None).copy(), ("b_patch", None)
            P[0] += self.load("cls", None)[0] - (self.load(*b)[0] if b in self.places else 0)
            return P
        if name == "b_E":
            return self.load("W_S", None)[:1]
        role = {"W": "W_patch", "b": "b_patch"}.get(name, name)
        layer = self.layer if (role, self.layer) in self.places else None
        return self._fitting(role, layer, parameter)

    def _fitting(self, role: str, layer: int | None, parameter: Parameter) -> np.ndarray:
        """The matrix of this place, refused where the network has another shape there."""
        W = self.load(role, layer)
        if W.shape != parameter.shape:
            raise InputError(f"{role} of layer {layer}", f"shape {parameter.shape}", W.shape)
        return W
