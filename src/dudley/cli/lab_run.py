"""``dudley lab run``: run an experiment, or say what a run would do."""

from __future__ import annotations

import math
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dudley.cli.lab import HERE, Name, expect_scale
from dudley.cli.output import Json, print_document, print_json
from dudley.cli.progress import watch_steps
from dudley.core.errors import InputError
from dudley.core.files import TEMPORARY
from dudley.core.provenance import hidden

if TYPE_CHECKING:
    from dudley.lab.experiment import Bench, Experiment, Finding

FORMER = f"{TEMPORARY}former"  # the folder of results that are run anew


def run(
    name: Name,
    scale: Annotated[
        str, typer.Option(help="smoke (seconds), laptop (minutes) or paper (a GPU).")
    ] = "laptop",
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    workers: Annotated[
        int, typer.Option(help="Batches at a time: processes, tasks or jobs.", min=1)
    ] = 1,
    on: Annotated[
        str, typer.Option(help="local, ray, ray://host:port or slurm; settings follow: ray?gpus=1")
    ] = "local",
    memory: Annotated[
        float | None,
        typer.Option(help="GiB for a batch; if none, what the device has free.", min=0.1),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            help="postgresql://user@host/database#run, shared; a folder of the run's if none."
        ),
    ] = None,
    design: Annotated[
        str,
        typer.Option(
            help="full: all trials; sequential: at most 40 %, near the critical m; "
            "fast: trials stop at success."
        ),
    ] = "full",
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results; dudley-lab/NAME/SCALE if none.")
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Run anew, though finished results are there.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Only say what would be run; speeds are measured for about half a minute at most.",
        ),
    ] = False,
    price: Annotated[
        float | None, typer.Option(help="What an hour of a worker costs, for --dry-run.", min=0)
    ] = None,
    as_json: Json = False,
) -> None:
    """Run an experiment, and say what was found.

    A run that was broken off goes on by the same command.

    Example: dudley lab run edelman2021-and --scale smoke --dry-run
    """
    from dudley.lab.experiment import Bench
    from dudley.lab.outside import find
    from dudley.lab.pages.run import finished
    from dudley.lab.shared.sequential import designed

    experiment = find(name)
    expect_scale(scale)
    config = designed(experiment, scale, design)
    expect_device(device)
    limit = None if memory is None else int(memory * 2**30)
    bench = Bench(device, workers, memory=limit, on=on, store=store)
    usual = scale if design == "full" else f"{scale}-{design}"
    folder = HERE / experiment.name / usual if out is None else out
    expect_runner(bench, folder)
    if dry_run:
        foresee(experiment, scale, config, bench, price, as_json)
        return
    if again and store is not None:
        raise InputError(
            "--again", "a store in the run's folder", hidden(store), "name another run after #"
        )
    id = experiment.name  # ``name`` may be that of a file
    fresh = prepare_folder(folder, id, scale, design, again)
    findings = (
        conduct_and_report(id, scale, folder, bench, design) if fresh else read_findings(folder)
    )
    if as_json:
        about = {"id": id, "scale": scale, "folder": str(folder), "fresh": fresh}
        print_json("findings", [about | finite(finding.as_json()) for finding in findings])
        return
    title = f"{id}, {scale}" + (f", {design}" if design != "full" else "")
    title += "" if fresh else ": finished before; --again runs it anew"
    figures = f"dudley lab figures {name} --results {folder}"
    print_document(finished(title, findings, folder, figures))


def expect_device(device: str) -> None:
    """Refuse a device that is not there before anything is written."""
    from dudley.core.backend import torch

    if device.partition(":")[0] not in ("cpu", "cuda"):
        raise InputError("--device", "cpu or cuda", device)
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise InputError("--device", "a GPU that torch can use", "none", "use --device cpu")


