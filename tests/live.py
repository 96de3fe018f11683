"""What tests ask of processes: whether one lives, and whether something comes to pass."""

from __future__ import annotations

import secrets
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any


def lives(pid: int) -> bool:
    """A zombie, which its parent has not asked for yet, does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2]
    except OSError:
        return False
    return state.split()[0] not in "ZX"


def until(what: Callable[[], Any], process: subprocess.Popen | None = None) -> Any:
    """Wait for something true, and give it; the process that is to bring it about must live."""
    end = time.monotonic() + 180
    while not (answer := what()):
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < end, "it does not come to pass"
        time.sleep(0.005)
    return answer


def free_port() -> int:
    """Free at every address, and below those that a system gives to whoever asks for any: until it
    is taken, nobody else comes upon it but by chance."""
    while True:
        port = 24_000 + secrets.randbelow(8_000)
        with suppress(OSError), socket.socket() as listener:
            listener.bind(("", port))
            return port
