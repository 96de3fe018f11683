"""A Ray cluster of several nodes on this machine, each a session of processes that can be
killed whole."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from live import free_port, lives, until

TESTS = Path(__file__).parent
RAY = Path(sys.executable).with_name("ray")


class Nodes:
    """A head on 127.0.0.2 and what is added to it on 127.0.0.3, …; one batch at a time each."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.port, self.client = free_port(), free_port()
        self.processes: list[subprocess.Popen] = []
        # A node that is gone is given up after a few seconds, not thirty.
        self.environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]),
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(16),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_health_check_initial_delay_ms": "1000",
            "RAY_health_check_period_ms": "1000",
            "RAY_health_check_timeout_ms": "5000",
            "RAY_health_check_failure_threshold": "3",
            # The server of a client is a process of its own, which a busy machine starts late, and
            # which gRPC's handlers of fork() can end at its start (ray-project/ray#63202).
            "RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S": "180",
            "RAY_CLIENT_INITIAL_CONNECTION_TIMEOUT_S": "15",
            "GRPC_ENABLE_FORK_SUPPORT": "0",
        }
        self._start(
            "--head",
            f"--port={self.port}",
            f"--ray-client-server-port={self.client}",
            "--include-dashboard=false",
            f"--temp-dir={folder}",
        )

    def add(self) -> subprocess.Popen:
        return self._start(f"--address=127.0.0.2:{self.port}")

    @property
    def url(self) -> str:
        """For who is no node."""
        return f"ray://127.0.0.2:{self.client}"

    def _start(self, *options: str) -> subprocess.Popen:
        number = len(self.processes)
        command = [str(RAY), "start", *options, f"--node-ip-address=127.0.0.{number + 2}"]
        command += ["--num-cpus=1", "--num-gpus=0", "--object-store-memory=100000000", "--block"]
        log = self.folder / f"node{number}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self.environment,
                start_new_session=True,
            )
        self.processes.append(process)
        until(
            lambda: process.poll() is not None or "block forever" in log.read_text(errors="replace")
        )
        assert process.poll() is None, log.read_text()
        return process

    def end(self) -> None:
        for process in self.processes:
            kill(process)


def kill(node: subprocess.Popen) -> None:
    """As if its power were cut: every process of the node at once."""
    while members := [pid for pid in _pids() if node_of(pid) == node.pid and lives(pid)]:
        for pid in members:
            signal_to(pid, signal.SIGKILL)
        node.poll()
    node.wait(60)


def node_of(pid: int) -> int | None:
    """The process that a worker's node began with: its session."""
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return None


def signal_to(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
