"""Compose: sensitivities of a whole network from the local facts of its nodes.

Errors and radii are measured in the largest ℓ2 norm of a row. A node, for inputs of radius R,
declares its output radius, its Lipschitz constant on that ball, and for each block of weights
the *weight*: output change per unit error of the block's map on unit inputs.

The rule. Let f̂ replace every block by its centre. Telescoping from the input,

    f − f̂ = Σ_i (f_L ∘ … ∘ f_{i+1}) ∘ (f_i − f̂_i) ∘ (f̂_{i−1} ∘ … ∘ f̂_1):

block i sees inputs from *covered* predecessors, clipped to the declared radius (a non-expansive
map that leaves true outputs alone; inside a head the covered queries, keys, scores and hidden
rows are clipped as well), and successors carry *true* weights. So the weight of block i
is multiplied by the Lipschitz constants of the nodes after it, and nothing else. Where every
centre is itself a member of the class no clipping is needed and the cover of the network is
proper. (edelman2021 Lemma A.15 and trauger2024 Lemma E.2 are instances; a cover that leaves the
norm ball breaks the version without clipping.)

Covers on points. What block i sees depends on the centres of the blocks before it, so a cover
that serves given points is chosen after those centres. A weight that is used again behind itself
(layers in sequence that share it) would have to be chosen before its own points are known: for
such weights, and for shared weights that stand before one another in turn, only covers of
uniform scope are used (``tie_together``).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dudley.calculus.allocate import Allocated, WeightBlock, log_sum
from dudley.calculus.facts import Facts, Parameter, Signal, Use
from dudley.calculus.memory import remembered
from dudley.classes.best import BestOf
from dudley.core.constraint import size_of
from dudley.core.errors import InputError
from dudley.core.lemma import Lemma
from dudley.core.magnitude import ONE, Magnitude


class Node(ABC):
    """Abstract: a part of a network. ``a >> b`` feeds a's output to b."""

    lemma: ClassVar[Lemma]

    @abstractmethod
    def facts(self, signal: Signal) -> Facts:
        """Output signal, Lipschitz constant and uses of weights, on inputs like ``signal``."""

    @abstractmethod
    def parameters(self, width: int) -> tuple[Any, int]:
        """The blocks of weights for input rows of this width, and the width of the output rows.

        A dictionary of :class:`Parameter`, or a list of such, nested as ``apply`` expects arrays.
        """

    @abstractmethod
    def apply(self, params, X) -> Any:
        """The map itself on arrays X of shape (…, T, d), numpy or torch alike."""

    def children(self) -> Iterator[Node]:
        """The nodes inside this one."""
        return iter(())

    def __rshift__(self, other: Node) -> Chain:
        mine = self.nodes if isinstance(self, Chain) else (self,)
        theirs = other.nodes if isinstance(other, Chain) else (other,)
        return Chain(mine + theirs)


@dataclass(frozen=True)
class Chain(Node):
    """x ↦ f_L(… f_2(f_1(x)))."""

    nodes: tuple[Node, ...]
    lemma = Lemma(
        "Composition",
        "Block errors pass through the true successors; covered predecessors are clipped.",
        r"\|f-\hat f\|\le\sum_i\Bigl(\prod_{j>i}L_j\Bigr)\,\|f_i-\hat f_i\|",
        "edelman2021, Lemma A.15; trauger2024, Lemma E.2",
    )

    def facts(self, signal):
        parts = []
        for node in self.nodes:
            parts.append(node.facts(signal.expect_rows()))
            signal = parts[-1].out
        uses: list[Use] = []
        after = ONE
        for i in range(len(parts) - 1, -1, -1):
            uses = [*scaled(parts[i].uses, after, str(i)), *uses]
            after = after * parts[i].lipschitz
        return Facts(signal, after, tuple(uses))

    def parameters(self, width):
        params = []
        for node in self.nodes:
            own, width = node.parameters(width)
            params.append(own)
        return params, width

    def apply(self, params, X):
        for node, own in zip(self.nodes, params, strict=True):
            X = node.apply(own, X)
        return X

    def children(self):
        return iter(self.nodes)


@dataclass(frozen=True)
class Residual(Node):
    """x ↦ x + f(x), for f with as many outputs as inputs."""

    inner: Node
    lemma = Lemma(
        "Residual connection",
        "Radii and Lipschitz constants add to the identity's.",
        r"R\mapsto R+R_f,\qquad L=1+L_f",
        "triangle inequality",
    )

    def facts(self, signal):
        inner = self.inner.facts(signal)
        expect_shape("residual connection", signal, inner.out.expect_rows())
        out = replace(inner.out, radius=signal.radius + inner.out.radius, l1=None)
        return Facts(out, inner.lipschitz + 1, inner.uses)

    def parameters(self, width):
        return self.inner.parameters(width)

    def apply(self, params, X):
        return X + self.inner.apply(params, X)

    def children(self):
        yield self.inner


