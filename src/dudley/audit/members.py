"""Members of a search: every radius, mode and restart, with its starts and what is declared.

One batch holds them all. ``declared`` numbers come from the node's facts; starts are random and
extreme (``starts``), and half of the members take one kind for all their weights.

>>> import dudley as du
>>> problem = SearchProblem(du.Dense(3, du.Spectral(2.0)), d=3, radii=(1.0,))
>>> members = Members(problem, None, 2, np.random.default_rng(0), False, "cpu")
>>> len(members.plan), members.modes
(8, ['radius', 'lipschitz', 'everything', ('W',)])
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dudley.audit.backend import tensor
from dudley.audit.balls import clip_rows, norm
from dudley.audit.leaves import Leaf, leaves, masters, nest_like, with_ties
from dudley.audit.problem import SearchProblem, signal_of
from dudley.audit.starts import ROWS, WEIGHTS, Start, start_rows, start_weight
from dudley.calculus.facts import Use
from dudley.calculus.tie import tie_together
from dudley.core.backend import torch

SIZES = (1e-3, 0.1, 1.0, 2.0)  # of the moves, relative to the balls
FREE = 30.0  # the largest of them where covered weights may leave their balls


@dataclass
class Members:
    """All radii, modes and restarts of a search, as one batch of B = len(plan)."""

    p: SearchProblem
    modes: list | None
    restarts: int
    rng: np.random.Generator
    scores: bool
    device: str

    def __post_init__(self):
        p = self.p
        self.nest, _ = p.node.parameters(p.d)
        self.facts = {R: p.node.facts(signal_of(R, p.T, p.d, p.l1)) for R in p.radii}
        self.masters = masters(leaves(p.node, self.nest), p.ties)
        uses = {leaf.path: leaf.use(self.facts[p.radii[0]]) for leaf in self.masters}
        self.uses: dict[tuple, Use] = {path: use for path, use in uses.items() if use is not None}
        self.trained = [leaf for leaf in self.masters if leaf.path in self.uses]
        if self.modes is None:
            self.modes = ["radius", *([] if p.one_hot else ["lipschitz", "everything"])]
            self.modes += [leaf.path for leaf in self.trained]
            self.modes += ["weights"] if len(self.trained) > 1 else []
        self.plan = [(R, m, r) for R in p.radii for m in self.modes for r in range(self.restarts)]
        self.size = {
            leaf.path: float(leaf.parameter.constraint.bounds(leaf.parameter.shape)["op"])
            for leaf in self.masters
        }
        self._declare()
        self._draw()

    @cached_property
    def merged(self) -> dict:
        return {R: {u.name: u for u in tie_together(f.uses)} for R, f in self.facts.items()}

    def declared(self, leaf: Leaf, R: float) -> float:
        tie = self.uses[leaf.path].tie
        return leaf.weight(self.facts[R]) if tie is None else float(self.merged[R][tie].weight)

    def _declare(self) -> None:
        """What the facts say, and which blocks each member may move."""
        plan, trained = self.plan, self.trained
        self.radius_mode = self._each(m == "radius" for _, m, _ in plan)
        self.on_X = self._each(m in ("lipschitz", "everything") for _, m, _ in plan)
        every = ("weights", "everything")
        on = [[m in every or m == leaf.path for leaf in trained] for _, m, _ in plan]
        self.on = self._each(on).reshape(len(plan), len(trained))
        self.weight = self._each([self.declared(leaf, R) for leaf in trained] for R, _, _ in plan)
        self.L = self._each(float(self.facts[R].lipschitz) for R, _, _ in plan)
        self.out_radius = self._each(float(self.facts[R].out.radius) for R, _, _ in plan)
        self.R = self._each(R for R, _, _ in plan)
        sizes = self._each([self.size[leaf.path] for leaf in trained] for _ in plan)
        moves = (self.weight * sizes).reshape(len(plan), len(trained)).nan_to_num(0.0).sum(1)
        self.rounding = 1e-12 * (self.out_radius + self.L * self.R + moves)  # of outputs
        sizes = (*SIZES[:3], FREE if self.p.free_hats else SIZES[3])
        self.scale = self._each(sizes[r % 4] for _, _, r in plan)[:, None, None]

    def _each(self, values):
        return tensor(list(values), self.device)

    def _draw(self) -> None:
        """Starts: half of the members take one kind for all their weights."""
        p, rng, B = self.p, self.rng, len(self.plan)
        aligned = rng.integers(0, WEIGHTS, B)

        def draw(leaf):
            kinds = np.where(np.arange(B) % 2, aligned, rng.integers(0, WEIGHTS, B))
            return self._each(start_weight(k, leaf.parameter.shape, rng) for k in kinds)

        def drawn_rows():
            return self._each(start_rows(k, p.T, p.d, rng) for k in rng.integers(0, ROWS, B))

        self.W = {leaf.path: draw(leaf) * self.size[leaf.path] for leaf in self.masters}
        self.D = {leaf.path: draw(leaf) for leaf in self.trained}
        if p.one_hot:
            self.X = self._each(np.eye(p.d)[rng.integers(0, p.d, (B, p.T))])
            self.E = torch.zeros_like(self.X)
        else:
            self.X, self.E = drawn_rows(), drawn_rows()
        if p.witness is not None:
            for b, (R, _, restart) in enumerate(self.plan):
                if restart < 2:
                    self._begin_at(b, R, p.witness(R))
        moving = [] if p.one_hot else [self.X, self.E]
        self.variables = [*self.W.values(), *self.D.values(), *moving]
        for v in self.variables:
            v.requires_grad_()

    def _begin_at(self, b: int, R: float, start: Start) -> None:
        for arrays, start_arrays in ((self.W, start.W), (self.D, start.D)):
            for path, value in start_arrays.items():
                arrays[path][b] = self._each(value)
        self.X[b], self.E[b] = self._each(start.X) / R, self._each(start.E)

    def inside(self, X):
        """Rows cut to what the problem allows."""
        X = clip_rows(X, self.R)
        if self.p.l1 is None:
            return X
        sizes, most = X.abs().sum(-1, keepdim=True), self.p.l1 * self.R[:, None, None]
        return X * (most / torch.maximum(sizes, most))

    def error(self, leaf: Leaf, ΔW, x, exact: bool):
        """How far a block's map is off, on inputs of norm 1."""
        use = self.uses[leaf.path]
        if leaf.path in {master for master, _ in self.p.ties.values()}:
            return norm("op", ΔW, exact)
        if self.scores and use.form == "bilinear":
            return (x @ ΔW @ x.transpose(-1, -2)).abs().amax((-2, -1)) / self.R**2
        if use.form == "logits":
            return norm("col2inf", ΔW)
        if use.l1 is None:
            return norm("op", ΔW, exact)
        return torch.minimum(norm("op", ΔW, exact), use.l1 * norm("row2inf", ΔW))

    def nested(self, weights):
        """The nest that ``apply`` expects, tied weights in their places."""
        return nest_like(self.nest, with_ties(weights, self.p.ties))
