"""Ask the app itself, without a socket: for ``dudley serve --check``, tests and benchmarks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from dudley.core.errors import DudleyError
from dudley.web.safety import Settings

PAGE = ("/", "/app.css", "/app.js")
DATA = ("/api/statements", "/api/blocks", "/api/experiments", "/api/bounds?n=1e5&source=calculus")


@dataclass(frozen=True)
class Reply:
    """What the app answered."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


def ask(
    app: Callable[..., Any],
    address: str,
    settings: Settings | None = None,
    method: str = "GET",
    body: bytes = b"",
    **headers: str,
) -> Reply:
    """One request to an ASGI app; ``_`` in the name of a header stands for ``-``."""
    settings = settings or Settings()
    defaults = {"host": f"127.0.0.1:{settings.port}", "content_length": str(len(body))}
    if settings.token:
        defaults["authorization"] = f"Bearer {settings.token}"
    return asyncio.run(_ask(app, address, method, body, defaults | headers))


async def _ask(
    app: Callable[..., Any], address: str, method: str, body: bytes, headers: dict[str, str]
) -> Reply:
    parts, messages = urlsplit(address), []
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method,
        "scheme": "http", "path": parts.path, "raw_path": parts.path.encode(), "root_path": "",
        "query_string": parts.query.encode(), "client": ("127.0.0.1", 1), "server": None,
        "headers": [(n.replace("_", "-").encode(), v.encode()) for n, v in headers.items()],
    }  # fmt: skip
    bodies = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if bodies:
            return bodies.pop()
        await asyncio.Event().wait()  # a visitor who stays
        raise AssertionError

    async def send(message: dict[str, Any]) -> None:
        messages.append(message)

    await app(scope, receive, send)
    heads = {name.decode(): value.decode() for name, value in messages[0].get("headers", [])}
    text = b"".join(one.get("body", b"") for one in messages[1:])
    return Reply(messages[0]["status"], heads, text)


def check_answers(app: Callable[..., Any], settings: Settings) -> list[dict[str, Any]]:
    """The page and its data, each asked for once; whatever does not answer is refused."""
    answers = []
    for address in (*PAGE, *DATA):
        answer = ask(app, address, settings)
        if answer.status != 200:
            raise DudleyError(f"{address}: answered {answer.status}, {answer.body[:200]!r}")
        answers.append({"address": address, "bytes": len(answer.body)})
    return answers
