"""Search for the largest change of a network's output under changes of its weights or rows.

A perturbation lemma bounds the change of a chain's output by Σ c_j·e_j: e_j is how far the map of a
block is off on the rows that the *covered* copy feeds it (or how far the input rows are off), c_j
depends on norms. A problem fixes the norms and the radius of the rows. ``hardest_instance`` lets
the weights and rows of two copies climb towards the largest ratio of change to bound, and returns
the measured errors, rounded up, and the change, rounded down. Weights lie strictly inside their
balls, so the instance is true.

>>> import dudley as du
>>> layer = du.Chain((du.Head(3, du.Spectral(1.5), du.Spectral(1.0), W_c=du.Spectral(0.7)),))
>>> norms = {"W_v.op": 1.5, "W_c.op": 0.7, "sigma.lipschitz": 1.0, "X.row2inf": 2.0}
>>> problem = PerturbationProblem(
...     "edelman2021/definition-3.2", layer, norms, quantity="radius", R=2.0)
>>> finding = hardest_instance(problem, np.random.default_rng(0))
>>> round(finding.lower.value, 3), round(0.7 * 1.5 * 2.0, 3)  # L_σB_cB_vB_X
(2.1, 2.1)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from dudley.audit.backend import tensor
from dudley.audit.balls import STRICT, TINY, clip_rows, into_ball, rows
from dudley.audit.base import AttackFinding
from dudley.audit.climb import climb
from dudley.audit.starts import ROWS, WEIGHTS, start_rows, start_weight
from dudley.calculus.compose import Chain
from dudley.core.backend import torch
from dudley.theorems import registry
from dudley.theorems.witness.lower import LowerBound

SIZES = (1e-3, 0.1, 1.0)  # of the moves
RELATIVE, ABSOLUTE = 1e-9, 1e-12  # room for rounding

HOW = {
    "rows": lambda x, ΔW: rows(x @ ΔW),  # max ‖xΔW‖
    "keys": lambda x, ΔW: rows(x @ ΔW.transpose(-1, -2)),  # max ‖ΔW xᵀ‖
    "score": lambda x, ΔW: (x[..., -1:, :] @ ΔW @ x.transpose(-1, -2)).abs().amax((-2, -1)),
    "last": lambda x, ΔW: rows(x[..., -1:, :] @ ΔW),  # ‖xΔW‖ of the row that is read
}


@dataclass(frozen=True)
class PerturbationProblem:
    """A statement, a chain that satisfies its hypotheses, and which errors it speaks of.

    ``errors``: (node, name of a weight) → (input that bounds its error, how it is measured); blocks
    that share an input take the largest. ``quantity``: ``change`` of the output, the ``slope``
    (change by change of the rows) or the ``radius`` of the output. ``free``: may the covered
    weights leave their balls?
    """

    statement: str
    chain: Chain
    fixed: Mapping[str, float]  # norms and constants of the instance
    errors: Mapping[tuple[int, str], tuple[str, str]] = field(default_factory=dict)
    rows: str | None = None  # the input that bounds the error of the rows
    quantity: str = "change"
    form: str = "derived"
    R: float = 1.0
    T: int = 3
    d: int = 3
    free: bool = False
    only: str | None = None  # the one error that is not 0, if so

    @property
    def inputs(self) -> set[str]:
        """The inputs that bound errors."""
        return {name for name, _ in self.errors.values()} | ({self.rows} if self.rows else set())

    def moves(self, name: str | None) -> bool:
        """May this error differ from 0?"""
        return name is not None and self.only in (None, name)

    def prices(self) -> dict[str, float]:
        """What the statement charges for one unit of each error."""
        it = registry.load()[self.statement]
        none = dict(self.fixed) | dict.fromkeys(self.inputs, 0.0)
        return {name: it.evaluate_on(none | {name: 1.0}, self.form).value for name in self.inputs}


class _Copies:
    """A batch of pairs: the network and the copy whose weights or rows are moved."""

    def __init__(self, problem: PerturbationProblem, B: int, rng: np.random.Generator):
        self.problem = problem
        self.nest, _ = problem.chain.parameters(problem.d)
        self.places = [(i, n) for i, own in enumerate(self.nest) for n in own]
        self.W, self.D = ({p: self._weights(p, B, rng) for p in self.places} for _ in range(2))
        self.X, self.E = (self._rows(B, rng) for _ in range(2))
        self.size = tensor(np.resize(SIZES, B))[:, None, None]
        self.R = tensor(np.full(B, problem.R))
        self.variables = [*self.W.values(), *self.D.values(), self.X, self.E]
        for v in self.variables:
            v.requires_grad_()

    def _weights(self, path, B, rng):
        shape = self.nest[path[0]][path[1]].shape
        return tensor([start_weight(k, shape, rng) for k in rng.integers(0, WEIGHTS, B)])

    def _rows(self, B, rng):
        T, d = self.problem.T, self.problem.d
        return tensor([start_rows(k, T, d, rng) for k in rng.integers(0, ROWS - 1, B)])

    def measure(self, exact: bool = False):
        """Errors by input, the change of the output, how far rows moved, and the outputs' size."""
        problem, nodes = self.problem, self.problem.chain.nodes
        true, hat = {}, {}
        for p in self.places:
            ball = self.nest[p[0]][p[1]].constraint
            big = ball.bounds(self.W[p].shape[1:])["op"]
            big = big if np.isfinite(big) else 1.0
            true[p] = hat[p] = into_ball(big * self.W[p], ball, exact)
            if p in problem.errors and problem.moves(problem.errors[p][0]):
                hat[p] = true[p] + self.size * max(big, 0.1) * self.D[p]
                hat[p] = hat[p] if problem.free else into_ball(hat[p], ball, exact)
        x = clip_rows(2 * problem.R * self.X, self.R * (STRICT if exact else 1.0))
        hat_x = x
        if problem.moves(problem.rows) or problem.quantity == "slope":
            moved = x + self.size * problem.R * self.E
            hat_x = clip_rows(moved, self.R * (STRICT if exact else 1.0))
        error: dict[str, torch.Tensor] = {}
        if problem.rows is not None and problem.moves(problem.rows):
            error[problem.rows] = rows(x - hat_x + TINY)
        y, hat_y = x, hat_x
        for i, node in enumerate(nodes):
            for n in self.nest[i]:
                name, how = problem.errors.get((i, n), (None, "rows"))
                if name is not None and problem.moves(name):
                    new = HOW[how](hat_y, hat[i, n] - true[i, n])
                    error[name] = torch.maximum(error[name], new) if name in error else new
            y = node.apply({n: true[i, n] for n in self.nest[i]}, y)
            hat_y = node.apply({n: hat[i, n] for n in self.nest[i]}, hat_y)
        far = rows(x - hat_x + TINY)
        change = rows(y) if problem.quantity == "radius" else rows(y - hat_y)
        return error, change, far, torch.maximum(rows(y), rows(hat_y))


