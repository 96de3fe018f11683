"""A full disk: one clear error, nothing lost, and once there is room the same claim goes on."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from dudley.core.errors import InputError
from dudley.lab.runners.session import Session
from dudley.lab.store.conformance.backend import Backend
from dudley.lab.store.conformance.sample import prepare_store, take_batch
from dudley.lab.store.database import StoreFailed
from dudley.lab.store.table import curves, table

E, METRICS, LIMIT = 128, 128, 2000  # 64 KiB a point, at most so many points
LARGE = 64 << 20  # bytes of a checkpoint that finds no room


def full_disk(backend: Backend, thorough: bool = False) -> None:
    """Points are appended until none fits; then a checkpoint; then there is room again."""
    location = backend.location("full")
    store = prepare_store(location, 2, size=E)
    session = Session(take_batch(store))
    draw = np.random.default_rng(0)

    def append(step: int) -> None:
        values = draw.random((METRICS, E), dtype=np.float32)  # nothing that can be compressed
        session.append(step, {f"metric {i}": row for i, row in enumerate(values)})

    append(1)
    session.checkpoint(1, lambda path: _keep(path, b"one"))
    written = 1
    with backend.full(location):
        try:
            for step in range(2, LIMIT):
                append(step)
                written = step
        except StoreFailed as error:
            assert "what was written before stands" in str(error), error
        else:
            raise AssertionError(f"{LIMIT} points of 64 KiB fit on a full disk")
        try:
            session.checkpoint(LIMIT, partial(_keep, data=draw.bytes(LARGE)))
        except (OSError, StoreFailed) as error:
            assert not isinstance(error, InputError)
        else:
            raise AssertionError(f"a checkpoint of {LARGE} bytes fits on a full disk")
    steps = list(curves(location, "metric 0")[0][0])
    assert steps == list(range(1, written + 1)), (
        f"{written} points were written, {len(steps)} stand"
    )
    append(written + 1)
    session.claim.release()
    session = Session(take_batch(store))
    step, path = session.latest() or (None, None)
    assert step == 1 and path is not None and path.read_bytes() == b"one"
    append(2)
    session.checkpoint(2, partial(_keep, data=b"two"))
    session.finish([{"x": i} for i in range(E)])
    done = [row["result.x"] for row in table(location) if row["grid.status"] == "done"]
    assert done == list(range(E))
    store.close()


def _keep(path: Path, data: bytes) -> None:
    path.write_bytes(data)
