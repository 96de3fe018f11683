"""What reads the last layer: a scalar from one row, or logits over a vocabulary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dudley.calculus import arithmetic
from dudley.calculus.facts import Facts, Parameter, Signal, Use
from dudley.calculus.node import Node
from dudley.core.arrays import namespace
from dudley.core.constraint import Constraint, radius_of, size_of
from dudley.core.entropy import Metric
from dudley.core.errors import InputError
from dudley.core.lemma import Lemma
from dudley.core.magnitude import ONE, smallest
from dudley.networks.pointwise import Pool, bias_use, expect_constraints
from dudley.networks.registry import NODES


@NODES.register("readout")
@dataclass(frozen=True)
class Readout(Node):
    """X ↦ x·w for the row x that ``pool`` chooses, one number per example."""

    w: Constraint
    pool: str = "cls"
    lemma = Lemma(
        "Readout",
        "A linear functional of one row.",
        r"|w\cdot y-\hat w\cdot\hat y|\le\|w\|_2\|y-\hat y\|+|(w-\hat w)\cdot\hat y|",
        "edelman2021, Lemma A.16; trauger2024, Lemma E.3",
    )

    def __post_init__(self) -> None:
        expect_constraints(self)
        Pool(self.pool)

    def facts(self, signal: Signal) -> Facts:
        w = Parameter((signal.width, 1), self.w)
        out = Signal(signal.reach(w), 1.0, 1)
        return Facts(out, w.norm(), (Use("w", w, signal.radius, rows=1.0, l1=signal.l1),))

    def functional(self, width: int) -> Parameter:
        return Parameter((width, 1), self.w)

    def parameters(self, width: int) -> tuple[dict[str, Parameter], int]:
        return {"w": Parameter((width, 1), self.w)}, 1

    def rounding(self, signal: Signal) -> float:
        w = float(Parameter((signal.width, 1), self.w).norm("fro"))
        pooled = Pool(self.pool).rounding(signal)
        return w * (pooled + arithmetic.γ(signal.width) * (float(signal.radius) + pooled))

    def apply(self, params: Any, X: Any) -> Any:
        return Pool(self.pool).apply({}, X) @ params["w"]


@NODES.register("logits")
@dataclass(frozen=True)
class Logits(Node):
    """Each row x ↦ xW + b ∈ R^V, measured by its largest coordinate: classes or masked tokens.

    ``rows`` restricts the loss to that many rows per example (masked positions); 0 means the
    [CLS] row alone. ``cap`` = c > 0 puts c·tanh(z/c) in the place of a logit z: slope 1 at most,
    size c at most.
    """

    V: int
    W: Constraint
    rows: int = 0
    b: Constraint | None = None
    cap: float | None = None
    lemma = Lemma(
        "Logits",
        "Coordinates are linear functionals of a row; the error is the largest of them.",
        r"\|xW-\hat x\hat W\|_\infty\le\max_j\|W_{:,j}\|_2\|x-\hat x\|+\|\hat x\Delta W\|_\infty",
        "trauger2024, Theorem 5.1",
    )

    def __post_init__(self) -> None:
        expect_constraints(self)
        size_of("V", self.V)
        if self.rows != 0:
            size_of("rows", self.rows)
        if self.cap is not None and radius_of("cap of the logits", self.cap) == 0:
            raise InputError("cap of the logits", "a number > 0", self.cap)

    def facts(self, signal: Signal) -> Facts:
        W = Parameter((signal.width, self.V), self.W)
        rows = float(self.rows or 1)
        if rows > signal.rows:
            raise InputError("rows of the logits", f"at most {signal.rows:g}", self.rows)
        radius = W.norm("col2inf") * signal.radius
        uses = [Use("W", W, signal.radius, form="logits", rows=rows, l1=signal.l1)]
        if self.b is not None:
            radius = radius + Parameter((1, self.V), self.b).norm("linf")
            uses += bias_use("b", self.b, self.V, ONE, form="logits")
        radius = radius if self.cap is None else smallest(radius, self.cap)
        out = Signal(radius, rows, self.V, metric=Metric.LOGITS)
        return Facts(out, W.norm("col2inf"), tuple(uses))

    def parameters(self, width: int) -> tuple[dict[str, Parameter], int]:
        blocks = {"W": Parameter((width, self.V), self.W)}
        blocks |= {} if self.b is None else {"b": Parameter((1, self.V), self.b)}
        return blocks, self.V

    def rounding(self, signal: Signal) -> float:
        """In the largest coordinate, so column by column."""
        if self.cap is not None:
            raise InputError("node with a proven rounding error", "no cap", "capped logits")
        p = self.parameters(signal.width)[0]
        b = float(p["b"].norm("linf")) if "b" in p else 0.0
        largest = float(signal.radius) * float(p["W"].norm("col2inf")) + b
        return arithmetic.γ(signal.width + 1) * largest

    def apply(self, params: Any, X: Any) -> Any:
        rows = X[..., -1:, :] if self.rows == 0 else X[..., : self.rows, :]
        logits = rows @ params["W"] + params.get("b", 0)
        return logits if self.cap is None else self.cap * namespace(X).tanh(logits / self.cap)
