"""L blocks of the papers side by side: the twin's own network, walked with a members' axis.

A weight stands before rows of its own member only, so a product with it is one batched product
over all examples and tokens; what acts on each row by itself (Π, σ) is the node's own map. Scores
take W_QK as it is, values are (A Z) W_v, and the last block asks with the [CLS] row alone: nothing
else of it is read, and what follows the last attention acts on single rows.

>>> from dudley.core.philox import key, keys_tensor
>>> networks = LayersEnsemble(d=4, L=2, block="li", sigma="gelu")
>>> weights = networks.start(keys_tensor([key("layers", trial) for trial in range(3)]))
>>> X = torch.ones(3, 5, 6, 4)  # for each trial five examples of six tokens
>>> networks.forward(weights, X).shape
torch.Size([3, 5, 1])
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from dudley.calculus.compose import Node
from dudley.core.backend import torch
from dudley.core.errors import InputError
from dudley.models.blocks import Layers
from dudley.networks.activations import Activation, activation
from dudley.networks.head import Head
from dudley.networks.normalisers import Normaliser, normaliser
from dudley.networks.outputs import Readout
from dudley.networks.pointwise import Activate, Dense, ProjectRows
from dudley.train.ensemble.base import Ensemble, WeightTensors
from dudley.train.ensemble.registry import ENSEMBLES
from dudley.train.ensemble.rows import at_a_time, of_members, through


@dataclass(frozen=True)
class LayersEnsemble(Ensemble):
    """Tokens (E, N, T, d), (N, T, d) for all, or `Shared` ↦ (E, N, 1)."""

    d: int  # width of a token
    L: int  # blocks
    k: int | None = None  # width of a head; None for d
    block: str = "trauger"  # whose block: trauger, li, …
    sigma: str | Activation = "relu"  # activation
    attention: str | Normaliser = "softmax"  # normaliser of the scores

    def __post_init__(self):
        self.steps  # noqa: B018  (refuses what does not fit)

    def twin(self, e=0) -> Layers:
        return Layers(self.d, self.L, self.k, self.block, self.sigma, self.attention)

    @cached_property
    def steps(self) -> tuple[tuple[str, Node], ...]:
        """The nodes one after another, each with the prefix of its weights' names."""
        steps = list(_flat(self.twin().node, "weights."))
        last = max(i for i, (_, node) in enumerate(steps) if isinstance(node, Head))
        prefix, head = steps[last]
        assert isinstance(head, Head)
        steps[last] = (prefix, replace(head, query="cls"))
        return tuple(steps)

    def forward(self, weights, inputs, noise=None):
        E = len(next(iter(weights.values())))
        Z = of_members(inputs, 4, E)
        Z = Z.expand(E, *Z.shape[1:])
        for prefix, node in self.steps:
            Z = _step(node, prefix, weights, Z)
        return Z[:, :, 0]

    def evaluate(self, weights, inputs, alive=None):
        E = len(next(iter(weights.values())))
        X = of_members(inputs, 4, E)
        few = at_a_time(E * X.shape[2] * max(self.d, self.k or 0, X.shape[2]), X)
        return torch.cat([self.forward(weights, part) for part in X.split(few, 1)], 1)


def _flat(node: Node, prefix: str):
    stages = node.stages()
    if stages[0].node is not node:
        for stage in stages:
            yield from _flat(stage.node, f"{prefix}{stage.prefix}")
    elif _is_known(node):
        yield prefix, node
    else:
        raise InputError("part of a block", "a head with W_QK, W without bias, σ or Π", node)


def _is_known(node: Node) -> bool:
    match node:
        case Head():
            return node.W_QK is not None and node.query == "all" and not node.causal
        case Dense():
            return node.b is None
        case Readout():
            return node.pool == "cls"
        case _:
            return isinstance(node, Activate | ProjectRows)


def _step(node: Node, prefix: str, weights: WeightTensors, Z: torch.Tensor) -> torch.Tensor:
    """One node on rows Z (E, N, T, ·)."""
    match node:
        case Head():
            asking = Z if node.query == "all" else Z[:, :, -1:]
            scores = through(asking, weights[prefix + "W_QK"]) @ Z.mT  # (E, N, T or 1, T)
            A = normaliser(node.attention).apply(scores * node.scale)
            mixed = torch.matmul(A, Z)  # pyright: ignore[reportArgumentType]
            hidden = activation(node.sigma).apply(through(mixed, weights[prefix + "W_v"]))
            return hidden if node.W_c is None else through(hidden, weights[prefix + "W_c"])
        case Dense():
            return activation(node.sigma).apply(through(Z, weights[prefix + node.names[0]]))
        case Readout():
            return through(Z[:, :, -1:], weights[prefix + "w"])
        case _:
            return node.apply({}, Z)


@ENSEMBLES.register("layers")
def build(keys, tasks, **sizes) -> LayersEnsemble:
    return LayersEnsemble(**sizes)
