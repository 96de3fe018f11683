"""``dudley lab``: the papers' experiments, listed, run, and drawn."""

from __future__ import annotations

import math
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dudley.cli.output import paragraph, print_json
from dudley.core.errors import InputError

if TYPE_CHECKING:
    from dudley.core.registry import Registry
    from dudley.experiments.base import Bench, Experiment, Finding

lab_app = typer.Typer(
    help="The papers' experiments: list, run, draw.", no_args_is_help=True, rich_markup_mode=None
)
HERE = Path("dudley-lab")  # where runs and figures go by default
Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]
Name = Annotated[str, typer.Argument(help="The experiment, such as edelman2021-and.")]


@lab_app.command("list")
def list_experiments(
    results: Annotated[
        Path | None, typer.Option(help="The folder of committed results; the repository's if none.")
    ] = None,
    as_json: Json = False,
) -> None:
    """What there is to run, and what was found where it was run.

    Example: dudley lab list
    """
    from dudley.experiments.catalogue import in_order
    from dudley.report.lab.results import committed

    told = [summary(one, committed(name, results)) for name, one in in_order()]
    if as_json:
        print_json("experiments", told)
        return
    for item in told:
        print(f"{item['id']}  ({item['source']})")
        print(paragraph(item["question"], 4, "    "))
        for scale, verdicts in item["results"].items():
            print(paragraph(f"{scale}: {counted(verdicts)}", 6, "    "))
    print(f"{len(told)} experiments")


