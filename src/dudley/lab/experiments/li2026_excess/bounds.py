"""What li2026 says of the trained heads: which statement, on which numbers.

| inputs | statements |
|---|---|
| ±scale, bounded | Theorem 5.3 (norms), Theorem 5.8 (ranks) |
| gaussian, truncated | Theorem 6.6 |
| heavy-tailed, truncated | Theorem 6.11; printed also for the robust loss on whole inputs, (13) |

Nothing is said where inputs are neither bounded nor truncated, where the loss is not Lipschitz
(square loss and unbounded noise), or where the target is not best for the loss (ψ of the logistic
loss). Excess risks are those of the loss that is trained on. All hold for exact minimisers.

>>> task = Taught(T=6, d=4, law="gaussian", scale=0.5, kind="regression", truncation="tail", m=100)
>>> [(id, values["kappa"], forms) for id, values, forms in questions(task, "square")]
[('li2026/theorem-6.6', 2.0, ('printed', 'derived', 'best'))]
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from dudley.lab.experiments.li2026_excess.classes import FORMS
from dudley.lab.experiments.li2026_excess.heads import POWERS, Taught
from dudley.lab.experiments.li2026_excess.tails import SIGN
from dudley.networks.robust import LogTruncation
from dudley.train.tasks.base import finite

Question = tuple[str, dict[str, float], tuple[str, ...]]


def questions(task: Taught, loss: str) -> list[Question]:
    """Statements on a task and a loss, their inputs, and which of their forms apply."""
    κ, p = lipschitz(task, loss), power_of(loss)
    if math.isinf(κ):
        return []
    n, B, R, s = finite(task, task.m), task.readout, task.radius, task.inputs
    inputs: dict[str, float] = {"n": n, "kappa": κ, "target.bound": B, "d": task.d, "k": task.d}
    inputs |= {"noise.free": float(task.kind == "regression" and task.noise == 0)}
    inputs |= {"w.l2": B, "sigma.lipschitz": 1.0, "L": 1}
    norms = {"W_QK.l11": R, "W_v.l11": R, "W_c.l11": R}
    ranks: dict[str, float] = dict.fromkeys(("r_QK", "r_v", "r_c"), task.d)
    ranks |= {"W_QK.op": R, "W_v.op": R, "W_c.op": R}  # ‖W‖_op ≤ ‖W‖_{1,1}
    if task.law == SIGN:
        token = {"X.row2inf": task.scale * math.sqrt(task.d)}
        whole = {"X.op": task.scale * math.sqrt(task.T * task.d)}
        if loss == "logistic":
            inputs["bernstein.V"] = logistic_variance(B)
        return [
            ("li2026/theorem-5.3", inputs | norms | token | {"T": task.T}, FORMS),
            ("li2026/theorem-5.8", inputs | ranks | token | whole, FORMS),
        ]
    if not s.heavy:
        if task.truncation is None:
            return []
        tail = {"T": task.T, "tail.nu": s.ν, "truncation": task.level}
        return [("li2026/theorem-6.6", inputs | norms | tail, FORMS)]
    if task.truncation is None and p is None:
        return []
    level = s.level(n) if task.truncation is None else task.level
    tail = {"tail.C": s.C, "tail.beta": s.β, "truncation": level, "psi.power": p or 2.0}
    forms = ("printed",) if task.truncation is None else FORMS
    return [("li2026/theorem-6.11", inputs | ranks | tail, forms)]


def power_of(loss: str) -> float | None:
    """p of a robust loss, None for a plain one."""
    return next((p for name, p in POWERS.items() if loss.startswith(name + "-")), None)


def lipschitz(task: Taught, loss: str) -> float:
    """κ of the base loss; of a robust one, the κ for which κB_ψ is its Lipschitz constant."""
    p = power_of(loss)
    if task.kind == "classification":
        return 1.0 if p is None else math.inf
    if task.noise == 0:
        return 2 * task.readout  # |f − f*| ≤ 2B_w
    return math.inf if p is None else steepest(p) / LogTruncation(p).lipschitz


@cache
def steepest(p: float) -> float:
    """The largest slope of r ↦ ψ_p(r²/2), for residuals of any size: max r·ψ_p′(r²/2)."""
    r = np.geomspace(1e-3, 1e3, 200_001)
    return float((r * LogTruncation(p).slope(r * r / 2)).max()) * (1 + 1e-6)


@cache
def logistic_variance(B: float, points: int = 401) -> float:
    """V with E[g²|X] ≤ V·E[g|X] for the logistic loss and |f|, |f*| ≤ B, on a grid of both."""
    u = np.linspace(-B, B, points)
    f, best = np.meshgrid(u, u, indexing="ij")
    p = 1 / (1 + np.exp(-best))
    excess = np.logaddexp(0, -f) - np.logaddexp(0, -best)
    nought = np.logaddexp(0, f) - np.logaddexp(0, best)
    first, second = p * excess + (1 - p) * nought, p * excess**2 + (1 - p) * nought**2
    apart = np.abs(f - best) > 1e-3
    return 1.01 * max(2.0, float((second[apart] / first[apart]).max()))
