"""Repeat: layers of equal shape and norm bounds, each with weights of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dudley.calculus import ladder
from dudley.calculus.augment import behind, facts_with_alarm, is_silent
from dudley.calculus.compose import Chain, scaled
from dudley.calculus.facts import Facts, Signal
from dudley.calculus.node import Node, Part
from dudley.core.constraint import size_of
from dudley.core.magnitude import Magnitude, largest


@dataclass(frozen=True)
class Repeat(Node):
    """L layers of equal shape and norm bounds, each with weights of its own.

    Facts are evaluated once, on the vector of the layers' input radii (``ladder``).
    """

    inner: Node
    L: int
    gathers: ClassVar[bool] = True
    lemma = Chain.lemma

    def __post_init__(self) -> None:
        size_of("L", self.L)

    def facts(self, signal: Signal) -> Facts:
        if signal.l1 is not None and self.L > 1:  # only the first layer sees the inputs' ℓ1 norm
            return Chain((self.inner, Repeat(self.inner, self.L - 1))).facts(signal)
        stacked, out = self._radii(signal)
        every = facts_with_alarm(self.inner, replace(signal, radius=Magnitude(stacked)))
        slopes = np.broadcast_to(every.lipschitz.log, stacked.shape)
        after = np.concatenate([np.cumsum(slopes[::-1], axis=0)[-2::-1], np.zeros_like(slopes[:1])])
        uses = tuple(replace(use, weight=_spread(use.weight, stacked.shape)) for use in every.uses)
        lipschitz = Magnitude(slopes.sum(axis=0)[()])
        alarms = _alarms(every, stacked.shape)
        uses = scaled(uses, Magnitude(after), "*", alarm=Magnitude(alarms[1:]))
        return Facts(replace(out, l1=None), lipschitz, uses, Magnitude(alarms[0][()]))

    def _radii(self, signal: Signal) -> tuple[np.ndarray, Signal]:
        """log of the layers' input radii, layers first, and what leaves the last layer.

        An enclosing Repeat has the axes behind.
        """
        log_R, out = np.asarray(signal.radius.log)[None], self.inner.facts(signal).out
        if self.L == 1:
            return log_R, out
        later = out.expect_rows()

        def outputs(log_R: np.ndarray) -> Signal:
            return self.inner.facts(replace(later, radius=Magnitude(log_R[()]))).out.expect_rows()

        others = ladder.radii(
            lambda log_R: np.asarray(outputs(log_R).radius.log),
            np.asarray(later.radius.log),
            self.L - 1,
        )
        return np.concatenate([log_R, others]), outputs(others[-1])

    def parameters(self, width: int) -> tuple[list, int]:
        nest, width = self.inner.parameters(width)
        return [nest] * self.L, width

    def apply(self, params: Any, X: Any) -> Any:
        for nest in params:
            X = self.inner.apply(nest, X)
        return X

    def parts(self) -> tuple[Part, ...]:
        return tuple(Part(self.inner, (i,), "*.", i == 0, layer=i) for i in range(self.L))

    def with_parts(self, nodes: Sequence[Node]) -> Chain:
        """Layers with norms of their own."""
        return Chain(tuple(nodes))

    def input_width(self) -> int | None:
        return self.inner.input_width()

    def introduction(self) -> str:
        return f"{self.L} × "

    def rounding(self, signal: Signal) -> float:
        return Chain((self.inner,) * self.L).rounding(signal)


def _alarms(every: Facts, shape: tuple[int, ...]) -> np.ndarray:
    """The log slope of the alarms from each layer on in what it reads; behind the last none."""
    logs = np.full((shape[0] + 1, *shape[1:]), -np.inf)
    if every.alarm is None or is_silent(every.alarm):
        return logs
    slopes, inside = (np.broadcast_to(x.log, shape) for x in (every.lipschitz, every.alarm))
    for i in range(shape[0] - 1, -1, -1):
        after = behind(Magnitude(slopes[i]), Magnitude(logs[i + 1]))
        logs[i] = largest(Magnitude(inside[i]), after).log
    return logs


def _spread(weight: Magnitude, shape: tuple[int, ...]) -> Magnitude:
    """A weight for each layer; layers of a Repeat inside have their axes in front."""
    full = np.broadcast_shapes(np.shape(weight.log), shape)
    return Magnitude(np.broadcast_to(weight.log, full))
