"""Who may ask: this machine only, unless a token is given; and no other page on its behalf.

A page of a stranger, open in the same browser, could reach a server on loopback. So a request must
name a host that is ours (a rebound name is refused), and one that a browser sends from another
origin is refused. Bound to anything but loopback, every request must carry the token: in the
link that is printed, then in a cookie that no script can read and no other site sends.
"""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from dudley.core.errors import InputError

COOKIE = "dudley-token"
LOCAL = ("localhost", "127.0.0.1", "::1")
LIMIT = 256 << 20  # bytes of files dropped at once
PATIENCE = 20.0  # seconds without a byte of a body that is announced
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": PAGE_POLICY,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


@dataclass(frozen=True)
class Settings:
    """Where it is served, who may ask, and where results and runs lie.

    >>> Settings().open_to_all, Settings("0.0.0.0", token="t" * 16).address
    (False, 'http://0.0.0.0:8765/?token=tttttttttttttttt')
    """

    host: str = "127.0.0.1"
    port: int = 8765
    token: str = ""
    results: Path | None = None
    runs: Path = Path("dudley-lab")
    limit: int = LIMIT
    patience: float = PATIENCE

    def __post_init__(self):
        if self.open_to_all and not self.token:
            raise InputError("token", f"a token where {self.host} is served", "none")
        if self.token and not (len(self.token) >= 16 and self.token.isalnum()):
            raise InputError("token", "16 or more letters and digits", f"{len(self.token)} of them")

    @property
    def open_to_all(self) -> bool:
        """Can another machine reach it?"""
        return not is_loopback(self.host)

    @property
    def address(self) -> str:
        """What to open."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{name}:{self.port}/" + (f"?token={self.token}" if self.token else "")


def new_token() -> str:
    """A token that no one guesses."""
    return secrets.token_hex(16)


def is_loopback(host: str) -> bool:
    """Is it this machine only?

    >>> [is_loopback(h) for h in ("localhost", "127.0.0.2", "::1", "0.0.0.0", "evil.example")]
    [True, True, True, False, False]
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_ours(host_header: str, settings: Settings) -> bool:
    """Is this Host one of ours? A name that someone made point here is not.

    >>> [is_ours(h, Settings()) for h in ("127.0.0.1:8765", "[::1]:8765", "evil.example:8765")]
    [True, True, False]
    """
    try:
        name = urlsplit(f"//{host_header}").hostname or ""
    except ValueError:
        return False
    if name in (*LOCAL, settings.host.lower()) or is_loopback(name):
        return True
    return settings.open_to_all and _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Guard:
    """Around the app: refuses before anything is read, and adds the headers to every answer."""

    def __init__(self, app: Callable[..., Awaitable[None]], settings: Settings):
        self.app, self.settings = app, settings

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        heads = {name.decode("latin-1"): v.decode("latin-1") for name, v in scope["headers"]}

        async def dressed(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                names = {name.lower() for name, _ in message.get("headers", [])}
                more = [(n.encode(), v.encode()) for n, v in HEADERS.items()]
                added = [pair for pair in more if pair[0] not in names]
                message = {**message, "headers": [*message.get("headers", []), *added]}
            await send(message)

        refused = self.refusal(scope, heads)
        if refused is not None:
            await _answer(dressed, 403, [], refused)
        elif self._asks_to_enter(scope):
            cookie = f"{COOKIE}={self.settings.token}; HttpOnly; SameSite=Strict; Path=/"
            where = [(b"location", b"/"), (b"set-cookie", cookie.encode())]
            await _answer(dressed, 303, where, "")
        else:
            await self.app(scope, receive, dressed)

    def refusal(self, scope: dict[str, Any], heads: dict[str, str]) -> str | None:
        """Why a request is refused; None where it is not."""
        host = heads.get("host", "")
        if not is_ours(host, self.settings):
            return "this address is not served here"
        origin = heads.get("origin")
        if origin is not None and origin.partition("://")[2] != host:
            return "asked from another page"
        api = scope["path"].startswith("/api/")
        if api and heads.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return "asked from another page"
        if self.settings.token and not self._knows(scope, heads):
            return "open the link with the token that dudley serve printed"
        return None

    def _asks_to_enter(self, scope: dict[str, Any]) -> bool:
        return bool(self.settings.token) and scope["path"] == "/" and bool(_token(scope))

    def _knows(self, scope: dict[str, Any], heads: dict[str, str]) -> bool:
        tokens = [heads.get("authorization", "").removeprefix("Bearer "), _cookie(heads)]
        if scope["path"] == "/":
            tokens.append(_token(scope))
        wanted = self.settings.token.encode()
        return any([secrets.compare_digest(one.encode(), wanted) for one in tokens])


def _token(scope: dict[str, Any]) -> str:
    """The token in the link."""
    return parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]


def _cookie(heads: dict[str, str]) -> str:
    try:
        cookie = SimpleCookie(heads.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return cookie.value if cookie else ""


async def _answer(send: Any, status: int, heads: list[tuple[bytes, bytes]], text: str) -> None:
    plain = (b"content-type", b"text/plain; charset=utf-8")
    start = {"type": "http.response.start", "status": status, "headers": [plain, *heads]}
    await send(start)
    await send({"type": "http.response.body", "body": text.encode()})
