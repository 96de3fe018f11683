"""Who may ask: hosts, origins, tokens; and what every answer carries."""

from __future__ import annotations

import re

import pytest

from dudley.core.errors import InputError
from dudley.web.app import create_app
from dudley.web.check import ask
from dudley.web.safety import COOKIE, Settings, new_token

TOKEN = "0123456789abcdef"
OPEN = Settings("0.0.0.0", token=TOKEN)


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "[::1]:8765", "127.0.0.1"])
def test_this_machine_is_answered(fetch, host: str):
    assert fetch("/", host=host).status == 200


@pytest.mark.parametrize(
    "host", ["evil.example:8765", "", "127.0.0.1.evil.example", "192.168.0.7:8765", "[::1", "a@b:1"]
)
def test_a_name_that_was_made_to_point_here_is_refused(fetch, host: str):
    for address in ("/", "/app.js", "/api/statements"):
        answer = fetch(address, host=host)
        assert answer.status == 403 and b"statement" not in answer.body


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"origin": "http://127.0.0.1:8765"}, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://127.0.0.1:9999"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://["}, 403),
        ({"sec_fetch_site": "same-origin"}, 200),
        ({"sec_fetch_site": "cross-site"}, 403),
        ({"sec_fetch_site": "same-site"}, 403),
    ],
)
def test_another_page_cannot_ask_on_our_behalf(fetch, headers: dict, status: int):
    network = (
        b'{"network": {"schema": "dudley.net/1", "input": {"T": 2, "d": 2, "X": {"row2inf": 1}},'
    )
    network += b'"layer": [{"node": "dense", "W": {"op": 1}}], "output": {"w": {"l1": 1}}}}'
    answer = fetch("/api/architecture", method="POST", body=network, **headers)
    assert answer.status == status, answer.body
    assert fetch("/api/blocks", **headers).status == status


def test_every_answer_carries_the_policy(fetch):
    for address in ("/", "/app.js", "/api/statements", "/api/statements/none", "/nowhere"):
        heads = fetch(address).headers
        assert "default-src 'none'" in heads["content-security-policy"]
        assert "unsafe" not in heads["content-security-policy"]
        assert heads["cache-control"] == "no-store"
        assert heads["x-content-type-options"] == "nosniff"
    assert fetch("/", host="evil.example").headers["content-security-policy"]


def test_elsewhere_a_token_is_asked_for():
    app, bare = create_app(OPEN), Settings()
    for address in ("/", "/app.js", "/api/statements"):
        assert ask(app, address, bare).status == 403
        assert ask(app, address, bare, authorization="Bearer " + "f" * 16).status == 403
        assert ask(app, address, bare, cookie=f"{COOKIE}={'f' * 16}").status == 403
        assert ask(app, address, OPEN).status == 200
    assert ask(app, "/api/statements?token=" + TOKEN, bare).status == 403, "only the page takes it"


def test_the_link_gives_a_cookie_that_no_script_reads():
    app, bare = create_app(OPEN), Settings()
    entered = ask(app, f"/?token={TOKEN}", bare)
    assert (entered.status, entered.headers["location"]) == (303, "/")
    cookie = entered.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    assert ask(app, "/", bare, cookie=cookie.partition(";")[0]).status == 200
    assert ask(app, "/?token=wrong", bare).status == 403


def test_elsewhere_addresses_are_ours_and_names_are_not():
    app = create_app(OPEN)
    assert ask(app, "/", OPEN, host="192.168.0.7:8765").status == 200
    assert ask(app, "/", OPEN, host="evil.example").status == 403


def test_a_token_is_needed_and_must_be_long():
    with pytest.raises(InputError, match=r"a token where 0\.0\.0\.0 is served"):
        Settings("0.0.0.0")
    with pytest.raises(InputError, match="16 or more"):
        Settings(token="short")
    assert len({new_token() for _ in range(8)}) == 8
    assert re.fullmatch("[0-9a-f]{32}", new_token())