@lab_app.command("run")
def run(
    name: Name,
    scale: Annotated[
        str, typer.Option(help="smoke (seconds), laptop (minutes) or paper (a GPU).")
    ] = "laptop",
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    workers: Annotated[int, typer.Option(help="Processes, one thread each.", min=1)] = 1,
    memory: Annotated[
        float | None,
        typer.Option(help="GiB for a batch; if none, what the device has free.", min=0.1),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results; dudley-lab/NAME/SCALE if none.")
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Run anew, though finished results are there.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be run.")] = False,
    as_json: Json = False,
) -> None:
    """Run an experiment, and say what was found; broken off, the same command goes on.

    Example: dudley lab run edelman2021-and --scale smoke --dry-run
    """
    from dudley.experiments.base import Bench

    one = known()[name]
    expect_scale(scale)
    expect_device(device)
    bench = Bench(device, workers, memory=None if memory is None else int(memory * 2**30))
    folder = HERE / name / scale if out is None else out
    if dry_run:
        foresee(one, scale, bench, as_json)
        return
    fresh = prepared(folder, name, scale, again)
    found = conducted(name, scale, folder, bench) if fresh else kept(folder)
    if as_json:
        about = {"id": name, "scale": scale, "folder": str(folder), "fresh": fresh}
        print_json("findings", [about | finite(finding.as_json()) for finding in found])
        return
    print(f"{name}, {scale}" + ("" if fresh else ": finished before; --again runs it anew"))
    print("\n".join(table(found)))
    print(f"\nfiles: {folder}")
    print(f"figures: dudley lab figures {name} --results {folder}")


@lab_app.command("figures")
def figures(
    name: Name,
    scale: Annotated[
        str | None, typer.Option(help="Of which scale; the largest with results if none.")
    ] = None,
    results: Annotated[
        Path | None, typer.Option(help="The folder of a run; committed results if none.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the figures, SVG and PNG.")] = HERE
    / "figures",
    as_json: Json = False,
) -> None:
    """Draw the figures of an experiment from its results; nothing is trained.

    Example: dudley lab figures edelman2021-and
    """
    from dudley.report.lab.draw import draw

    one = known()[name]
    drawn = draw(chosen(one.name, scale, results), out)
    if as_json:
        items = [
            {"id": sketch.name, "caption": sketch.caption, "files": list(map(str, paths))}
            for sketch, paths in drawn
        ]
        print_json("figures", items)
        return
    for sketch, paths in drawn:
        print(f"{paths[0].with_suffix('')}  ({', '.join(path.suffix[1:] for path in paths)})")
        for line in sketch.caption.splitlines():
            print(paragraph(line, 4, "    "))


def known() -> Registry[Experiment]:
    """Every experiment by name; a missed look-up names the nearest."""
    from dudley.experiments.catalogue import EXPERIMENTS

    return EXPERIMENTS


def summary(one: Experiment, results: dict[str, Any]) -> dict[str, Any]:
    """An experiment, and the verdicts of its committed results by scale."""
    verdicts = {
        scale: [finding.verdict for finding in found.findings] for scale, found in results.items()
    }
    return {
        "id": one.name,
        "source": one.source,
        "question": one.question,
        "results": verdicts,
    }


def counted(verdicts: list[str]) -> str:
    """How often each verdict.

    >>> counted(["reproduced", "undecided", "reproduced"])
    '2 reproduced, 1 undecided'
    """
    return ", ".join(f"{count} {verdict}" for verdict, count in Counter(verdicts).items())


def expect_scale(scale: str) -> None:
    from dudley.experiments.base import SCALES

    if scale not in SCALES:
        raise InputError("--scale", " | ".join(SCALES), scale)


def expect_device(device: str) -> None:
    """Refuse a device that is not there before anything is written."""
    from dudley.core.backend import torch

    if device.partition(":")[0] not in ("cpu", "cuda"):
        raise InputError("--device", "cpu or cuda", device)
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise InputError("--device", "a GPU that torch can use", "none", "use --device cpu")


def prepared(folder: Path, name: str, scale: str, again: bool) -> bool:
    """Is there something to run? Finished results of this run stay, unless it is to be run anew."""
    from dudley.report.lab.results import RECORD, Results, finished

    if folder.exists() and not folder.is_dir():
        raise InputError("--out", "a folder", f"the file {folder}")
    if not finished(folder):
        strange = [path.name for path in folder.glob("*") if not _ours(path)]
        if strange:
            fix = "name another folder"
            raise InputError("--out", "an empty folder, or one of a run", strange[0], fix)
        return True
    held = Results(folder)
    if (held.name, held.scale) != (name, scale):
        fix = "name another folder"
        raise InputError("--out", f"results of {name}, {scale}", f"{held.name}, {held.scale}", fix)
    if again:
        for path in (*folder.glob("*.parquet"), folder / "findings.json", folder / RECORD):
            path.unlink(missing_ok=True)
        shutil.rmtree(folder / "store", ignore_errors=True)
    return again


def _ours(path: Path) -> bool:
    """Could a run have left this?"""
    return path.suffix == ".parquet" or path.name in ("store", "findings.json", "provenance.json")


def conducted(name: str, scale: str, folder: Path, bench: Bench) -> list[Finding]:
    from dudley.experiments.conduct import conduct

    try:
        return conduct(name, scale, folder, bench)
    except KeyboardInterrupt:
        print("dudley: the same command goes on from here", file=sys.stderr)
        raise


def kept(folder: Path) -> list[Finding]:
    from dudley.experiments.conduct import findings

    return findings(folder)


def table(found: list[Finding]) -> list[str]:
    """A line for each claim with its verdict, and what was found below it."""
    lines = []
    wide = max((len(finding.verdict) for finding in found), default=0)
    for finding in found:
        head = f"  {finding.verdict:<{wide}}  "
        lines.append(paragraph(finding.claim, len(head), head))
        lines.append(paragraph(finding.found, len(head), " " * len(head)))
    return lines


def foresee(one: Experiment, scale: str, bench: Bench, as_json: bool) -> None:
    """Say what a run would do."""
    from dudley.experiments.forecast import forecast

    parts = forecast(one.config(scale), bench)
    if as_json:
        about = {"id": one.name, "scale": scale}
        print_json("forecast", [about | part.as_json() for part in parts] or [about])
        return
    print(f"{one.name}, {scale}: {one.question}")
    for part in parts:
        print(paragraph(str(part), 4, "  "))
    if not parts:
        print("  no training; numbers only")


def chosen(name: str, scale: str | None, folder: Path | None):
    """The results to draw: those of a run's folder, else committed ones."""
    from dudley.report.lab.results import Results, committed, finished

    if scale is not None:
        expect_scale(scale)
    if folder is not None and finished(folder):
        held = Results(folder)
        if held.name != name or scale not in (None, held.scale):
            got = f"{held.name}, {held.scale}"
            raise InputError("--results", f"results of {name}" + f", {scale}" * bool(scale), got)
        return held
    found = committed(name, folder)
    if not found or scale not in (None, *found):
        wanted = f"results of {name}" + (f" at scale {scale}" if scale else "")
        fix = f"dudley lab run {name} makes some"
        raise InputError("--results", wanted, "none" if folder is None else str(folder), fix)
    return found[scale] if scale else next(iter(found.values()))


def finite(value: Any) -> Any:
    """JSON without what is not finite: null stands for it.

    >>> finite({"a": [1.5, float("inf")]})
    {'a': [1.5, None]}
    """
    if isinstance(value, dict):
        return {key: finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
