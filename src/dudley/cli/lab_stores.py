"""``dudley lab status | retry | export | diff``: runs, finished or live, as their stores tell."""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager, closing
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dudley.cli.lab import HERE
from dudley.cli.output import Json, paragraph, print_json
from dudley.core.boundary.damage import refusing
from dudley.core.boundary.text import screen
from dudley.core.errors import InputError
from dudley.core.provenance import hidden

if TYPE_CHECKING:
    from dudley.lab.store.compare import RunDifference
    from dudley.lab.store.location import RunLocation
    from dudley.lab.store.summary import Summary
    from dudley.lab.store.table import TrialTable

Run = Annotated[
    str, typer.Argument(help="The folder of a run, or postgresql://user@host/database#run.")
]
CELLS = 40  # lines of cells that are shown unless more are asked for


def status(
    run: Run,
    by: Annotated[
        str | None,
        typer.Option(help="Names of a cell, such as task.T,task.m; if none, what tells all apart."),
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
    names = None if by is None else [name.strip() for name in by.split(",")]
    if watch is not None and not as_json:
        follow(run, names, errors, watch)
        return
    told = []
    for name, place in places(run).items():
        with damage(place):
            told.append(standing(name, place, cell_names(place, names)))
    if as_json:
        print_json("runs", told)
        return
    for one in told:
        print("\n".join(lines(one, errors)))


def retry(run: Run, as_json: Json = False) -> None:
    """Let failed batches wait again.

    A run that is at work takes them up, or else the next one.

    Example: dudley lab retry dudley-lab/edelman2021-and/smoke
    """
    from dudley.lab.store import claims
    from dudley.lab.store.store import Store

    told = []
    for name, place in places(run).items():
        with damage(place), closing(Store.open(place)) as store:
            told.append({"id": name or str(place), "batches": claims.retry(store)})
    if as_json:
        print_json("retried", told)
        return
    for one in told:
        print(f"{one['id']}: {one['batches']} failed batches wait again")


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

    told = []
    for name, place in places(run).items():
        with damage(place):
            files = write(place, out / name)
        told.append({"id": name or str(place), "files": [str(file) for file in files]})
    if as_json:
        print_json("exports", told)
        return
    for one in told:
        print("\n".join(one["files"]))


def diff(
    first: Run,
    second: Annotated[str, typer.Argument(help="The other run.")],
    as_json: Json = False,
) -> None:
    """Compare two runs, trial by trial; ends with 1 where they differ.

    Example: dudley lab diff runs/one runs/two
    """
    from dudley.lab.store.compare import compare
    from dudley.lab.store.table import table

    sides = places(first), places(second)
    if len(sides[0]) == len(sides[1]) == 1:
        pairs = {"": (next(iter(sides[0].values())), next(iter(sides[1].values())))}
    else:
        if set(sides[0]) != set(sides[1]):
            raise InputError(
                "second run", f"stores {', '.join(sorted(sides[0]))}", ", ".join(sorted(sides[1]))
            )
        pairs = {name: (sides[0][name], sides[1][name]) for name in sides[0]}

    def rows(place: RunLocation) -> TrialTable:
        with damage(place):
            return table(place)

    found = {name: compare(rows(one), rows(other)) for name, (one, other) in pairs.items()}
    if as_json:
        items = [
            {"id": name or hidden(first), "equal": one.none} | asdict(one)
            for name, one in found.items()
        ]
        print_json("differences", items)
    else:
        for name, one in found.items():
            print("\n".join(([f"{name}:"] if name else []) + apart(one)))
    if not all(one.none for one in found.values()):
        raise typer.Exit(1)


def damage(place: RunLocation) -> AbstractContextManager[None]:
    """Around what reads a store: whatever its rows do not have is a refusal."""
    return refusing(f"store {place}", "the rows of a run")


def places(run: str) -> dict[str, RunLocation]:
    from dudley.lab.store.find import stores

    return stores(run)


def standing(name: str, place: RunLocation, names: list[str]) -> dict[str, Any]:
    """All that is told of one store, its trials counted by these names of their configs."""
    from dudley.lab.store.store import Store
    from dudley.lab.store.summary import cells, summary

    with closing(Store.open(place)) as store:
        found = summary(store)
        counted = cells(store, names) if names else {}
    now = time.time()
    workers = [
        {"owner": str(one.owner), "batch": one.batch, "attempt": one.attempt,
         "share": one.share, "silent": None if one.heard is None else now - one.heard,
         "lives": one.owner.alive()}
        for one in found.running
    ]  # fmt: skip
    return {
        "id": name or found.name,
        "place": str(place),
        "created": found.created,
        "batches": found.batches,
        "trials": found.trials,
        "share": found.done / found.work,
        "seconds": found.seconds,
        "trials_a_second": rate(found),
        "remaining": remaining(found, max(1, len(at_work(workers)))),
        "cells": [dict(zip(names, cell, strict=True)) | {"trials": counts}
                  for cell, counts in counted.items()],
        "workers": workers,
        "errors": [
            {"batch": one.batch, "attempt": one.attempt, "error": one.error}
            for one in found.failures
        ],
    }  # fmt: skip


def cell_names(place: RunLocation, asked: list[str] | None) -> list[str]:
    """The names that were asked for, or as few as tell apart all configs but for trial and seed.

    Of names that fix each other those of the task stay, then those that come first.
    """
    from dudley.core.canonical import flat
    from dudley.lab.store.store import Store

    with closing(Store.open(place)) as store:
        configs = [flat(trial.config) for trial in store.grid.trials]
    known = list(dict.fromkeys(name for config in configs for name in config))
    for name in asked or ():
        if not any(other == name or other.startswith(f"{name}.") for other in known):
            raise InputError("--by", f"names of its configs: {', '.join(known)}", name)
    if asked:
        return asked
    names = [name for name in known if name not in ("trial", "seed")]
    rows = {tuple(repr(config.get(name)) for name in names) for config in configs}
    kept = dict(enumerate(names))
    for i in sorted(kept, key=lambda i: (names[i].startswith("task."), -i)):
        others = [j for j in kept if j != i]
        if len({tuple(row[j] for j in others) for row in rows}) == len(rows):
            del kept[i]
    return list(kept.values())


def rate(found: Summary) -> float | None:
    """Trials a second of one worker, by the work of those that are done."""
    if found.speed is None:
        return None
    return found.speed * sum(found.trials.values()) / found.work


def remaining(found: Summary, workers: int) -> float | None:
    """Seconds for what is left with so many workers; None where no speed is known."""
    if not found.speed or found.speed < 0:
        return None
    return found.left / found.speed / workers


def at_work(workers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those who live, as far as can be seen from here."""
    return [worker for worker in workers if worker["lives"] is not False]


def lines(one: dict[str, Any], errors: bool) -> list[str]:
    """A store for people."""
    from dudley.lab.grid.estimate import duration

    counts = ", ".join(f"{count:,} {state}" for state, count in one["trials"].items())
    told = [f"{one['id']}  ({one['place']})", f"  trials: {counts}; {one['share']:.0%} of the work"]
    if one["trials_a_second"] is not None:
        speed = f"  speed: {one['trials_a_second']:.3g} trials a second of a worker"
        if one["remaining"]:
            workers = max(1, len(at_work(one["workers"])))
            speed += f"; about {duration(one['remaining'])} left with {workers}"
        told.append(speed)
    told += cell_lines(one["cells"])
    for worker in one["workers"]:
        heard = "" if worker["silent"] is None else f", heard {worker['silent']:.0f} s ago"
        heard += ", dead" if worker["lives"] is False else ""
        told.append(
            f"  {worker['owner']}: batch {worker['batch']}, attempt {worker['attempt']}, "
            f"{worker['share']:.0%}{heard}"
        )
    for error in one["errors"]:
        head = f"  batch {error['batch']}, attempt {error['attempt']} failed: "
        text = screen(error["error"].strip())
        if errors:
            told += [head, *(f"      {line}" for line in text.splitlines())]
        else:
            told.append(paragraph(text.splitlines()[-1] if text else "no reason given", 6, head))
    return told


def cell_lines(cells: list[dict[str, Any]]) -> list[str]:
    """A column for each name, then how many trials are done and what became of others."""
    if not cells:
        return []
    heads = [name for name in cells[0] if name != "trials"]
    rows = [[str(cell[name]) for name in heads] for cell in cells[:CELLS]]
    wide = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    told = ["    " + "  ".join(map(str.rjust, heads, wide))]
    for cell, row in zip(cells, rows, strict=False):
        trials = cell["trials"]
        states = [f"{trials.get('done', 0)}/{sum(trials.values())} done"]
        states += [
            f"{n} {state}" for state, n in trials.items() if state not in ("done", "waiting")
        ]
        told.append("    " + "  ".join([*map(str.rjust, row, wide), ", ".join(states)]))
    if len(cells) > CELLS:
        told.append(f"    … and {len(cells) - CELLS} more cells (--json has all)")
    return told


def follow(run: str, by: list[str] | None, errors: bool, every: float) -> None:
    """Look again and again, in place on a terminal, until nobody works on it, twice in a row."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    idle, names = 0, cache(lambda place: cell_names(place, by))
    with Live(console=Console(), auto_refresh=False) as live:
        while True:
            told = []
            for name, place in places(run).items():
                with damage(place):
                    told.append(standing(name, place, names(place)))
            live.update(
                Text("\n".join(line for one in told for line in lines(one, errors))), refresh=True
            )
            idle = 0 if any(at_work(one["workers"]) for one in told) else idle + 1
            left = getattr(sys.stdout, "deserted", False)
            if left or idle == 2 or all(one["share"] == 1 for one in told):
                return
            time.sleep(every)


def apart(one: RunDifference) -> list[str]:
    """A difference for people."""
    told = [f"{one.common:,} trials in both, {one.only[0]:,} only in the first, "
            f"{one.only[1]:,} only in the second"]  # fmt: skip
    for name, (first, second) in one.fields.items():
        sides = (
            ", ".join(side[:6]) + (" …" if len(side) > 6 else "") or "–" for side in (first, second)
        )
        told.append(paragraph(" | ".join(sides), 6, f"  {name}: only "))
    if one.undone:
        told.append(f"  {one.undone:,} not done in one or the other")
    compared = one.common - one.undone
    told.append(f"  results: {compared - one.differing:,} of {compared:,} equal")
    for name, (count, most) in one.columns.items():
        size = "" if most is None else f", by at most {most:.3g}"
        told.append(f"    {name.removeprefix('result.')}: {count:,} differ{size}")
    return told
