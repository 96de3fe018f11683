"""The laboratory: grids of trials, stores that survive kills, runners, experiments.

A `TrialGrid` is cut into batches by `plan`; `run` works them off and keeps every result at a
`RunLocation`, a folder or a PostgreSQL database; `table` and `curves` read it, `summary` and
`cells` count it, `export` writes it as Parquet. `train_grid` does all of it for trainings.
"""

from typing import Any
from warnings import warn

from dudley.core.lazy import attach_stub

_load, __dir__ = attach_stub(__name__, __file__)
__all__ = __dir__()  # pyright: ignore[reportUnsupportedDunderAll]
_RENAMED = {
    "Grid": "TrialGrid",
    "Place": "RunLocation",
    "Standing": "BatchStatus",
    "Table": "TrialTable",
}


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        text = f"dudley.lab.{name} is called {_RENAMED[name]}; the old name goes in the next minor"
        warn(f"{text} version", DeprecationWarning, stacklevel=2)
    return _load(_RENAMED.get(name, name))