@dataclass(frozen=True)
class Parallel(Node):
    """x ↦ Σ_h f_h(x): heads with weights of their own, outputs added."""

    nodes: tuple[Node, ...]
    lemma = Lemma(
        "Sum of heads",
        "Radii, Lipschitz constants and errors of the summands add.",
        r"R=\sum_hR_h,\qquad L=\sum_hL_h",
        "edelman2021, Lemma A.12",
    )

    def facts(self, signal):
        parts = [node.facts(signal) for node in self.nodes]
        radius, lipschitz = parts[0].out.radius, parts[0].lipschitz
        for part in parts[1:]:
            expect_shape("sum of heads", parts[0].out, part.out)
            radius, lipschitz = radius + part.out.radius, lipschitz + part.lipschitz
        uses = [use for h, part in enumerate(parts) for use in scaled(part.uses, ONE, str(h), "+")]
        return Facts(replace(parts[0].out, radius=radius, l1=None), lipschitz, tuple(uses))

    def parameters(self, width):
        found = [node.parameters(width) for node in self.nodes]
        return [own for own, _ in found], found[0][1]

    def apply(self, params, X):
        return sum(n.apply(own, X) for n, own in zip(self.nodes, params, strict=True))

    def children(self):
        return iter(self.nodes)


@dataclass(frozen=True)
class Heads(Node):
    """x ↦ Σ_{h ≤ H} f_h(x), H heads of equal shape and norm bounds, each with its own weights."""

    inner: Node
    H: int
    lemma = Parallel.lemma

    def __post_init__(self):
        size_of("H", self.H)

    def facts(self, signal):
        one = self.inner.facts(signal)
        uses = tuple(replace(use, copies=use.copies * self.H) for use in one.uses)
        out = replace(one.out, radius=one.out.radius * self.H, l1=None)
        return Facts(out, one.lipschitz * self.H, uses)

    def parameters(self, width):
        own, width = self.inner.parameters(width)
        return [own] * self.H, width

    def apply(self, params, X):
        return sum(self.inner.apply(own, X) for own in params)

    def children(self):
        yield self.inner


@dataclass(frozen=True)
class Repeat(Node):
    """L layers of equal shape and norm bounds, each with weights of its own.

    Facts are evaluated once, on the vector of the layers' input radii.
    """

    inner: Node
    L: int
    lemma = Chain.lemma

    def __post_init__(self):
        size_of("L", self.L)

    def facts(self, signal):
        if signal.l1 is not None and self.L > 1:  # only the first layer sees the inputs' ℓ1 norm
            return Chain((self.inner, Repeat(self.inner, self.L - 1))).facts(signal)
        radii, out = [], signal
        for _ in range(self.L):
            radii.append(np.asarray(out.radius.log))
            out = self.inner.facts(out.expect_rows()).out
            if np.array_equal(out.radius.log, radii[-1]):  # layers past a fixed point are alike
                radii += [radii[-1]] * (self.L - len(radii))
                break
        stacked = np.stack(radii)  # layers first; an enclosing Repeat has the axes behind
        every = self.inner.facts(replace(signal, radius=Magnitude(stacked)))
        slopes = np.broadcast_to(every.lipschitz.log, stacked.shape)
        after = np.concatenate([np.cumsum(slopes[::-1], axis=0)[-2::-1], np.zeros_like(slopes[:1])])
        uses = tuple(replace(use, weight=_spread(use.weight, stacked.shape)) for use in every.uses)
        lipschitz = Magnitude(slopes.sum(axis=0)[()])
        return Facts(replace(out, l1=None), lipschitz, scaled(uses, Magnitude(after), "*"))

    def parameters(self, width):
        own, width = self.inner.parameters(width)
        return [own] * self.L, width

    def apply(self, params, X):
        for own in params:
            X = self.inner.apply(own, X)
        return X

    def children(self):
        yield self.inner


def _spread(weight: Magnitude, shape: tuple[int, ...]) -> Magnitude:
    """A weight for each layer; layers of a Repeat inside have their axes in front."""
    full = np.broadcast_shapes(np.shape(weight.log), shape)
    return Magnitude(np.broadcast_to(weight.log, full))


