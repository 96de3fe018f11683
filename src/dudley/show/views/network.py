"""A network: its nodes as a tree with their constraints; a row for each block of weights."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, final

from dudley.calculus.nest import entries
from dudley.calculus.node import Node, Part
from dudley.core.constraint import Constraint
from dudley.core.errors import DudleyError, InputError
from dudley.networks.files import count_parameters
from dudley.show.document import Document, Listing
from dudley.show.views.base import VIEWS, ResultView

LONGEST = 160  # letters of what a node says of itself


@final
@VIEWS.register("network")
class NetworkView(ResultView[Node]):
    """Nodes below the node that wraps them; neighbours that look alike stand there once."""

    def document(self) -> Document:
        first, *below = list(_lines(self.result))
        return Document("", (Listing("\n".join([first + self._size(), *below])),))

    def _size(self) -> str:
        """How many weights, if the network knows the width of its inputs."""
        width = self.result.input_width()
        try:
            return "" if width is None else f"   {count_parameters(self.result, width):,} weights"
        except DudleyError:  # the width does not fit: whoever uses the network is told
            return ""

    def rows(self) -> list[dict[str, Any]]:
        width = self.result.input_width()
        if width is None:
            fix = "du.capacity(network, du.Tokens(d=…)).table() has its blocks"
            raise InputError("table", "a network that knows its input width", "none", fix)
        return [
            {
                "block": ".".join(map(str, path)),
                "rows": parameter.shape[0],
                "columns": parameter.shape[1],
                "constraint": str(parameter.constraint),
                "trained": parameter.trained,
                "tied": parameter.constraint.tie,
            }
            for path, parameter in entries(self.result.parameters(width)[0])
        ]

    def figure(self) -> Any:
        raise DudleyError(
            "a network alone has no figure: du.capacity(network, tokens).figure() draws its gap"
        )


def _lines(node: Node) -> Iterator[str]:
    """The node, and below it what is inside."""
    yield "   ".join(filter(None, [type(node).__name__, _described(node)]))
    inside = [[_introduced(node, group), *below] for below, group in _alike(node.parts())]
    for i, (label, first, *below) in enumerate(inside, 1):
        last = i == len(inside)
        yield f"{'└─ ' if last else '├─ '}{label}{first}"
        yield from (f"{'   ' if last else '│  '}{line}" for line in below)


def _alike(parts: Sequence[Part]) -> Iterator[tuple[list[str], list[Part]]]:
    """Neighbours with the same text."""
    for lines, group in groupby(parts, lambda part: list(_lines(part.node))):
        yield lines, list(group)


def _introduced(node: Node, group: Sequence[Part]) -> str:
    """How often a part stands there: as the node says, or as many as there are side by side."""
    count = len({part.prefix for part in group})
    return node.introduction() or (f"{count} × " if count > 1 else "")


def _described(node: Node) -> str:
    """The node's own fields, but those that hold its parts, nothing or their default."""
    if not dataclasses.is_dataclass(node):
        return ""
    texts = []
    for field in dataclasses.fields(node):
        value = getattr(node, field.name)
        if isinstance(value, Constraint):
            tie = f" (tied: {value.tie})" if value.tie else ""
            texts.append(f"{field.name}: {str(value) or 'free'}{tie}")
        elif not (value is None or repr(value) == repr(field.default) or _holds_nodes(value)):
            text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
            texts.append(f"{field.name} = {text}")
    text = " ".join(", ".join(texts).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _holds_nodes(value: Any) -> bool:
    return isinstance(value, Node) or (
        isinstance(value, tuple) and any(isinstance(part, Node) for part in value)
    )
