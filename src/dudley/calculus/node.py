"""Node: a part of a network, and the nodes that it wraps.

What a network is made of is known to its nodes alone. Whoever walks over one asks ``parts()``, and
``with_parts`` for the same network around other nodes; so a wrapping node that is written elsewhere
is explained, proved, rewritten, searched and certified like those of this package. Where a node
does not say what is needed, the answer is a refusal or infinity, never a guess.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from dudley.calculus.facts import Facts, Parameter, Signal
from dudley.calculus.nest import Path, entries
from dudley.core.errors import InputError
from dudley.core.lemma import Lemma
from dudley.core.shown import Shown

if TYPE_CHECKING:
    from dudley.calculus.compose import Chain


@dataclass(frozen=True)
class Part:
    """A node inside another one, and how it stands there.

    ``path`` leads from the nest of the wrapping node to that of the part, ``prefix`` is what the
    facts of the wrapping node put before the names of the part's uses. A part reads the input of
    the wrapping node, or else the output of the part before it. Layers that share one use have its
    prefix in common, and each the number of its ``layer``: its entry in the use's weight. Parts
    that have the prefix in common and no layers stand side by side, all alike.
    """

    node: Node
    path: Path
    prefix: str
    reads_input: bool
    layer: int | None = None


class Node(Shown, ABC):
    """Abstract: a part of a network. ``a >> b`` feeds a's output to b."""

    lemma: ClassVar[Lemma]
    shown_as: ClassVar[str] = "network"
    gathers: ClassVar[bool] = False  # nothing but its parts: a chain of them, or their sum
    adds_input: ClassVar[bool] = False  # x ↦ x + f(x) around its only part f

    @abstractmethod
    def facts(self, signal: Signal) -> Facts:
        """Output signal, Lipschitz constant and uses of weights, on inputs like ``signal``."""

    @abstractmethod
    def parameters(self, width: int) -> tuple[Any, int]:
        """The blocks of weights for input rows of this width, and the width of the output rows.

        A dictionary of :class:`Parameter`, or a list of such, nested as ``apply`` expects arrays.
        """

    @abstractmethod
    def apply(self, params: Any, X: Any) -> Any:
        """The map itself on arrays X of shape (…, T, d), numpy or torch alike."""

    def parts(self) -> tuple[Part, ...]:
        """The nodes inside this one, in the order of computation; none in a leaf."""
        return ()

    def with_parts(self, nodes: Sequence[Node]) -> Node:
        """The same node around other nodes, as many as it has parts; the nest stays as it is."""
        if nodes or self.parts():
            raise InputError(type(self).__name__, "a node that can change its parts", "none")
        return self

    def stages(self) -> tuple[Part, ...]:
        """The nodes whose composition this is: those of a chain, or the node itself."""
        return (Part(self, (), "", reads_input=True),)

    def introduction(self) -> str:
        """What stands before the parts where a network is written as a tree, as in ``12 × ``."""
        return ""

    def functional(self, width: int) -> Parameter | None:
        """The trained w of shape (width, 1), if the node is ⟨w, x⟩ of a row x or a mean of rows."""
        return None

    def input_width(self) -> int | None:
        """The width of the rows that the node expects, if it says so."""
        width = getattr(self, "d", None)
        inside = (part.node.input_width() for part in self.parts())
        return width if width is not None else next((d for d in inside if d is not None), None)

    def rounding(self, signal: Signal) -> float:
        """What float64 adds in ``apply``: ℓ2 error of a row, from float rows like ``signal``.

        The model of arithmetic and the tools for a bound are in ``dudley.calculus.arithmetic``.
        """
        raise InputError(
            "node with a proven rounding error",
            "a head, attention, dense layer, activation, layer norm, pooling, readout or logits",
            type(self).__name__,
        )

    def __rshift__(self, other: Node) -> Chain:
        from dudley.calculus.compose import Chain  # a node itself: it cannot be imported before

        return Chain(tuple(part.node for part in self.stages() + other.stages()))


def entering(node: Node, signal: Signal) -> Iterator[tuple[Part, Signal]]:
    """Each part of a node with the signal that it reads."""
    before: tuple[Node, Signal] | None = None
    for part in node.parts():
        into = signal if part.reads_input or before is None else before[0].facts(before[1]).out
        yield part, into
        before = part.node, into


def own_entries(node: Node, nest: Any) -> Iterator[tuple[Path, Any]]:
    """The entries of a node's nest that belong to none of its parts, with their paths."""
    inside = [part.path for part in node.parts()]
    for path, entry in entries(nest):
        if not any(path[: len(part)] == part for part in inside):
            yield path, entry
