"""Whoever stops sending, or sends a trickle, is answered 408, and the next one is served."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from dudley.networks.files import EXAMPLES
from dudley.web.app import create_app
from dudley.web.check import Reply
from dudley.web.safety import Settings

BODY = (EXAMPLES / "sparse-and" / "certificate.json").read_bytes()
FILES = f"/api/files?file=certificate.json:{len(BODY)}"
Receive = Callable[[], Awaitable[dict[str, Any]]]


def part(body: bytes, more: bool) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


def silent(begun: asyncio.Event | None = None) -> Receive:
    """The first byte, and nothing after it; ``begun`` is set when that is waited for."""
    sent = []

    async def receive() -> dict[str, Any]:
        if sent:
            if begun is not None:
                begun.set()
            await asyncio.Event().wait()
        sent.append(1)
        return part(BODY[:1], True)

    return receive


def trickle() -> Receive:
    """A byte, and after a while another."""
    rest = iter(BODY)

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(0.02)
        return part(bytes([next(rest)]), True)

    return receive


def whole() -> Receive:
    async def receive() -> dict[str, Any]:
        return part(BODY, False)

    return receive


async def fetched(app: Any, address: str, receive: Receive) -> Reply:
    path, _, query = address.partition("?")
    messages: list[dict[str, Any]] = []
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST",
        "scheme": "http", "path": path, "raw_path": path.encode(), "root_path": "",
        "query_string": query.encode(), "client": ("127.0.0.1", 1), "server": None,
        "headers": [(b"host", b"127.0.0.1:8765")],
    }  # fmt: skip

    async def send(message: dict[str, Any]) -> None:
        messages.append(message)

    await asyncio.wait_for(app(scope, receive, send), 60)
    heads = {name.decode(): value.decode() for name, value in messages[0]["headers"]}
    return Reply(messages[0]["status"], heads, b"".join(m.get("body", b"") for m in messages[1:]))


@pytest.mark.parametrize("visitor", [silent, trickle], ids=lambda f: f.__name__)
def test_a_stalled_upload_frees_the_place(visitor: Callable[[], Receive]):
    app = create_app(Settings(patience=0.05))

    async def both() -> tuple[Reply, Reply]:
        return await fetched(app, FILES, visitor()), await fetched(app, FILES, whole())

    stalled, served = asyncio.run(both())
    assert stalled.status == 408 and stalled.headers["connection"] == "close"
    assert "send them again" in stalled.json()["error"]
    assert served.status == 200 and served.json()["kind"] == "certificate"


def test_a_second_upload_is_still_refused_while_the_first_is_on_its_way():
    app = create_app(Settings(patience=30.0))

    async def both() -> Reply:
        begun = asyncio.Event()
        first = asyncio.create_task(fetched(app, FILES, silent(begun)))
        await begun.wait()
        second = await fetched(app, FILES, whole())
        first.cancel()
        return second

    assert "one look at a time" in asyncio.run(both()).json()["error"]


def test_a_stalled_network_is_answered_too():
    app = create_app(Settings(patience=0.05))
    assert asyncio.run(fetched(app, "/api/architecture", silent())).status == 408
