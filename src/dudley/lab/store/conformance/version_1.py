"""Tables of version 1, as they were, and a run that was broken off in them."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import sqlalchemy as sa

from dudley.core.canonical import canonical
from dudley.lab.grid.batch import Batch
from dudley.lab.grid.trial import TrialGrid
from dudley.lab.store.conformance.sample import EVALUATE, STEPS

OWNER = {"host": "a machine that is gone", "pid": 1, "started": "0"}

metadata = sa.MetaData()
runs = sa.Table(
    "runs",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("schema", sa.Integer, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("seed", sa.Text, nullable=False),
    sa.Column("hash", sa.String(64), nullable=False),
    sa.Column("created", sa.Text, nullable=False),
)
starts = sa.Table(
    "starts",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("run", sa.ForeignKey("runs.id"), nullable=False),
    sa.Column("at", sa.Text, nullable=False),
    sa.Column("owner", sa.Text, nullable=False),
    sa.Column("code", sa.String(64), nullable=False),
    sa.Column("about", sa.Text, nullable=False),
)
batches = sa.Table(
    "batches",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("run", sa.ForeignKey("runs.id"), nullable=False),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("hash", sa.String(64), nullable=False),
    sa.Column("bytes", sa.BigInteger, nullable=False),
    sa.Column("work", sa.Double, nullable=False),
    sa.Column("status", sa.String(8), nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("owner", sa.Text),
    sa.Column("start", sa.ForeignKey("starts.id")),
    sa.Column("done", sa.Double, nullable=False),
    sa.Column("error", sa.Text),
    sa.UniqueConstraint("run", "number"),
)
trials = sa.Table(
    "trials",
    metadata,
    sa.Column("batch", sa.ForeignKey("batches.id"), primary_key=True),
    sa.Column("place", sa.Integer, primary_key=True),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("hash", sa.String(64), nullable=False),
    sa.Column("key", sa.String(16), nullable=False),
    sa.Column("config", sa.Text, nullable=False),
    sa.Column("result", sa.Text),
)
points = sa.Table(
    "points",
    metadata,
    sa.Column("batch", sa.ForeignKey("batches.id"), primary_key=True),
    sa.Column("step", sa.BigInteger, primary_key=True),
    sa.Column("names", sa.Text, nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
)
checkpoints = sa.Table(
    "checkpoints",
    metadata,
    sa.Column("batch", sa.ForeignKey("batches.id"), primary_key=True),
    sa.Column("step", sa.BigInteger, primary_key=True),
    sa.Column("file", sa.Text, nullable=False),
    sa.Column("sha256", sa.String(64), nullable=False),
    sa.Column("done", sa.Double, nullable=False),
)


def fill(
    connection: sa.Connection, grid: TrialGrid, packed: Sequence[Batch], results: Sequence[float]
) -> None:
    """The first batch done, the second held by a process that is gone, the others waiting."""
    metadata.create_all(connection)

    def add(table: sa.Table, **values) -> int:
        key = connection.execute(sa.insert(table).values(values)).inserted_primary_key
        assert key is not None
        return key[0]

    about = {"name": grid.name, "seed": str(grid.seed), "hash": grid.hash, "created": "2026"}
    run = add(runs, schema=1, **about)
    owner = json.dumps(OWNER)
    start = add(starts, run=run, at="2026", owner=owner, code="c" * 64, about='{"device":"cpu"}')
    for i, batch in enumerate(packed):
        status = ("done", "running")[i] if i < 2 else "waiting"
        made = add(
            batches, run=run, number=i, hash=batch.hash, bytes=batch.cost.bytes,
            work=batch.cost.work, status=status, attempt=int(i < 2),
            owner=owner if i == 1 else None, start=start if i < 2 else None,
            done=(batch.cost.work, 1.0, 0.0)[min(i, 2)],
        )  # fmt: skip
        for place, trial in enumerate(batch.trials):
            told = json.dumps({"state": results[place]}) if i == 0 else None
            add(
                trials, batch=made, place=place, number=grid.trials.index(trial),
                hash=batch.hash_of(place), key=f"{trial.key:016x}",
                config=canonical(trial.config), result=told,
            )  # fmt: skip
        for step in range(EVALUATE, (STEPS, EVALUATE, 0)[min(i, 2)] + 1, EVALUATE):
            data = np.array(results, dtype="<f4").tobytes()
            add(points, batch=made, step=step, names='["state"]', data=data)
