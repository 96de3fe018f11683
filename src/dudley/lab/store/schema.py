"""The tables of a store.

A *run* is one grid with its packing; a *start* is one invocation that worked on it, with the code
and the device it used. A batch is waiting, running, done or failed; ``attempt`` counts how often
it was claimed, and whoever writes for a batch must hold its latest attempt. A point is one row for
all trials of a batch at one step: names of metrics and little-endian float32 of shape
(metrics, trials). Texts named config, about, names and result are JSON; a key is 16 hexadecimal
digits; files are named relative to the run's folder, which can therefore be moved.

Nothing that was found is written over: a result is set once, and an attempt that ends, done, failed
or released, leaves a row of its own, with who made it, from when to when (Unix seconds by the
worker's clock; it ends with the last thing written), and what went wrong.

``size`` of a batch counts its trials, and ``seconds`` its attempts together, so that a summary
reads one table. A run in a database of many has a label; where there is no folder, checkpoints
are kept in chunks.
"""

from __future__ import annotations

from dudley.core.extras import missing

try:
    import sqlalchemy as sa
except ImportError:
    raise missing("SQLAlchemy", "a store of trials", "lab") from None

VERSION = 2
WAITING, RUNNING, DONE, FAILED = "waiting", "running", "done", "failed"
RELEASED = "released"  # how an attempt may end, besides done and failed

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
    sa.Column("label", sa.Text),
    sa.Index("runs_label", "label", unique=True),
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
    sa.Column("status", sa.String(8), nullable=False, default=WAITING),
    sa.Column("attempt", sa.Integer, nullable=False, default=0),
    sa.Column("owner", sa.Text),
    sa.Column("start", sa.ForeignKey("starts.id")),
    sa.Column("done", sa.Double, nullable=False, default=0.0),
    sa.Column("error", sa.Text),
    sa.Column("size", sa.Integer, nullable=False, server_default="0"),
    sa.Column("began", sa.Double),
    sa.Column("heard", sa.Double),
    sa.Column("seconds", sa.Double),
    sa.UniqueConstraint("run", "number"),
    sa.Index("batches_status", "run", "status", "number"),
)
attempts = sa.Table(
    "attempts",
    metadata,
    sa.Column("batch", sa.ForeignKey("batches.id"), primary_key=True),
    sa.Column("attempt", sa.Integer, primary_key=True),
    sa.Column("start", sa.ForeignKey("starts.id")),
    sa.Column("owner", sa.Text),
    sa.Column("began", sa.Double),
    sa.Column("ended", sa.Double),
    sa.Column("outcome", sa.String(8), nullable=False),
    sa.Column("error", sa.Text),
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
chunks = sa.Table(
    "chunks",
    metadata,
    sa.Column("batch", sa.Integer, primary_key=True),
    sa.Column("step", sa.BigInteger, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("data", sa.LargeBinary, nullable=False),
    sa.ForeignKeyConstraint(
        ["batch", "step"], ["checkpoints.batch", "checkpoints.step"], ondelete="CASCADE"
    ),
)
