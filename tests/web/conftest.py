"""The explorer, asked in this process; and served on loopback, seen by headless Chromium."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from dudley.web.app import create_app
from dudley.web.check import Reply, ask
from dudley.web.safety import Settings

ROOT = Path(__file__).resolve().parents[2]
SCREENSHOTS = ROOT / "build" / "screenshots"
PATIENCE = 180_000  # milliseconds for anything that a page is to show: a machine may be busy


@pytest.fixture(scope="session")
def fetch() -> Callable[..., Reply]:
    """`asked("/api/…")` is one request to the app, without a socket."""
    app = create_app(Settings())

    def fetch_from(address: str, **more: Any) -> Reply:
        return ask(app, address, **more)

    return fetch_from


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The address of the explorer, served on a free port."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(create_app(Settings(port=port)), log_level="warning"))
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        time.sleep(0.02)
    yield f"http://127.0.0.1:{port}/"
    server.should_exit = True
    thread.join(timeout=30)


@dataclass
class Visit:
    """A page with what it asked for and complained of."""

    page: Any
    site: str
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def open(self, hash: str = "") -> None:
        """Load the page at an address, as from a link."""
        self.page.goto("about:blank")
        self.page.goto(self.site + hash)

    def settled(self, view: str, after: str | None = None) -> str:
        """Wait until a view has all its numbers (anew); its count of answers."""
        other = f":not([data-state='{after}'])" if after else ""
        element = self.page.wait_for_selector(f"#view-{view}[data-state]{other}")
        return element.get_attribute("data-state")

    def shot(self, name: str) -> None:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)


@pytest.fixture(params=["light"])
def visit(browser: Any, site: str, request: pytest.FixtureRequest) -> Iterator[Visit]:
    """A fresh visitor; whatever the console complains of fails the test."""
    context = browser.new_context(
        viewport={"width": 1400, "height": 900}, color_scheme=request.param
    )
    context.set_default_timeout(PATIENCE)
    opened = Visit(context.new_page(), site)
    opened.page.on("request", lambda r: opened.requests.append(r.url))
    opened.page.on("pageerror", lambda e: opened.complaints.append(f"error: {e}"))
    opened.page.on(
        "console",
        lambda m: opened.complaints.append(m.text) if m.type in ("error", "warning") else None,
    )
    yield opened
    context.close()
    # A refusal is answered with 400, which Chromium logs by itself.
    serious = [text for text in opened.complaints if not re.search(r"status of 40[04] ", text)]
    assert not serious, serious
