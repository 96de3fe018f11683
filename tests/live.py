"""What tests ask of processes: whether one lives, and whether something comes to pass."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable
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
    while not (found := what()):
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < end, "it does not come to pass"
        time.sleep(0.005)
    return found


def free_port(host: str) -> int:
    with socket.socket() as one:
        one.bind((host, 0))
        return one.getsockname()[1]
