"""Experiments: what was found and drawn, from committed results and from the runs of this machine.

A run is a folder below ``runs``: with results it is shown as committed ones are; while it is at
work, or broken off, its store says how far it is. One that is damaged is named with the reason.
"""

from __future__ import annotations

import os
import tempfile
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any

from dudley.core.boundary.damage import refusing
from dudley.core.errors import DudleyError, InputError, UnknownName
from dudley.lab.figures.draw import draw, figures as sketches_of
from dudley.lab.finding import counts
from dudley.lab.pages.page import made
from dudley.lab.pages.results import FINDINGS, RECORD, Results, committed, committed_folder
from dudley.lab.pages.run import findings_table, readings_sections
from dudley.show.as_html import fragment
from dudley.show.document import Document, Folded, Listing, Section

COMMITTED, RUNS = "committed", "runs"
STORE = "store.sqlite"
DEEPEST = 3  # folders below the folder of runs
_drawing = threading.Lock()  # matplotlib draws one figure at a time


def list_experiments(results: Path | None, runs: Path) -> dict[str, Any]:
    """Every experiment with its committed results, and every run on this machine."""
    from dudley.lab.experiment import in_order
    from dudley.lab.outside import known

    known()
    experiments = [
        {"name": name, "source": one.source, "question": one.question, **_standing(name, results)}
        for name, one in in_order()
    ]
    return {"experiments": experiments, "runs": [run(location, runs) for location in folders(runs)]}


def list_results(results: Path | None, runs: Path) -> dict[str, Any]:
    """The same from the folders alone, at once: experiments take seconds to import."""
    root = committed_folder() if results is None else results
    names = sorted(path.name for path in root.iterdir() if path.is_dir()) if root.is_dir() else []
    listed = [{"name": name, "source": "", "question": "", **_standing(name, root)}
              for name in sorted(names, key=lambda name: name.startswith("beyond"))]  # fmt: skip
    experiments = [one for one in listed if one["scales"] or one["damaged"]]
    return {"experiments": experiments, "runs": [run(location, runs) for location in folders(runs)]}


def _standing(name: str, results: Path | None) -> dict[str, Any]:
    """The committed results of an experiment, counted, and what is damaged."""
    damaged: dict[str, str] = {}
    whole = committed(name, results, damaged)
    scales = {scale: counts(held.findings) for scale, held in whole.items()}
    return {"scales": scales, "damaged": damaged}


def folders(runs: Path) -> list[str]:
    """The runs below a folder, by their paths in it."""
    if not runs.is_dir():
        return []
    depths = ["/".join(["*"] * depth) for depth in range(1, DEEPEST + 1)]
    paths = [path for pattern in depths for path in runs.glob(pattern) if path.is_dir()]
    return sorted(path.relative_to(runs).as_posix() for path in paths if _files(path))


def _files(folder: Path) -> set[str]:
    """The files that tell of a run, by name; a link that leads nowhere is one of them."""
    return {name for name in (RECORD, FINDINGS, STORE) if os.path.lexists(folder / name)}


def run(location: str, runs: Path) -> dict[str, Any]:
    """One run: what it found, or how far it is."""
    folder = runs / location
    try:
        with refusing(f"run {location}", "results, or the store of a run"):
            if _files(folder) == {STORE}:
                return {"place": location} | _progress(folder)
            finished = Results(folder)
            about = {"name": finished.name, "scale": finished.scale, "state": "finished"}
            return {"place": location} | about | {"found": counts(finished.findings)}
    except DudleyError as refusal:
        return {"place": location, "name": "", "state": "unreadable", "found": str(refusal)}


def _progress(folder: Path) -> dict[str, Any]:
    from dudley.lab.store.store import Store

    store = Store.open(folder)
    try:
        batches = store.standing()
        name = store.grid.name
    finally:
        store.close()
    done, failed = (sum(b.size for b in batches if b.status == s) for s in ("done", "failed"))
    total = sum(batch.size for batch in batches)
    progress = f"{done:,} of {total:,} trials done" + (f", {failed:,} failed" if failed else "")
    return {"name": name, "state": "not finished", "found": progress}


def page(source: str, location: str, results: Path | None, runs: Path) -> dict[str, Any]:
    """Findings, figures by address, provenance."""
    from dudley.lab.outside import known

    shown = _results(source, location, results, runs)
    experiment = known()[shown.name]
    blocks = (
        Section("Found", (findings_table(shown.findings),)),
        *readings_sections(shown.findings),
        Folded("Provenance", (Listing(made(shown)),)),
    )
    document = Document(
        f"{shown.name}, {shown.scale}", blocks, (experiment.question, experiment.source)
    )
    with refusing(f"results folder {shown.folder.name}", "tables and findings of its figures"):
        figures = [
            {"name": s.name, "shows": s.shows,
             "address": f"/api/figures/{source}/{location}/{s.name}.svg"}
            for s in sketches_of(shown)
        ]  # fmt: skip
    return fragment(document) | {"figures": figures}


def figure(source: str, location: str, name: str, results: Path | None, runs: Path) -> str:
    """A figure as SVG."""
    figures = _figures(_results(source, location, results, runs))
    if name not in figures:
        raise UnknownName("figure of these results", name, figures)
    return figures[name][1]


def _results(source: str, location: str, results: Path | None, runs: Path) -> Results:
    """Results by their address; only those that are listed."""
    if source == COMMITTED:
        name, _, scale = location.partition("/")
        damaged: dict[str, str] = {}
        scales = committed(name, results, damaged) if _is_known(name) else {}
        if scale in damaged:
            raise DudleyError(damaged[scale])
        if scale not in scales:
            raise UnknownName("committed results", location, [f"{name}/{s}" for s in scales])
        return scales[scale]
    if source != RUNS:
        raise InputError("results", f"{COMMITTED} or {RUNS}", source)
    known = folders(runs)
    if location not in known:
        raise UnknownName("run", location, known)
    return Results(runs / location)


def _is_known(name: str) -> bool:
    from dudley.lab.outside import known

    return name in known()


def _figures(shown: Results) -> dict[str, tuple[str, str]]:
    """What each figure shows, and its SVG; drawn once for one state of the results."""
    return _pictures(shown.folder, (shown.folder / RECORD).stat().st_mtime_ns)


@lru_cache(maxsize=32)
def _pictures(folder: Path, changed: int) -> dict[str, tuple[str, str]]:
    with _drawing, tempfile.TemporaryDirectory() as scratch:
        return {
            sketch.name: (sketch.shows, paths[0].read_text(encoding="utf-8"))
            for sketch, paths in draw(Results(folder), Path(scratch), (".svg",))
        }