def expect_shape(what: str, wanted: Signal, got: Signal) -> None:
    """Refuse to add signals of different rows or widths."""
    if (got.width, got.rows) != (wanted.width, wanted.rows):
        raise InputError(
            what,
            f"{wanted.rows:g} rows of width {wanted.width}",
            f"{got.rows:g} rows of width {got.width}",
        )


def scaled(uses, factor: Magnitude, prefix: str, kind: str = "") -> tuple[Use, ...]:
    """The uses behind further nodes: weights multiplied, names and places prefixed."""
    return tuple(
        replace(
            use,
            weight=use.weight * factor,
            name=f"{prefix}.{use.name}",
            place=(kind + prefix, *use.place),
        )
        for use in uses
    )


def tie_together(uses) -> list[Use]:
    """Merge the uses of each shared parameter: weights add, and so do points.

    Uses of one shape and form share a cover of all their points, if none of these points depends
    on the centre that is chosen there, and a cover of uniform scope otherwise. Uses that differ
    (an embedding and its transpose) share a cover in spectral norm, which both orientations have
    in common.
    """
    shared: dict[str, list[Use]] = {}
    alone = []
    for use in uses:
        (shared.setdefault(use.tie, []) if use.tie is not None else alone).append(use)
    circular = _circular([use for use in uses if use.tie is not None])
    return alone + [_merged(name, group, name in circular) for name, group in shared.items()]


def _circular(uses: list[Use]) -> set[str]:
    """The shared parameters whose points depend on their own centre, directly or by others."""
    behind: dict[str, set[str]] = {use.tie or "": set() for use in uses}
    for i, use in enumerate(uses):
        again = [use] if np.size(use.weight.log) > 1 else []  # the layers of a Repeat
        later = [other for other in uses[i + 1 :] if not _apart(use.place, other.place)]
        behind[use.tie or ""] |= {other.tie or "" for other in again + later}
    for middle in behind:
        for first in behind:
            if middle in behind[first]:
                behind[first] |= behind[middle]
    return {name for name in behind if name in behind[name]}


def _apart(here: tuple[str, ...], there: tuple[str, ...]) -> bool:
    """Do two places part at the summands of a sum, so that neither sees the other's output?"""
    steps = zip(here, there, strict=False)
    return next((a.startswith("+") for a, b in steps if a != b), False)


def _merged(name: str, group: list[Use], circular: bool) -> Use:
    log_total = log_sum(
        np.concatenate([np.ravel(use.weight.log) + math.log(use.copies) for use in group])
    )
    first = group[0]
    merged = replace(
        first,
        name=name,
        weight=Magnitude(float(log_total)),
        copies=1,
        rows=sum(use.rows * use.count for use in group),
        pairs=sum(use.pairs * use.count for use in group),
    )
    if all((u.parameter, u.form, u.l1) == (first.parameter, first.form, first.l1) for u in group):
        return replace(merged, uniform=circular)
    assert isinstance(first.parameter, Parameter)
    shapes = {use.parameter.shape for use in group if isinstance(use.parameter, Parameter)}
    if not shapes <= {first.parameter.shape, first.parameter.shape[::-1]}:
        raise InputError(f"tied parameter {name}", "one shape or its transpose", sorted(shapes))
    return replace(merged, parameter=first.parameter.map.entropy().uniform())


def compose(
    network: Node, signal: Signal, covers: tuple[str, ...] | None = None
) -> tuple[Allocated, Facts]:
    """The entropy of the network on inputs like ``signal``, and its facts.

    ``covers`` restricts every block to the covers of these names: a paper's own way.
    """
    if np.ndim(signal.radius.log) or not hashable(network):
        return _composed(network, signal, covers)
    facts = (float(signal.radius.log), signal.rows, signal.width, signal.l1, signal.metric)
    return _composed_once(network, facts, covers)


def hashable(network: Node) -> bool:
    """Can results for this network be remembered?"""
    try:
        hash(network)
    except TypeError:
        return False
    return True


@remembered(64)
def _composed_once(network: Node, facts: tuple, covers) -> tuple[Allocated, Facts]:
    log_R, *others = facts
    return _composed(network, Signal(Magnitude(log_R), *others), covers)


def _composed(network: Node, signal: Signal, covers) -> tuple[Allocated, Facts]:
    facts = network.facts(signal)
    blocks = []
    for use in tie_together(facts.uses):
        entropy = use.entropy
        if isinstance(entropy, BestOf):
            entropy = entropy.only(covers)
        blocks.append(WeightBlock(use.name, entropy, use.weight, use.copies))
    if not blocks:
        raise InputError("network", "at least one block of trained weights", "none")
    return Allocated(tuple(blocks)), facts
