"""``dudley lab status | retry | export | diff``: runs, finished or live, as their stores tell."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dudley.cli.lab import HERE
from dudley.cli.output import Json, print_document, print_json
from dudley.core.boundary.damage import refusing
from dudley.core.errors import InputError
from dudley.core.provenance import hidden
from dudley.show.as_text import text
from dudley.show.document import Document, Listing, Prose

if TYPE_CHECKING:
    from dudley.lab.store.location import RunLocation
    from dudley.lab.store.table import TrialTable

Run = Annotated[
    str, typer.Argument(help="The folder of a run, or postgresql://user@host/database#run.")
]


def status(
    run: Run,
    by: Annotated[
        str | None,
        typer.Option(help="Names of a cell, such as task.T,task.m; if none, all that differ."),
    ] = None,
    watch: Annotated[
        float | None, typer.Option(help="Look again every so many seconds, until done.", min=0.1)
    ] = None,
    errors: Annotated[bool, typer.Option("--errors", help="Whole tracebacks.")] = False,
    as_json: Json = False,
) -> None:
    """Where a run stands: cells, workers, speed, what is left, errors.

    Example: dudley lab status dudley-lab/edelman2021-and/smoke
    """
    from dudley.lab.pages.status import document
    from dudley.lab.store.status import cell_names

    names = None if by is None else [name.strip() for name in by.split(",")]
    if watch is not None and not as_json:
        follow(run, names, errors, watch)
        return
    runs = statuses(run, lambda location: cell_names(location, names))
    if as_json:
        print_json("runs", runs)
    else:
        print_document(document(runs, errors))


def retry(run: Run, as_json: Json = False) -> None:
    """Let failed batches wait again.

    A run that is at work takes them up, or else the next one.

    Example: dudley lab retry dudley-lab/edelman2021-and/smoke
    """
    from dudley.lab.store import claims
    from dudley.lab.store.store import Store

    runs = []
    for name, location in locations(run).items():
        with damage(location), closing(Store.open(location)) as store:
            runs.append({"id": name or str(location), "batches": claims.retry(store)})
    if as_json:
        print_json("retried", runs)
        return
    lines = [f"{row['id']}: {row['batches']} failed batches wait again" for row in runs]
    print_document(Document("", tuple(map(Prose, lines))))


def export(
    run: Run,
    out: Annotated[
        Path, typer.Option(help="Folder for trials.parquet and curves.parquet of each store.")
    ] = HERE / "export",
    as_json: Json = False,
) -> None:
    """Write a run as Parquet files.

    One has a row for each trial, the other a row for each trial and step.

    Example: dudley lab export dudley-lab/edelman2021-and/smoke
    """
    from dudley.lab.store.export import export as write

    runs = []
    for name, location in locations(run).items():
        with damage(location):
            files = write(location, out / name)
        runs.append({"id": name or str(location), "files": [str(file) for file in files]})
    if as_json:
        print_json("exports", runs)
        return
    print_document(Document("", tuple(Listing("\n".join(row["files"])) for row in runs)))


def diff(
    first: Run,
    second: Annotated[str, typer.Argument(help="The other run.")],
    as_json: Json = False,
) -> None:
    """Compare two runs, trial by trial; ends with 1 where they differ.

    Example: dudley lab diff runs/one runs/two
    """
    from dudley.lab.pages.difference import document
    from dudley.lab.store.compare import compare
    from dudley.lab.store.table import table

    sides = locations(first), locations(second)
    if len(sides[0]) == len(sides[1]) == 1:
        pairs = {"": (next(iter(sides[0].values())), next(iter(sides[1].values())))}
    else:
        if set(sides[0]) != set(sides[1]):
            raise InputError(
                "second run", f"stores {', '.join(sorted(sides[0]))}", ", ".join(sorted(sides[1]))
            )
        pairs = {name: (sides[0][name], sides[1][name]) for name in sides[0]}

    def rows(location: RunLocation) -> TrialTable:
        with damage(location):
            return table(location)

    differences = {name: compare(rows(left), rows(right)) for name, (left, right) in pairs.items()}
    if as_json:
        items = [
            {"id": name or hidden(first), "equal": difference.none} | asdict(difference)
            for name, difference in differences.items()
        ]
        print_json("differences", items)
    else:
        print_document(document(differences))
    if not all(difference.none for difference in differences.values()):
        raise typer.Exit(1)


def damage(location: RunLocation) -> AbstractContextManager[None]:
    """A context in which rows that lack a field are refused, and not an internal error."""
    return refusing(f"store {location}", "the rows of a run")


def locations(run: str) -> dict[str, RunLocation]:
    from dudley.lab.store.find import stores

    return stores(run)


def follow(run: str, by: list[str] | None, tracebacks: bool, every: float) -> None:
    """Show the status again and again, until no worker was active at two looks in a row."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from dudley.lab.pages.status import document
    from dudley.lab.store.status import at_work, cell_names

    idle, names = 0, cache(lambda location: cell_names(location, by))
    with Live(console=Console(), auto_refresh=False) as live:
        while True:
            runs = statuses(run, names)
            live.update(Text(text(document(runs, tracebacks))), refresh=True)
            idle = 0 if any(at_work(row["workers"]) for row in runs) else idle + 1
            deserted = getattr(sys.stdout, "deserted", False)
            if deserted or idle == 2 or all(row["share"] == 1 for row in runs):
                return
            time.sleep(every)


def statuses(run: str, names: Callable[[RunLocation], list[str]]) -> list[dict[str, Any]]:
    """The status of each store of a run."""
    from dudley.lab.store.status import status_of

    rows = []
    for name, location in locations(run).items():
        with damage(location):
            rows.append(status_of(name, location, names(location)))
    return rows
