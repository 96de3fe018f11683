"""A network class on fixed examples, as a batched function of its weights.

>>> import numpy as np, dudley as du
>>> batched = BatchedNetwork.of(du.Readout(du.L2(2.0)), np.ones((5, 1, 4)))
>>> round(batched.radius, 6), [leaf.label for leaf in batched.moving]
(4.0, ['w'])
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dudley.audit.backend import tensor
from dudley.audit.balls import into_ball
from dudley.audit.broadcast import apply_many
from dudley.audit.leaves import Leaf, Path, leaves, masters, nest_like, ties_of, with_ties
from dudley.audit.starts import WEIGHTS, start_weight
from dudley.calculus.compose import Node
from dudley.calculus.facts import Signal
from dudley.core.backend import torch
from dudley.core.entropy import Metric
from dudley.core.errors import InputError
from dudley.core.magnitude import Magnitude
from dudley.theorems.witness.packings import sensitivity
from dudley.theorems.witness.scaling import lengths

UP = 1 + 1e-12
WeightsByPath = dict[Path, torch.Tensor]


@dataclass(frozen=True, eq=False)
class BatchedNetwork:
    """A network with one output on examples X (n, T, d): leaves, ties, and A with |f(X_i)| ≤ A.

    ``scale``: how far outputs move per relative change of all weights and signals, as by rounding.
    Weights that are no parameter of the class (fixed positions) are one draw, the same for all.
    """

    network: Node
    X: np.ndarray
    free: tuple[Leaf, ...]  # all but those tied to another
    ties: Mapping[Path, tuple[Path, bool]]
    radius: float
    scale: float

    @classmethod
    def of(cls, network: Node, X) -> BatchedNetwork:
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 3 or 0 in X.shape or not np.isfinite(X).all():
            raise InputError("X", "a finite array of shape (n, T, d)", f"shape {X.shape}")
        R = float(lengths(X).max()) * UP
        signal = Signal(Magnitude.of(R), float(X.shape[1]), X.shape[2])
        out = network.facts(signal).out
        if (out.rows, out.width, out.metric) != (1, 1, Metric.ROWS):
            raise InputError("network", "one output", f"{out.rows:g} rows of width {out.width}")
        every = leaves(network, network.parameters(X.shape[2])[0])
        ties = ties_of(every)
        if not any(leaf.parameter.trained for leaf in every):
            raise InputError("network", "at least one block of trained weights", "none")
        free, A = tuple(masters(every, ties)), float(out.radius) * UP
        return cls(network, X, free, ties, A, sensitivity(network, signal))

    @property
    def moving(self) -> tuple[Leaf, ...]:
        return tuple(leaf for leaf in self.free if leaf.parameter.trained)

    def nest(self, weights: WeightsByPath):
        arrays = with_ties(dict(weights), self.ties)
        return nest_like(self.network.parameters(self.X.shape[2])[0], arrays)

    def outputs(self, weights: WeightsByPath, X) -> torch.Tensor:
        """f(X_i) for every member: (B, n)."""
        return apply_many(self.network, self.nest(weights), X)[..., 0, 0]

    def starts(self, streams: list[np.random.Generator], seed: int, device: str) -> WeightsByPath:
        """Members to begin with, one for each stream of random numbers."""
        kinds = [rng.integers(0, WEIGHTS - 1, len(self.free)) for rng in streams]
        W = {}
        for j, leaf in enumerate(self.free):
            shape = leaf.parameter.shape
            if leaf.parameter.trained:
                drawn = [start_weight(k[j], shape, g) for k, g in zip(kinds, streams, strict=True)]
            else:
                drawn = [start_weight(0, shape, np.random.default_rng([seed, j]))] * len(streams)
            size = leaf.parameter.constraint.bounds(shape)["op"]
            W[leaf.path] = into_ball(tensor(drawn, device) * size, leaf.parameter.constraint)
        return W

    def inside(self, weights: WeightsByPath) -> WeightsByPath:
        """Strictly inside every ball, by singular values."""
        return {
            leaf.path: into_ball(weights[leaf.path], leaf.parameter.constraint, exact=True)
            for leaf in self.free
        }
