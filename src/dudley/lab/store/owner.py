"""Who holds a batch: a process, told apart from a later one of the same number by its start time.

>>> Owner.me().alive(), Owner.me() == Owner.read(Owner.me().text)
(True, True)
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True)
class Owner:
    """A process of a machine (name, boot and process namespace) with the time it started."""

    host: str
    pid: int
    started: str

    @staticmethod
    def me() -> Owner:
        """This process."""
        return Owner(_host(), os.getpid(), _start_of(os.getpid()) or "")

    @staticmethod
    def read(text: str) -> Owner:
        return Owner(**json.loads(text))

    @property
    def text(self) -> str:
        """As it stands in the store."""
        return json.dumps(asdict(self))

    def alive(self) -> bool | None:
        """Does it run? None where that cannot be seen from here: another machine or boot."""
        if self.host != _host():
            return None
        return bool(self.started) and _start_of(self.pid) == self.started

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host.split('/')[0]}"


@cache
def _host() -> str:
    boot, namespace = PROC / "sys/kernel/random/boot_id", PROC / "self/ns/pid"
    parts = [platform.node()]
    if boot.exists():
        parts += [boot.read_text().strip(), os.readlink(namespace)]
    return "/".join(parts)


def _start_of(pid: int) -> str | None:
    """When a process started, in the system's own words; None where there is no live one."""
    if (PROC / "self/stat").exists():
        try:
            # The name in parentheses may hold blanks; the state and 19 fields on, the start follow.
            fields = (
                (PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
            )
        except OSError:
            return None
        return None if fields[0] in "ZX" else fields[19]
    if os.name == "nt":
        return None
    command = ["ps", "-p", str(pid), "-o", "lstart="]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip() or None
