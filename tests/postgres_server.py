"""A PostgreSQL server for tests: Debian's, started on loopback in a folder of its own.

Where ``DUDLEY_POSTGRES_URL`` names a database (``postgresql://user@host/database``) whose user may
create others, that server is used, and left as it was.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from live import free_port

# A test's data need no power cut: no fsync. Everything lies in the server's own folder.
SETTINGS = ("fsync=off", "listen_addresses=127.0.0.1", "max_wal_size=64MB", "max_connections=64")


@dataclass(frozen=True)
class Server:
    """``pid`` is that of a server that we started, else None."""

    url: str
    pid: int | None

    @contextmanager
    def database(self) -> Iterator[str]:
        """The address of a new, empty database."""
        import psycopg

        name = f"dudley_{uuid.uuid4().hex[:12]}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
            yield self.url.rpartition("/")[0] + f"/{name}"
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def programs() -> Path | None:
    """The folder of initdb and postgres: Debian's newest, or where PATH has them."""
    folders = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parts[-2])
    )
    if folders:
        return folders[-1]
    here = shutil.which("postgres")
    return None if here is None else Path(here).parent


def absent() -> str | None:
    """Why there can be no server, or None."""
    if find_spec("psycopg") is None:
        return "psycopg is not installed (in a clone, pip install '.[postgres]')"
    if "DUDLEY_POSTGRES_URL" in os.environ or programs() is not None:
        return None
    return "no PostgreSQL (apt install postgresql, or name a server in DUDLEY_POSTGRES_URL)"


@contextmanager
def running() -> Iterator[Server]:
    """A server, for as long as it is needed."""
    if (url := os.environ.get("DUDLEY_POSTGRES_URL")) is not None:
        yield Server(url.partition("#")[0], None)
        return
    bin = programs()
    assert bin is not None
    folder = Path(tempfile.mkdtemp(prefix="dudley-postgres-"))
    data = folder / "data"
    as_user = nobody_but_root(folder)
    try:
        made = [bin / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "--no-sync"]
        subprocess.run(
            [*made, "-E", "UTF8", "--locale=C", "--wal-segsize=1"],
            check=True,
            capture_output=True,
            **as_user,
        )
        options = [word for setting in SETTINGS for word in ("-c", setting)]
        command = [bin / "postgres", "-D", data, "-k", folder, *options]
        process, url = started(command, data, folder / "log", as_user)
        try:
            yield Server(url, process.pid)
        finally:
            process.kill() if process.poll() is None and not ended(process) else None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def nobody_but_root(folder: Path) -> dict[str, Any]:
    """PostgreSQL refuses to run as root: then it runs as the user that Debian made for it."""
    if os.geteuid() != 0:
        return {}
    user = pwd.getpwnam("postgres")
    os.chown(folder, user.pw_uid, user.pw_gid)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": [], "cwd": folder}


def started(
    command: list, data: Path, log: Path, as_user: dict[str, Any]
) -> tuple[subprocess.Popen, str]:
    """The server and its address: at another port where somebody else was faster to take one."""
    for _ in range(5):
        port = free_port()
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*command, "-p", str(port)], stdout=output, stderr=output, **as_user
            )
        url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
        if answers(url, process, data):
            return process, url
    raise RuntimeError(f"PostgreSQL did not start: {log.read_text()}")


def answers(url: str, process: subprocess.Popen, data: Path) -> bool:
    """Wait until this server, and no other one, does; False where it ends instead."""
    import psycopg

    end = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < end:
        try:
            with psycopg.connect(url) as connection:
                row = connection.execute("SHOW data_directory").fetchone()
            if row == (str(data),):
                return True
        except psycopg.OperationalError:
            pass
        time.sleep(0.02)
    process.kill()
    process.wait()
    return False


def ended(process: subprocess.Popen) -> bool:
    """Asked to stop at once (SIGINT: connections are cut), did it?"""
    process.send_signal(2)
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        return False
    return True
