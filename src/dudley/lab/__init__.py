"""The laboratory: grids of trials, stores that survive kills, runners, experiments.

A `TrialGrid` is cut into batches by `plan`; `run` works them off and keeps every result at a
`RunLocation`, a folder or a PostgreSQL database; `table` and `curves` read it, `summary` and
`cells` count it, `export` writes it as Parquet. `train_grid` does all of it for trainings.
"""

from dudley.core.lazy import attach_stub

__getattr__, __dir__ = attach_stub(__name__, __file__)
__all__ = __dir__()  # pyright: ignore[reportUnsupportedDunderAll]
