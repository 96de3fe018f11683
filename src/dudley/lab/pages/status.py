"""The status of runs as a document: trials by cell, workers, failed attempts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dudley.core.boundary.text import screen
from dudley.lab.grid.estimate import duration
from dudley.lab.store.status import at_work
from dudley.show.document import (
    Cell,
    Document,
    DocumentBlock,
    Listing,
    Points,
    Properties,
    Prose,
    Section,
    Table,
)

CELLS = 40  # rows of cells that are shown; --json has all


def document(runs: Sequence[dict[str, Any]], tracebacks: bool) -> Document:
    """A section for each store, from what `dudley.lab.store.status.status_of` returns."""
    return Document("", tuple(_store(run, tracebacks) for run in runs), kind="status")


def _store(run: dict[str, Any], tracebacks: bool) -> Section:
    blocks: list[DocumentBlock] = [Properties(tuple(_totals(run)))]
    if run["cells"]:
        blocks.append(Section("", tuple(_cells(run["cells"]))))
    if run["workers"]:
        blocks.append(Section("", (_workers(run["workers"]),)))
    if run["errors"]:
        blocks.append(_failures(run["errors"], tracebacks))
    return Section(f"{run['id']}  ({run['place']})", tuple(blocks))


def _totals(run: dict[str, Any]) -> list[tuple[str, str]]:
    counts = ", ".join(f"{count:,} {state}" for state, count in run["trials"].items())
    rows = [("trials", f"{counts}; {run['share']:.0%} of the work")]
    if run["trials_a_second"] is not None:
        rows.append(("speed", f"{run['trials_a_second']:.3g} trials a second of a worker"))
    if run["remaining"]:
        workers = max(1, len(at_work(run["workers"])))
        noun = "worker" if workers == 1 else "workers"
        rows.append(("left", f"about {duration(run['remaining'])} with {workers} {noun}"))
    return rows


def _cells(cells: list[dict[str, Any]]) -> list[DocumentBlock]:
    """A column for each name of the config, then how many trials are done, and other states."""
    names = [name for name in cells[0] if name != "trials"]
    rows = [[*(_value(cell[name]) for name in names), *_states(cell)] for cell in cells[:CELLS]]
    blocks: list[DocumentBlock] = [Table.of([*names, "done", ""], rows)]
    if len(cells) > CELLS:
        blocks.append(Prose(f"… and {len(cells) - CELLS} more cells (--json has all)"))
    return blocks


def _states(cell: dict[str, Any]) -> list[Cell]:
    trials = cell["trials"]
    done, total = trials.get("done", 0), sum(trials.values())
    others = [f"{n} {state}" for state, n in trials.items() if state not in ("done", "waiting")]
    return [Cell(f"{done}/{total}", done / total), Cell(", ".join(others))]


def _value(value: Any) -> Cell:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return Cell(str(value), value if number else None)


def _workers(workers: list[dict[str, Any]]) -> Table:
    rows = []
    for worker in workers:
        silent = worker["silent"]
        words = [] if silent is None else [f"last wrote {silent:.0f} s ago"]
        words += ["its process has ended"] if worker["lives"] is False else []
        rows.append(
            [
                worker["owner"],
                Cell(str(worker["batch"]), worker["batch"]),
                Cell(str(worker["attempt"]), worker["attempt"]),
                Cell(f"{worker['share']:.0%}", worker["share"]),
                "; ".join(words),
            ]
        )
    return Table.of(["worker", "batch", "attempt", "done", ""], rows)


def _failures(errors: list[dict[str, Any]], tracebacks: bool) -> Section:
    """The last line of each error, or all of it."""
    texts = [
        (f"batch {error['batch']}, attempt {error['attempt']}", screen(error["error"].strip()))
        for error in errors
    ]
    if tracebacks:
        listings = tuple(Section(attempt, (Listing(text),)) for attempt, text in texts)
        return Section("failed attempts", listings)
    lines = (
        f"{attempt}: {text.splitlines()[-1] if text else 'no reason given'}"
        for attempt, text in texts
    )
    return Section("failed attempts", (Points(tuple(lines)),))
