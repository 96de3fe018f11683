"""The status of a run: trials by cell, workers, speed, what is left, errors."""

from __future__ import annotations

import time
from contextlib import closing
from typing import Any

from dudley.core.canonical import flat
from dudley.core.errors import InputError
from dudley.lab.store.location import RunLocation
from dudley.lab.store.store import Store
from dudley.lab.store.summary import Summary, cells, summary


def status_of(name: str, location: RunLocation, names: list[str]) -> dict[str, Any]:
    """The status of one store as JSON; trials are counted by these names of their configs."""
    with closing(Store.open(location)) as store:
        totals = summary(store)
        counted = cells(store, names) if names else {}
    now = time.time()
    workers = [
        {"owner": str(claim.owner), "batch": claim.batch, "attempt": claim.attempt,
         "share": claim.share, "silent": None if claim.heard is None else now - claim.heard,
         "lives": claim.owner.alive()}
        for claim in totals.running
    ]  # fmt: skip
    return {
        "id": name or totals.name,
        "place": str(location),
        "created": totals.created,
        "batches": totals.batches,
        "trials": totals.trials,
        "share": totals.done / totals.work,
        "seconds": totals.seconds,
        "trials_a_second": trials_a_second(totals),
        "remaining": remaining(totals, max(1, len(at_work(workers)))),
        "cells": [dict(zip(names, cell, strict=True)) | {"trials": counts}
                  for cell, counts in counted.items()],
        "workers": workers,
        "errors": [
            {"batch": failure.batch, "attempt": failure.attempt, "error": failure.error}
            for failure in totals.failures
        ],
    }  # fmt: skip


def cell_names(location: RunLocation, columns: list[str] | None) -> list[str]:
    """These columns, or as few as tell apart all configs but for trial and seed.

    Of names that fix each other those of the task stay, then those that come first.
    """
    with closing(Store.open(location)) as store:
        configs = [flat(trial.config) for trial in store.grid.trials]
    known = list(dict.fromkeys(name for config in configs for name in config))
    for name in columns or ():
        if not any(other == name or other.startswith(f"{name}.") for other in known):
            raise InputError("--by", f"names of its configs: {', '.join(known)}", name)
    if columns:
        return columns
    names = [name for name in known if name not in ("trial", "seed")]
    rows = {tuple(repr(config.get(name)) for name in names) for config in configs}
    shown = dict(enumerate(names))
    for i in sorted(shown, key=lambda i: (names[i].startswith("task."), -i)):
        others = [j for j in shown if j != i]
        if len({tuple(row[j] for j in others) for row in rows}) == len(rows):
            del shown[i]
    return list(shown.values())


def trials_a_second(totals: Summary) -> float | None:
    """Trials a second of one worker, by the work of those that are done."""
    if totals.speed is None:
        return None
    return totals.speed * sum(totals.trials.values()) / totals.work


def remaining(totals: Summary, workers: int) -> float | None:
    """Seconds for what is left with so many workers; None where no speed is known."""
    if not totals.speed or totals.speed < 0:
        return None
    return totals.left / totals.speed / workers


def at_work(workers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The workers whose process runs, as far as can be seen from this machine."""
    return [worker for worker in workers if worker["lives"] is not False]
