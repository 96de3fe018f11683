"""Checkpoint files, which survive a kill at any moment.

A checkpoint is written beside its final name, flushed to the disk, and moved to that name. Only
then does the store note it, with its sha256. So a torn file does not have the sha256 that was
noted, and the checkpoint before it is used: the latest two are kept.

In a folder the file itself is the checkpoint. In a shared database its bytes go into rows
(`dudley.lab.store.chunks`), in the transaction that notes it, so that a worker on another machine
finds them; the file is then a private one of this process.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from dudley.core.errors import InputError
from dudley.lab.store import chunks
from dudley.lab.store.claims import Claim
from dudley.lab.store.schema import checkpoints, points, sa
from dudley.lab.store.store import Store

KEPT = 2
NAME = re.compile(r"checkpoints/\d+\.\d+\.\d+")


def sha256(path: Path) -> str:
    """The sha256 of the contents of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_checkpoint_file(path: Path, write: Callable[[Path], None]) -> str:
    """Let ``write`` fill a file, flush it to the disk, move it to ``path``; return its sha256.

    The file is written in a folder of its own. A library may write other files beside it first
    (safetensors does), and if it is killed, the folder says to which checkpoint they belong.
    """
    part = path.with_name(path.name + ".part")
    _drop(part)
    part.mkdir()
    file = part / path.name
    try:
        write(file)
        if not file.is_file():
            raise InputError("checkpoint", f"the file {file.name}, of exactly that name", "none")
        digest = sha256(file)
        with file.open("r+b") as written:
            os.fsync(written.fileno())
        os.replace(file, path)
    finally:
        _drop(part)  # where there is no room, half a file takes the rest of it
    if os.name == "posix":  # the folder's new entry too
        entry = os.open(path.parent, os.O_RDONLY)
        os.fsync(entry)
        os.close(entry)
    return digest


def _drop(path: Path) -> None:
    """A file, or the folder that one was written in."""
    if path.suffix == ".part" and path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def path_of(store: Store, file: str) -> Path:
    """The path of a file that the store names: whoever wrote the name, it stays in the folder."""
    if not NAME.fullmatch(file):
        fix = "somebody else wrote it: take another store"
        raise InputError(
            f"checkpoint in {store.location}", "a name such as checkpoints/1.2.3", file, fix
        )
    return _folder(store) / file.partition("/")[2]


def _folder(store: Store) -> Path:
    folder = store.files / "checkpoints"
    if folder.is_symlink():
        fix = "move the whole run instead"
        raise InputError(f"checkpoints of {store.location}", "a folder", "a link to elsewhere", fix)
    return folder


def keep(claim: Claim, step: int, done: float, write: Callable[[Path], None]) -> Path:
    """Write a checkpoint of a batch, note it, then remove the older ones."""
    file = f"checkpoints/{claim.id:06d}.{step:012d}.{claim.attempt}"
    path = path_of(claim.store, file)
    digest = write_checkpoint_file(path, write)
    c = checkpoints.c
    with claim.writing(done=done) as connection:
        rows = connection.execute(
            sa.select(c.step, c.file).where(c.batch == claim.id).order_by(c.step.desc())
        ).all()
        old = rows[KEPT - 1 :]
        gone = c.step.in_([row.step for row in old])
        connection.execute(sa.delete(checkpoints).where(c.batch == claim.id, gone))
        row = {"batch": claim.id, "step": step, "file": file, "sha256": digest, "done": done}
        connection.execute(sa.insert(checkpoints).values(row))
        if claim.store.database.shared:
            chunks.put(connection, claim.id, step, path)
    for row in old:
        path_of(claim.store, row.file).unlink(missing_ok=True)
    return path


def restore(claim: Claim) -> tuple[int, Path, float] | None:
    """Step, file and work done of the latest whole checkpoint; what came after it is dropped."""
    if claim.attempt == 1:
        return None  # nobody held it before
    c, store = checkpoints.c, claim.store
    rows = sa.select(c.step, c.file, c.sha256, c.done).where(c.batch == claim.id)
    with store.database.reading() as connection:
        candidates = connection.execute(rows.order_by(c.step.desc())).all()
    for row in candidates:
        path = path_of(store, row.file)
        if store.database.shared:
            with store.database.reading() as connection:
                chunks.get(connection, claim.id, row.step, path)
        if path.is_file() and sha256(path) == row.sha256:
            step, whole = row.step, (row.step, path, row.done)
            break
    else:
        step, whole = -1, None
    with claim.writing(done=whole[2] if whole else 0.0) as connection:
        for table in (checkpoints, points):
            later = (table.c.batch == claim.id, table.c.step > step)
            connection.execute(sa.delete(table).where(*later))
    return whole


def sweep(store: Store) -> None:
    """Remove files that no row names; nobody may be writing one."""
    if store.database.shared:
        return  # rows come and go with their transactions
    with store.database.reading() as connection:
        known = set(connection.execute(sa.select(checkpoints.c.file)).scalars())
    for path in _folder(store).iterdir():
        name = f"checkpoints/{path.name}"
        if name not in known and NAME.fullmatch(name.removesuffix(".part")):
            _drop(path)


def forget(claim: Claim, connection: sa.Connection) -> None:
    """Drop the rows of a batch, in the caller's transaction; `remove` its files after it."""
    connection.execute(sa.delete(checkpoints).where(checkpoints.c.batch == claim.id))


def remove(claim: Claim) -> None:
    """Remove the files of a batch."""
    for path in _folder(claim.store).glob(f"{claim.id:06d}.*"):
        _drop(path)
