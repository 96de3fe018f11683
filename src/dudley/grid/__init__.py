"""Grids of trials: planner, store and local runner, which know nothing of what a trial does.

A `Grid` of trials is cut into batches by `plan`; `run` works them off and keeps every result in a
folder; `table` and `curves` read it.
"""

from dudley.grid.batch import Batch, Cost
from dudley.grid.claims import Lost
from dudley.grid.local import BatchFailed, run
from dudley.grid.plan import plan
from dudley.grid.session import Session
from dudley.grid.store import Standing, Store
from dudley.grid.table import Table, curves, table
from dudley.grid.trial import Grid, Trial

__all__ = [
    "Batch",
    "BatchFailed",
    "Cost",
    "Grid",
    "Lost",
    "Session",
    "Standing",
    "Store",
    "Table",
    "Trial",
    "curves",
    "plan",
    "run",
    "table",
]
