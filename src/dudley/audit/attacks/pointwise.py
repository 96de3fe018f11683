"""Pointwise: softmax, the projection onto the ball, readouts and cross-entropy, moved.

No search is needed: the largest changes are known by hand. Softmax of two scores moved against each
other changes by 2 tanh(e/2); rows inside the ball are not projected; a readout aligned with the
errors adds them up; a loss on a hopeless class falls by twice the largest change of a logit. Each
instance is computed, not its formula; what is reported leaves room for rounding.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dudley.audit.base import ATTACKS, Attack, AttackFinding
from dudley.core.constraint import Spectral
from dudley.networks.normalisers import Softmax
from dudley.networks.outputs import Readout
from dudley.networks.pointwise import ProjectRows
from dudley.theorems.witness.lower import LowerBound

ROOM = 1e-12


def finding(statement: str, change: float, **errors: float) -> AttackFinding:
    """Errors rounded up, the change rounded down."""
    inputs = {name.replace("_", ".", 1): e * (1 + ROOM) + ROOM for name, e in errors.items()}
    return AttackFinding(statement, inputs, LowerBound(change * (1 - ROOM) - 2 * ROOM, "by hand"))


@ATTACKS.register("softmax moves")
class SoftmaxMoves(Attack):
    """Two scores moved against each other, and random ones.

    For two scores the entries of the Jacobian sum to 4q(1−q) ≤ 1, the c_f of Lemma A.6.
    """

    targets = ("edelman2021/lemma-A.6", "edelman2021/corollary-A.7", "trauger2024/lemma-C.1")

    def run(self, rng: np.random.Generator) -> Iterator[AttackFinding]:
        for e in (0.01, 1.0, 6.0):
            scores = np.array([e / 2, -e / 2])
            change = np.abs(Softmax().apply(scores) - Softmax().apply(-scores)).sum()
            yield finding(self.targets[0], change, error_score=e, attention_lipschitz=1.0)
            for statement in self.targets[1:]:
                yield finding(statement, change, error_score=e)
        for _ in range(20):
            θ = rng.normal(size=int(rng.integers(2, 8))) * rng.uniform(0, 3)
            moved = θ + rng.choice([-1.0, 1.0], size=θ.size) * 10 ** rng.uniform(-2, 0.7)
            change = np.abs(Softmax().apply(θ) - Softmax().apply(moved)).sum()
            for statement in self.targets[1:]:
                yield finding(statement, change, error_score=float(np.abs(θ - moved).max()))


@ATTACKS.register("projections move")
class ProjectionMoves(Attack):
    """Rows inside the ball, opposite rows on it, and random ones."""

    targets = ("edelman2021/lemma-A.9",)

    def run(self, rng: np.random.Generator) -> Iterator[AttackFinding]:
        u, v = rng.normal(size=(2, 20, 3)) * 10 ** rng.uniform(-1, 1, (2, 20, 1))
        u[0], v[0] = (0.6, 0.0, 0.0), (0.0, 0.5, 0.0)
        u[1], v[1] = (1.0, 0.0, 0.0), (-1.0, 0.0, 0.0)
        Π = ProjectRows().apply
        for a, b in zip(u, v, strict=True):
            change = float(np.linalg.norm(Π({}, a) - Π({}, b)))
            yield finding(self.targets[0], change, error_rows=float(np.linalg.norm(a - b)))


@ATTACKS.register("readouts move")
class ReadoutMoves(Attack):
    """A readout whose weights point along the change of its row, and random ones."""

    targets = ("edelman2021/lemma-A.16", "trauger2024/lemma-E.3")

    def run(self, rng: np.random.Generator) -> Iterator[AttackFinding]:
        apply = Readout(Spectral(1.0)).apply
        for i in range(10):
            w, Δw, y, Δy = rng.normal(size=(4, 3, 1))
            if i == 0:
                Δy, y = 0.3 * w, np.sign(float((Δw * y).sum())) * y
            hat_w, hat_y = w - Δw, y - Δy
            if i == 0:  # both parts of the change have one sign
                hat_w = w - np.sign(float((Δw * hat_y).sum())) * Δw
            change = float(np.abs(apply({"w": w}, y.T) - apply({"w": hat_w}, hat_y.T)).item())
            size = float(np.linalg.norm(w))
            error_w = float(np.abs((w - hat_w).T @ hat_y).item())
            moved = float(np.linalg.norm(y - hat_y))
            yield finding(self.targets[0], change, w_l2=size, error_rows=moved, error_w=error_w)
            yield finding(self.targets[1], change, w_l2=size, error_output=moved, error_w=error_w)


@ATTACKS.register("cross-entropy moves")
class LossMoves(Attack):
    """The logit of a hopeless class rises while the others fall, and random moves."""

    targets = ("trauger2024/appendix-G",)

    def run(self, rng: np.random.Generator) -> Iterator[AttackFinding]:
        for i in range(10):
            x, Δ = rng.normal(size=(2, 4)) * 10 ** rng.uniform(-2, 1, (2, 1))
            if i == 0:
                x, Δ = np.array([-20.0, 20.0, 0.0, 0.0]), np.array([0.5, -0.5, -0.5, -0.5])
            change = abs(_loss(x) - _loss(x + Δ))
            yield finding(self.targets[0], change, error_logits=float(np.abs(Δ).max()))


def _loss(x: np.ndarray) -> float:
    """Cross-entropy of the first class."""
    return float(np.log(np.exp(x - x.max()).sum()) + x.max() - x[0])
