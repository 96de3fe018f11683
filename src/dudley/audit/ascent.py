"""Ascent: the supremum of a penalised correlation over a network class, from below.

For signs s ∈ {±1}ⁿ the value (1/n) Σ s_i f(X_i) − (β/n) Σ f(X_i)² is raised by moves inside the
balls, alternately towards the corner where the gradient points (exact for a linear class) and along
the gradient; a move that does not gain is taken back and the next is shorter. Every member (a sign
vector and a restart) goes its own way in one batch. The best weights for each sign vector are then
brought strictly inside their balls (singular values, float64) and evaluated anew on the processor:
a value of a member, so not above the supremum.

>>> import numpy as np, dudley as du
>>> X = np.eye(4)[:, None, :]  # four orthonormal examples of one token
>>> suprema = supremum_below(du.Readout(du.L2(1.0)), X, np.ones((1, 4)))
>>> round(float(suprema[0]), 6)  # ‖Σ s_i x_i‖₂/4
0.5
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dudley.audit.backend import tensor
from dudley.audit.balls import TINY, into_ball
from dudley.audit.batched_network import BatchedNetwork, WeightsByPath
from dudley.audit.corners import corner
from dudley.audit.teacher import objective, taught
from dudley.calculus.compose import Node
from dudley.core.backend import torch
from dudley.core.constraint import radius_of, size_of
from dudley.core.errors import InputError

GROW, SHRINK, SHORTEST = 1.5, 0.5, 1e-6  # lengths of moves that were taken, or taken back


def supremum_below(
    network: Node,
    X,
    signs,
    β: float = 0.0,
    restarts: int = 8,
    steps: int = 40,
    seed: int = 0,
    device: str = "cpu",
    at_once: int | None = None,
) -> np.ndarray:
    """For each row of ``signs`` (D, n): a number that the supremum over the class is not below.

    ``at_once`` limits the members in one batch (all of them unless given). Starts depend on the
    seed, the row and the restart alone, so batches of any size find the same up to rounding.
    """
    batched, signs = BatchedNetwork.of(network, X), np.asarray(signs, dtype=np.float64)
    if signs.ndim != 2 or signs.shape[1] != len(batched.X) or not (abs(signs) == 1).all():
        raise InputError("signs", f"±1 in an array (D, {len(batched.X)})", f"shape {signs.shape}")
    size_of("steps", steps)
    members = [(i, r) for i in range(len(signs)) for r in range(size_of("restarts", restarts))]
    count = len(members) if at_once is None else size_of("at_once", at_once)
    best = np.full(len(signs), -math.inf)
    for first in range(0, len(members), count):
        some = members[first : first + count]
        batch = _Batch(batched, some, signs, radius_of("β", β), steps, seed, device)
        for i, value in batch.climb().items():
            best[i] = max(best[i], value)
    return best


def climbed(
    batched: BatchedNetwork, signs: np.ndarray, restarts: int, steps: int, seed: int, at_once: int
) -> WeightsByPath:
    """Weights strictly inside their balls, climbed for every row of signs and every restart."""
    members = [(i, r) for i in range(len(signs)) for r in range(restarts)]
    parts = []
    for first in range(0, len(members), at_once):
        batch = _Batch(batched, members[first : first + at_once], signs, 0.0, steps, seed, "cpu")
        batch.climb()
        parts.append(batched.inside(batch.W))
    return {path: torch.cat([part[path] for part in parts]) for path in parts[0]}


@dataclass
class _Batch:
    """Some members (row of signs, restart), climbing side by side."""

    batched: BatchedNetwork
    members: list[tuple[int, int]]
    all_signs: np.ndarray
    β: float
    steps: int
    seed: int
    device: str

    def __post_init__(self):
        self.X = tensor(self.batched.X, self.device)
        self.signs = tensor(self.all_signs[[i for i, _ in self.members]], self.device)
        streams = [np.random.default_rng([self.seed, i, r]) for i, r in self.members]
        self.W = self.batched.starts(streams, self.seed, self.device)
        self.constraint = {leaf.path: leaf.parameter.constraint for leaf in self.batched.moving}

    def values(self, W: WeightsByPath):
        with torch.no_grad():
            return objective(self.batched.outputs(W, self.X), self.signs, self.β)

    def slopes(self, W: WeightsByPath) -> tuple[torch.Tensor, WeightsByPath]:
        """The value of each member and its gradient in each block."""
        weights = {path: w.detach() for path, w in W.items()}
        leaves = [weights[path].requires_grad_() for path in self.constraint]
        value = objective(self.batched.outputs(weights, self.X), self.signs, self.β)
        gradients = torch.autograd.grad(value.sum(), leaves)
        return value.detach(), dict(
            zip(self.constraint, map(torch.nan_to_num, gradients), strict=True)
        )

    def teach(self) -> None:
        """Take the readouts that the signs ask for, where they gain."""
        W = taught(self.batched, self.W, self.X, self.signs, self.β)
        better = (self.values(W) > self.values(self.W))[:, None, None]
        self.W = {path: torch.where(better, W[path], w) for path, w in self.W.items()}

    def climb(self) -> dict[int, float]:
        """The best certified value for each row of signs among the members."""
        self.teach()
        value, G = self.slopes(self.W)
        length = [torch.ones_like(value) for _ in range(2)]  # of the two kinds of moves
        for t in range(self.steps):
            kind = t % 2
            W = self.moved(G, length[kind][:, None, None], kind)
            new, slopes = self.slopes(W)
            better = new > value
            for path in self.constraint:
                self.W[path] = torch.where(better[:, None, None], W[path], self.W[path])
                G[path] = torch.where(better[:, None, None], slopes[path], G[path])
            value = torch.where(better, new, value)
            longer = torch.where(better, GROW * length[kind], SHRINK * length[kind])
            length[kind] = longer.clamp(SHORTEST, 1.0)
        self.teach()
        return self.certified()

    def moved(self, G: WeightsByPath, γ, kind: int) -> WeightsByPath:
        """Every block γ of the way to its corner, or as far along its gradient."""
        W = dict(self.W)
        for path, ball in self.constraint.items():
            way = corner(G[path], ball)
            if kind == 0:
                W[path] = W[path] + γ * (way - W[path])
            else:
                ratio = way.norm(dim=(-2, -1)) / (G[path].norm(dim=(-2, -1)) + TINY)
                W[path] = into_ball(W[path] + γ * ratio[:, None, None] * G[path], ball)
        return W

    def certified(self) -> dict[int, float]:
        """Values of members strictly inside, in float64 on the processor, rounded down."""
        reached = torch.nan_to_num(self.values(self.W), nan=-math.inf).cpu().numpy()
        best: dict[int, int] = {}
        for b, (i, _) in enumerate(self.members):
            if i not in best or reached[b] > reached[best[i]]:
                best[i] = b
        at = list(best.values())
        W = self.batched.inside({path: w[at].cpu() for path, w in self.W.items()})
        signs = tensor(self.all_signs[list(best)])
        f = self.batched.outputs(W, tensor(self.batched.X))
        value = objective(f, signs, self.β).numpy()
        scale = self.batched.scale * (
            1 + 2 * self.β * f.abs().amax(-1).numpy()
        )  # of rounding errors
        safe = np.nan_to_num(value - 1e-9 * np.abs(value) - 1e-12 * scale, nan=-math.inf)
        return dict(zip(best, safe.tolist(), strict=True))
