"""Work for a visitor who may leave: it stops soon after, and what it evaluated is remembered.

A slider that is dragged asks again and again, and drops what it asked before. So each evaluation
first looks whether anybody still waits; and a statement's number on given inputs is evaluated once,
for whatever point, curve or visitor it is asked again.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from dudley.calculus.memory import remembered
from dudley.core.errors import DudleyError
from dudley.core.statement import Statement
from dudley.theorems import registry
from dudley.theorems.comparison import BoundOrReason, Evaluator, outcome

Answer = TypeVar("Answer")
InThread = Callable[..., Awaitable[Any]]


class VisitorLeft(DudleyError):
    """Nobody waits for the answer any more."""


class Visitor:
    """Whoever asked; ``gone`` from any thread says that they wait no longer.

    >>> visitor = Visitor()
    >>> visitor.expect_present()
    >>> visitor.leave()
    >>> visitor.expect_present()
    Traceback (most recent call last):
    dudley.web.attend.VisitorLeft: the request was dropped
    """

    def __init__(self) -> None:
        self._gone = threading.Event()

    def leave(self) -> None:
        """They wait no longer."""
        self._gone.set()

    def expect_present(self) -> None:
        """Stop here if nobody waits."""
        if self._gone.is_set():
            raise VisitorLeft("the request was dropped")

    @property
    def evaluate(self) -> Evaluator:
        """Statements as the comparison evaluates them, remembered, while the visitor is there."""

        def evaluate(s: Statement, values: Mapping[str, float], form: str) -> BoundOrReason:
            self.expect_present()
            return _outcome(s.id, form, tuple(sorted(values.items())))

        return evaluate


@remembered(1 << 12)
def _outcome(id: str, form: str, values: tuple[tuple[str, float], ...]) -> BoundOrReason:
    return outcome(registry.load()[id], dict(values), form)


async def attended(
    receive: Callable[[], Awaitable[Mapping[str, Any]]],
    in_thread: InThread,
    work: Callable[[Visitor], Answer],
) -> Answer:
    """What ``work`` returns from its thread, told as soon as ``receive`` says that they left."""
    visitor = Visitor()

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        visitor.leave()

    watching = asyncio.create_task(watch())
    try:
        return await in_thread(work, visitor)
    finally:
        watching.cancel()
