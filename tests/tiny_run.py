"""A run of a few trials that takes a moment: squares, of which some fail when asked to."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from dudley.lab import Batch, Cost, RunLocation, Session, Trial, TrialGrid, run


def grid(sizes=(5, 6), trials: int = 2) -> TrialGrid:
    cells = [{"m": m, "trial": i} for m in sizes for i in range(trials)]
    return TrialGrid([Trial(cell, 100 * cell["m"] + cell["trial"]) for cell in cells], "squares", 0)


def work(session: Session, off: float = 0.0, fails: tuple[int, ...] = ()) -> None:
    """The square of m, and a curve of one point; a batch with an m in ``fails`` raises."""
    sizes = [trial.config["m"] for trial in session.batch.trials]
    if set(sizes) & set(fails):
        raise ArithmeticError(f"no square of {sizes[0]}")
    session.append(1, {"loss": [1 / m for m in sizes]})
    session.finish([{"square": m * m + off, "even": m % 2 == 0} for m in sizes])


def tiny(location: RunLocation | Path, sizes=(5, 6), trials: int = 2, **how) -> None:
    """Run it, a batch for every m."""
    whole = grid(sizes, trials)
    cells = [[t for t in whole.trials if t.config["m"] == m] for m in sizes]
    batches = [Batch(i, tuple(cell), Cost(8, float(len(cell)))) for i, cell in enumerate(cells)]
    run(whole, batches, partial(work, **how), location, progress=False)
