"""Grids of trials: planner, store and runners, which know nothing of what a trial does.

A `Grid` of trials is cut into batches by `plan`; `run` works them off and keeps every result in a
`Place`, a folder or a PostgreSQL database; `table` and `curves` read it, `summary` and `cells`
count it, `export` writes it as Parquet.
"""

from dudley.grid.batch import Batch, Cost
from dudley.grid.claims import Lost
from dudley.grid.database import StoreFailed
from dudley.grid.export import export
from dudley.grid.launch import BatchFailed, run
from dudley.grid.place import Place
from dudley.grid.plan import plan
from dudley.grid.runner import Runner
from dudley.grid.session import Session
from dudley.grid.store import Standing, Store
from dudley.grid.summary import Summary, cells, summary
from dudley.grid.table import Table, curves, table
from dudley.grid.trial import Grid, Trial

__all__ = [
    "Batch",
    "BatchFailed",
    "Cost",
    "Grid",
    "Lost",
    "Place",
    "Runner",
    "Session",
    "Standing",
    "Store",
    "StoreFailed",
    "Summary",
    "Table",
    "Trial",
    "cells",
    "curves",
    "export",
    "plan",
    "run",
    "summary",
    "table",
]
