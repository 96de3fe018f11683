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
(layers in sequence that share it), and shared weights that stand before one another in turn, decide
their own points. Their centres are corrected step by step at points that are computed anew after
each step, and a centre is the word of its corrections (``classes.covers.sequence``); or they are
covered for all inputs at once. Who is chosen when is settled in ``calculus.tie``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from dudley.calculus import arithmetic
from dudley.calculus.arithmetic import through
from dudley.calculus.augment import behind, facts_with_alarm
from dudley.calculus.facts import Facts, Signal, Use
from dudley.calculus.node import Node, Part
from dudley.core.constraint import size_of
from dudley.core.errors import InputError
from dudley.core.lemma import Lemma
from dudley.core.magnitude import ONE, ZERO, Magnitude, largest


@dataclass(frozen=True)
class Chain(Node):
    """x ↦ f_L(… f_2(f_1(x)))."""

    nodes: tuple[Node, ...]
    gathers: ClassVar[bool] = True
    lemma = Lemma(
        "Composition",
        "Block errors pass through the true successors; covered predecessors are clipped.",
        r"\|f-\hat f\|\le\sum_i\Bigl(\prod_{j>i}L_j\Bigr)\,\|f_i-\hat f_i\|",
        "edelman2021, Lemma A.15; trauger2024, Lemma E.2",
    )

    def facts(self, signal: Signal) -> Facts:
        parts = []
        for node in self.nodes:
            parts.append(facts_with_alarm(node, signal.expect_rows()))
            signal = parts[-1].out
        uses: list[Use] = []
        after, alarm = ONE, ZERO
        for i in range(len(parts) - 1, -1, -1):
            uses = [*scaled(parts[i].uses, after, str(i), alarm=alarm), *uses]
            after = after * parts[i].lipschitz
            alarm = largest(parts[i].alarm, behind(parts[i].lipschitz, alarm))
        return Facts(signal, after, tuple(uses), alarm)

    def parameters(self, width: int) -> tuple[list, int]:
        nests = []
        for node in self.nodes:
            nest, width = node.parameters(width)
            nests.append(nest)
        return nests, width

    def apply(self, params: Any, X: Any) -> Any:
        for node, nest in zip(self.nodes, params, strict=True):
            X = node.apply(nest, X)
        return X

    def parts(self) -> tuple[Part, ...]:
        return tuple(Part(node, (i,), f"{i}.", i == 0) for i, node in enumerate(self.nodes))

    def with_parts(self, nodes: Sequence[Node]) -> Chain:
        return Chain(tuple(nodes))

    def stages(self) -> tuple[Part, ...]:
        return self.parts()

    def rounding(self, signal: Signal) -> float:
        """e_i: what node i adds on rows of radius R + e_{i−1}, and its slope times e_{i−1}."""
        e = 0.0
        for node in self.nodes:
            e = through(node, signal, e)
            signal = node.facts(signal).out
        return e


@dataclass(frozen=True)
class Residual(Node):
    """x ↦ x + f(x), for f with as many outputs as inputs."""

    inner: Node
    adds_input: ClassVar[bool] = True
    lemma = Lemma(
        "Residual connection",
        "Radii and Lipschitz constants add to the identity's.",
        r"R\mapsto R+R_f,\qquad L=1+L_f",
        "triangle inequality",
    )

    def facts(self, signal: Signal) -> Facts:
        inner = facts_with_alarm(self.inner, signal)
        expect_shape("residual connection", signal, inner.out.expect_rows())
        out = replace(inner.out, radius=signal.radius + inner.out.radius, l1=None)
        return Facts(out, inner.lipschitz + 1, inner.uses, inner.alarm)

    def parameters(self, width: int) -> tuple[Any, int]:
        return self.inner.parameters(width)

    def apply(self, params: Any, X: Any) -> Any:
        return X + self.inner.apply(params, X)

    def parts(self) -> tuple[Part, ...]:
        return (Part(self.inner, (), "", reads_input=True),)

    def with_parts(self, nodes: Sequence[Node]) -> Residual:
        (inner,) = nodes
        return Residual(inner)

    def introduction(self) -> str:
        return "+ "

    def rounding(self, signal: Signal) -> float:
        inner = self.inner.rounding(signal)
        return inner + arithmetic.U * (float(self.facts(signal).out.radius) + inner)


