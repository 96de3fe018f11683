"""Observe: what activations do on given data. Diagnostics, never part of a guarantee.

Every part of the network is wrapped so that its own ``apply`` leaves a trace: the largest ℓ2 norm
of a row it gives, and for attention the mean entropy of its weights in nats (0: one token takes
all; log T: all alike). All numbers are ``Observed``: unseen inputs may exceed them.

>>> import dudley as du
>>> from dudley.core.backend import torch
>>> X = torch.tensor([[[3.0, 4.0], [0.0, 1.0]]])
>>> W = {"W_QK": torch.zeros(2, 2), "W_v": torch.eye(2)}
>>> print(observe(du.Head(2, du.Spectral(1.0), du.Spectral(1.0)), W, X))
observed on 1 examples; unseen inputs may exceed it
  input                      largest row norm    5
  Head                       attention entropy   0.693147
  Head                       largest row norm    2.91548
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dudley.calculus.facts import Facts, Signal
from dudley.calculus.nest import Path, name_of
from dudley.calculus.node import Node, Part
from dudley.core.assumption import Assumption, Status
from dudley.core.backend import torch
from dudley.core.constraint import Observed
from dudley.core.errors import InputError
from dudley.core.lemma import Lemma
from dudley.core.magnitude import Magnitude
from dudley.models.rewrite import rewritten
from dudley.networks.general import GeneralHead
from dudley.networks.normalisers import NormalisedLinear, Normaliser, normaliser

ROWS, ENTROPY = "largest row norm", "attention entropy"


@dataclass(frozen=True)
class Seen:
    """One number measured on data: where, what, how much."""

    where: str
    what: str
    value: Observed

    def __str__(self) -> str:
        return f"  {self.where:<26} {self.what:<18}  {float(self.value):.6g}"


@dataclass(frozen=True)
class Observation:
    """What a network did on some examples."""

    rows: tuple[Seen, ...]
    examples: int

    def value(self, where: str, what: str = ROWS) -> Observed:
        """One of the numbers, still ``Observed``."""
        values = [seen.value for seen in self.rows if (seen.where, seen.what) == (where, what)]
        if not values:
            known = sorted({seen.where for seen in self.rows})
            raise InputError("place of an observation", ", ".join(known), where)
        return values[0]

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """Each number as what it is: seen on data only."""
        return tuple(
            Assumption(seen.where, f"{seen.what} {float(seen.value):g}", Status.OBSERVED)
            for seen in self.rows
        )

    def __str__(self) -> str:
        first = f"observed on {self.examples} examples; unseen inputs may exceed it"
        return "\n".join([first, *map(str, self.rows)])


@dataclass(frozen=True, eq=False)
class Watched(Node):
    """A node that tells what it gives; to be run, not bounded."""

    inner: Node
    tell: Callable[[Any], None]
    lemma = Lemma("Observation", "Not a bound.", "", "")

    def facts(self, signal: Signal) -> Facts:
        raise InputError("network", "a node that can be bounded", "one that is being observed")

    def parameters(self, width: int) -> tuple[Any, int]:
        return self.inner.parameters(width)

    def parts(self) -> tuple[Part, ...]:
        return (Part(self.inner, (), "", reads_input=True),)

    def with_parts(self, nodes: Sequence[Node]) -> Node:
        (inner,) = nodes
        return dataclasses.replace(self, inner=inner)

    def apply(self, params: Any, X: Any) -> Any:
        Y = self.inner.apply(params, X)
        self.tell(Y)
        return Y


@dataclass(frozen=True, eq=False)
class WatchedWeights(Normaliser):
    """A normaliser that tells the weights it gives."""

    inner: Normaliser
    tell: Callable[[Any], None]

    def mass(self, ρ: Magnitude, T: float) -> Magnitude:
        return self.inner.mass(ρ, T)

    def lipschitz(self, ρ: Magnitude, T: float) -> Magnitude:
        return self.inner.lipschitz(ρ, T)

    def apply(self, scores: Any, allowed: Any = None) -> Any:
        weights = self.inner.apply(scores, allowed)
        self.tell(weights)
        return weights


def observe(node: Node, params: Any, X: torch.Tensor) -> Observation:
    """Run the node on X, shape (…, T, d), and note what its parts do."""
    seen: list[Seen] = []

    def note(
        path: Path, kind: str, what: str, measure: Callable[[torch.Tensor], float]
    ) -> Callable[[torch.Tensor], None]:
        where = " ".join(part for part in (name_of(path), kind) if part)
        return lambda Y: seen.append(Seen(where, what, Observed(measure(Y))))

    def change(path: Path, part: Node) -> Node:
        if part.gathers:
            return part
        kind = type(part).__name__
        listening = _listening(part, note(path, kind, ENTROPY, _entropy))
        return Watched(listening, note(path, kind, ROWS, _largest_row))

    watched = rewritten(node, change)
    with torch.no_grad():
        first = Seen("input", ROWS, Observed(_largest_row(X)))
        watched.apply(params, X)
    return Observation((first, *seen), X.shape[:-2].numel())


def _listening(part: Node, tell: Callable[[Any], None]) -> Node:
    """The node with its attention weights told, if it has any."""
    if isinstance(part, GeneralHead) and part.functions is not None:
        score, norm, phi_in, phi_out = part.functions

        def telling(s: torch.Tensor) -> torch.Tensor:
            weights = norm(s)  # (…, T, 1)
            tell(weights.swapaxes(-1, -2))
            return weights

        return dataclasses.replace(part, functions=(score, telling, phi_in, phi_out))
    attention = getattr(part, "attention", None)
    if attention is None or isinstance(normaliser(attention), NormalisedLinear):
        return part
    watched = WatchedWeights(normaliser(attention), tell)
    return dataclasses.replace(part, attention=watched)  # pyright: ignore


def _largest_row(Y: torch.Tensor) -> float:
    return float(Y.double().norm(dim=-1).max())


def _entropy(weights: torch.Tensor) -> float:
    """The mean over queries of −Σ a log a, of weights made to sum to one."""
    a = weights.double()
    a = a / a.sum(-1, keepdim=True)
    return float(torch.special.entr(a).sum(-1).mean())
