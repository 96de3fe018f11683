"""`dudley serve`: what it says, what it refuses, and that it serves."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from dudley.cli import main


def test_check_says_that_all_is_well(capsys: pytest.CaptureFixture):
    with pytest.raises(SystemExit) as leaving:
        main(["serve", "--check", "--json"])
    assert leaving.value.code == 0
    (item,) = json.loads(capsys.readouterr().out)["items"]
    assert all(one["bytes"] > 100 for one in item["answers"]) and len(item["answers"]) >= 5


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--token", "short"], "16 or more"),
        (["--results", "/nowhere/at/all"], "a folder"),
        (["--port", "0"], "port"),
    ],
)
def test_bad_options_are_refused(options: list[str], words: str, capsys: pytest.CaptureFixture):
    with pytest.raises(SystemExit) as leaving:
        main(["serve", "--check", *options])
    assert leaving.value.code == 2 and words in capsys.readouterr().err


def test_a_taken_port_is_refused_in_one_line(capsys: pytest.CaptureFixture):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(SystemExit) as leaving:
            main(["serve", "--port", str(taken.getsockname()[1])])
    captured = capsys.readouterr()
    assert leaving.value.code == 2 and captured.out == "" and "a free address" in captured.err


@pytest.fixture
def port() -> Iterator[int]:
    """A port that nobody else is given: held without listening, so that a server can take it."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", 0))
        yield listener.getsockname()[1]


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_it_serves_and_stops_when_told(host: str, port: int):
    command = [sys.executable, "-m", "dudley", "serve", "--host", host, "--port", str(port)]
    server = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    )
    try:
        assert server.stdout is not None
        said = server.stdout.readline()
        (token,) = re.findall(r"token=([0-9a-f]+)", said) or [""]
        assert bool(token) is (host == "0.0.0.0"), said
        address = f"http://127.0.0.1:{port}/api/statements"
        request_with_token = urllib.request.Request(
            address, headers={"Authorization": f"Bearer {token}"}
        )
        # It listens before it says so, and answers when it has started.
        with urllib.request.urlopen(request_with_token, timeout=180) as answer:
            assert json.loads(answer.read())["statements"]
        if token:
            with pytest.raises(urllib.error.HTTPError, match="403"):
                urllib.request.urlopen(address, timeout=180)
    finally:
        server.send_signal(signal.SIGINT)
        _, complaints = server.communicate(timeout=60)
    assert server.returncode == 0
    assert ("can be reached from other machines" in complaints) is (host == "0.0.0.0")
