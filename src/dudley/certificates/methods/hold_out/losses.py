"""Losses in [0, 1] of a model's outputs, rounded up; which one is declared before the data.

    error                    1 where the margin is ≤ 0, else 0
    ramp                     min(1, max(0, 1 − margin/γ)), at least the error
    clipped cross-entropy    min(−ln q_y, C)/C, q = softmax of the logits (for one output f: the
                             logistic function of ±f)

A margin ≤ 0 means q_y ≤ ½, so a risk r of the third is an error of at most r·C/min(ln 2, C).

>>> outputs, y = np.array([[2.0], [0.5], [-1.0]]), np.array([1, 1, 1])
>>> losses(outputs, y, BoundedLoss("error")), losses(outputs, y, BoundedLoss("ramp", 1.0)).round(3)
(array([0., 0., 1.]), array([0. , 0.5, 1. ]))
>>> losses(outputs, y, BoundedLoss("clipped cross-entropy", 4.0)).round(3)
array([0.032, 0.119, 0.328])
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dudley.certificates.certificate import RISK
from dudley.certificates.methods.hold_out.declared import HoldOutDeclared
from dudley.certificates.predictor import margins
from dudley.core.errors import InputError
from dudley.core.rounding import up

LEVELS = {"error": None, "ramp": "margin", "clipped cross-entropy": "clip"}


@dataclass(frozen=True)
class BoundedLoss:
    """A loss, and its level: γ of the ramp, C of the cross-entropy."""

    name: str
    level: float | None = None

    def __post_init__(self):
        if self.name not in LEVELS:
            raise InputError("loss", " or ".join(LEVELS), self.name)
        what, level = LEVELS[self.name], self.level
        if what is None:
            if level is not None:
                raise InputError("loss error", "no margin and no clip level", level)
        elif level is None or not 1e-9 <= level <= 1e9:
            raise InputError(
                what, f"a number in [1e-9, 1e9], declared for the loss {self.name}", level
            )

    @property
    def quantity(self) -> str:
        """What a bound on its mean is a bound on."""
        if self.name == "error":
            return RISK
        if self.name == "ramp":
            return (
                f"mean ramp loss at margin {self.level:g} on a new example; "
                "at least the probability that the model errs on it"
            )
        return f"mean of min(cross-entropy, {self.level:g})/{self.level:g} on a new example"


def declared_loss(declared: HoldOutDeclared) -> BoundedLoss:
    """The loss that ``loss``, ``margin`` and ``clip`` declare; another loss's level is refused."""
    name = declared.loss
    if name not in LEVELS:
        raise InputError("loss", " or ".join(LEVELS), name)
    levels = {"margin": declared.margin, "clip": declared.clip, None: None}
    for what in ("margin", "clip"):
        if levels[what] is not None and LEVELS[name] != what:
            raise InputError(what, f"nothing: the loss is {name}", levels[what])
    return BoundedLoss(name, levels[LEVELS[name]])


def losses(outputs: np.ndarray, y: np.ndarray, loss: BoundedLoss) -> np.ndarray:
    """One number in [0, 1] an example, not below the loss of these outputs."""
    margin = margins(outputs, y)
    if loss.name == "error":
        return (margin <= 0).astype(np.float64)
    assert loss.level is not None
    if loss.name == "ramp":
        with np.errstate(over="ignore"):
            ramp = 1 - margin / loss.level + 2.0**-50
        return np.where(margin >= loss.level, 0.0, np.minimum(1.0, ramp))
    entropy = np.where(margin == -np.inf, np.inf, cross_entropy(outputs, y))
    with np.errstate(over="ignore"):
        return np.minimum(1.0, up(entropy / loss.level))


def cross_entropy(outputs: np.ndarray, y: np.ndarray) -> np.ndarray:
    """−ln q_y = ln(1 + Σ_{j≠y} e^{o_j − o_y}), from above; ∞ where it is undefined.

    A difference of logits errs by 2^{−53} of itself, so its exponential by |o_j − o_y| such units
    of itself: less than 745 of them, unless it is below 1e-300, the least value returned.
    """
    if outputs.shape[1] == 1:
        apart = np.where(y == 1, -outputs[:, 0], outputs[:, 0])[:, None]
    else:
        rows, label = np.arange(len(y)), y.astype(np.int64)
        with np.errstate(invalid="ignore", over="ignore"):
            apart = outputs - outputs[rows, label][:, None]
        apart[rows, label] = -np.inf
    top = np.maximum(apart.max(axis=1), 0.0)
    with np.errstate(invalid="ignore", under="ignore"):
        small = np.exp(apart - top[:, None]).sum(axis=1)
        whole = np.where(top == 0, np.log1p(small), top + np.log(np.exp(-top) + small))
        whole = np.where(np.isnan(whole), np.inf, np.maximum(whole, 1e-300))
    return up(whole, 2048 + 4 * outputs.shape[1])
