"""The public names of the laboratory; ``__init__.py`` loads each on first use."""

from dudley.lab.grid.batch import Batch as Batch, Cost as Cost
from dudley.lab.grid.plan import plan as plan
from dudley.lab.grid.trial import Trial as Trial, TrialGrid as TrialGrid
from dudley.lab.runners.launch import BatchFailed as BatchFailed, run as run
from dudley.lab.runners.runner import Runner as Runner
from dudley.lab.runners.session import Session as Session
from dudley.lab.store.claims import Lost as Lost
from dudley.lab.store.database import StoreFailed as StoreFailed
from dudley.lab.store.export import export as export
from dudley.lab.store.location import RunLocation as RunLocation
from dudley.lab.store.store import BatchStatus as BatchStatus, Store as Store
from dudley.lab.store.summary import Summary as Summary, cells as cells, summary as summary
from dudley.lab.store.table import TrialTable as TrialTable, curves as curves, table as table
from dudley.lab.training import train_grid as train_grid

__all__: list[str]