def hardest_instance(
    problem: PerturbationProblem, rng: np.random.Generator, restarts: int = 24, steps: int = 50
) -> AttackFinding:
    """The instance of a problem that a search finds hardest for its statement."""
    copies, prices = _Copies(problem, restarts, rng), problem.prices()
    floor = RELATIVE * max(problem.R, 1e-3)

    def ratio(exact=False):
        error, change, far, _ = copies.measure(exact)
        if problem.quantity == "slope":
            return change / (far + floor)
        if problem.quantity == "radius":
            return change
        return change / (sum(prices[name] * e for name, e in error.items()) + floor)

    climb(ratio, copies.variables, steps, 0.08)
    with torch.no_grad():
        best = int(torch.nan_to_num(ratio(exact=True), nan=-1.0).argmax())
        error, change, far, size = copies.measure(exact=True)
    room = ABSOLUTE * (float(size[best]) + problem.R)
    lower = float(change[best]) * (1 - RELATIVE) - room
    if problem.quantity == "slope":
        lower /= float(far[best]) * (1 + RELATIVE) + room
    inputs = dict.fromkeys(problem.inputs, 0.0)
    inputs |= {name: float(e[best]) * (1 + RELATIVE) + room for name, e in error.items()}
    method = f"search with gradients, {restarts} restarts"
    return AttackFinding(problem.statement, dict(problem.fixed) | inputs, LowerBound(lower, method))