@dataclass(frozen=True)
class Parallel(Node):
    """x ↦ Σ_h f_h(x): heads with weights of their own, outputs added."""

    nodes: tuple[Node, ...]
    gathers: ClassVar[bool] = True
    lemma = Lemma(
        "Sum of heads",
        "Radii, Lipschitz constants and errors of the summands add.",
        r"R=\sum_hR_h,\qquad L=\sum_hL_h",
        "edelman2021, Lemma A.12",
    )

    def facts(self, signal: Signal) -> Facts:
        parts = [facts_with_alarm(node, signal) for node in self.nodes]
        radius, lipschitz = parts[0].out.radius, parts[0].lipschitz
        for part in parts[1:]:
            expect_shape("sum of heads", parts[0].out, part.out)
            radius, lipschitz = radius + part.out.radius, lipschitz + part.lipschitz
        uses = [use for h, part in enumerate(parts) for use in scaled(part.uses, ONE, str(h), "+")]
        alarm = largest(*(part.alarm for part in parts))
        return Facts(replace(parts[0].out, radius=radius, l1=None), lipschitz, tuple(uses), alarm)

    def parameters(self, width: int) -> tuple[list, int]:
        pairs = [node.parameters(width) for node in self.nodes]
        return [nest for nest, _ in pairs], pairs[0][1]

    def apply(self, params: Any, X: Any) -> Any:
        return sum(node.apply(nest, X) for node, nest in zip(self.nodes, params, strict=True))

    def parts(self) -> tuple[Part, ...]:
        return tuple(Part(node, (h,), f"{h}.", True) for h, node in enumerate(self.nodes))

    def with_parts(self, nodes: Sequence[Node]) -> Parallel:
        return Parallel(tuple(nodes))

    def rounding(self, signal: Signal) -> float:
        errors = [node.rounding(signal) for node in self.nodes]
        sizes = [
            float(node.facts(signal).out.radius) + e
            for node, e in zip(self.nodes, errors, strict=True)
        ]
        return sum(errors) + arithmetic.γ(len(errors)) * sum(sizes)


@dataclass(frozen=True)
class Heads(Node):
    """x ↦ Σ_{h ≤ H} f_h(x), H heads of equal shape and norm bounds, each with its own weights."""

    inner: Node
    H: int
    gathers: ClassVar[bool] = True
    lemma = Parallel.lemma

    def __post_init__(self) -> None:
        size_of("H", self.H)

    def facts(self, signal: Signal) -> Facts:
        head = facts_with_alarm(self.inner, signal)
        uses = tuple(replace(use, copies=use.copies * self.H) for use in head.uses)
        out = replace(head.out, radius=head.out.radius * self.H, l1=None)
        return Facts(out, head.lipschitz * self.H, uses, head.alarm)

    def parameters(self, width: int) -> tuple[list, int]:
        nest, width = self.inner.parameters(width)
        return [nest] * self.H, width

    def apply(self, params: Any, X: Any) -> Any:
        return sum(self.inner.apply(nest, X) for nest in params)

    def parts(self) -> tuple[Part, ...]:
        return tuple(Part(self.inner, (h,), "", reads_input=True) for h in range(self.H))

    def with_parts(self, nodes: Sequence[Node]) -> Parallel:
        """Heads with norms of their own."""
        return Parallel(tuple(nodes))

    def introduction(self) -> str:
        return f"{self.H} heads × "

    def rounding(self, signal: Signal) -> float:
        return Parallel((self.inner,) * self.H).rounding(signal)


def expect_shape(what: str, wanted: Signal, got: Signal) -> None:
    """Refuse to add signals of different rows or widths."""
    if (got.width, got.rows) != (wanted.width, wanted.rows):
        raise InputError(
            what,
            f"{wanted.rows:g} rows of width {wanted.width}",
            f"{got.rows:g} rows of width {got.width}",
        )


def scaled(
    uses: Iterable[Use],
    factor: Magnitude,
    prefix: str,
    kind: str = "",
    alarm: Magnitude = ZERO,
) -> tuple[Use, ...]:
    """The uses behind further nodes: weights multiplied, names and places prefixed.

    ``factor`` is the slope of those nodes, ``alarm`` that of the alarms in them.
    """
    return tuple(
        replace(
            use,
            weight=use.weight * factor,
            alarm=largest(use.alarm, behind(use.weight, alarm)),
            name=f"{prefix}.{use.name}",
            place=(kind + prefix, *use.place),
        )
        for use in uses
    )