def expect_runner(bench: Bench, folder: Path) -> None:
    """Refuse an unknown runner, one that cannot use the store, and a store among the results."""
    from dudley.lab.runners.runner import runner_of

    location = bench.location(folder)
    if location.folder is not None and location.folder.resolve() == folder.resolve():
        raise InputError("--store", "another folder than that of the results", location.folder)
    runner_of(bench.on).expect(location)


def prepare_folder(folder: Path, name: str, scale: str, design: str, again: bool) -> bool:
    """Say whether there is something to run; with ``again``, move finished results aside.

    A folder that holds something else than a run, or another run, is refused.
    """
    from dudley.lab.outside import known
    from dudley.lab.pages.results import RECORD, Results, finished
    from dudley.lab.shared.sequential import design_of

    if folder.exists() and not folder.is_dir():
        raise InputError("--out", "a folder", f"the file {folder}")
    if not finished(folder):
        strange = [path.name for path in folder.glob("*") if not may_be_left_by_a_run(path)]
        if strange:
            fix = "name another folder"
            raise InputError("--out", "an empty folder, or one of a run", strange[0], fix)
        return True
    former = Results(folder)
    former_design = design_of(known()[name], former.config)
    if (former.name, former.scale, former_design) != (name, scale, design):
        fix = "name another folder"
        wanted = f"results of {name}, {scale}, {design}"
        got = f"{former.name}, {former.scale}, {former_design}"
        raise InputError("--out", wanted, got, fix)
    if again:
        if (folder / "store").is_symlink():
            fix = "remove what it leads to, or name another folder"
            raise InputError("--again", "a store in the run's folder", "a link to elsewhere", fix)
        aside = clear_former_results(folder)
        aside.mkdir()
        if (folder / "store").exists():
            (folder / "store").rename(aside / "store")
        for path in (*folder.glob("*.parquet"), folder / "findings.json", folder / RECORD):
            path.rename(aside / path.name)
    return again


def clear_former_results(folder: Path) -> Path:
    """Remove the results that a former ``--again`` set aside, and return where they lay."""
    former = folder / FORMER
    if former.is_symlink():
        former.unlink()
    elif former.exists():
        shutil.rmtree(former)
    return former


def may_be_left_by_a_run(path: Path) -> bool:
    """Is this a file or folder that a run writes, even one that was killed while writing?"""
    if path.suffix == ".parquet" or path.name.startswith(TEMPORARY):
        return True
    return path.name in ("store", "findings.json", "provenance.json")


def conduct_and_report(
    name: str, scale: str, folder: Path, bench: Bench, design: str = "full"
) -> list[Finding]:
    from dudley.lab.conduct import conduct

    try:
        findings = conduct(name, scale, folder, bench, design)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            print("dudley: the same command goes on from here", file=sys.stderr)
        if (folder / FORMER).is_dir():
            print(f"dudley: the former results are in {folder / FORMER}", file=sys.stderr)
        raise
    clear_former_results(folder)
    return findings


def read_findings(folder: Path) -> list[Finding]:
    from dudley.lab.record import findings

    return findings(folder)


def foresee(
    experiment: Experiment,
    scale: str,
    config: dict[str, Any],
    bench: Bench,
    price: float | None,
    as_json: bool,
) -> None:
    """Say what a run would do, how long it may take, and what that costs."""
    from dudley.lab.forecast import forecast, whole
    from dudley.lab.pages.forecast import document

    with watch_steps() as watch:
        watch.begin(f"{experiment.name}, {scale}")
        parts = forecast(experiment.planned(config), bench, watch.say)
    total = whole(parts, bench, price)
    if as_json:
        about: dict[str, Any] = {"id": experiment.name, "scale": scale}
        print_json("forecast", [about | total | part.as_json() for part in parts] or [about])
        return
    print_document(document(experiment, scale, parts, total))


def finite(value: Any) -> Any:
    """JSON without what is not finite: null stands for it.

    >>> finite({"a": [1.5, float("inf")]})
    {'a': [1.5, None]}
    """
    if isinstance(value, dict):
        return {key: finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
