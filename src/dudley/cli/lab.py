"""``dudley lab``: the papers' experiments, listed and drawn."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dudley.cli.output import Json, paragraph, print_json
from dudley.cli.progress import watched
from dudley.core.errors import DudleyError, InputError

if TYPE_CHECKING:
    from dudley.core.registry import Registry
    from dudley.lab.experiment import Experiment

lab_app = typer.Typer(
    help="The papers' experiments: list, run, watch, draw.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
HERE = Path("dudley-lab")  # where runs and figures go by default
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
    from dudley.lab.catalogue import in_order
    from dudley.lab.pages.results import committed

    told = []
    for name, one in in_order():
        damaged: dict[str, str] = {}
        told.append(summary(one, committed(name, results, damaged)) | {"damaged": damaged})
    if as_json:
        print_json("experiments", told)
        return
    for item in told:
        print(f"{item['id']}  ({item['source']})")
        print(paragraph(item["question"], 4, "    "))
        for scale, verdicts in item["results"].items():
            print(paragraph(f"{scale}: {counted(verdicts)}", 6, "    "))
        for scale, reason in item["damaged"].items():
            print(paragraph(f"{scale}: unreadable, skipped: {reason}", 6, "    "))
    print(f"{len(told)} experiments")


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
    """Draw the figures of an experiment; nothing is trained.

    Example: dudley lab figures edelman2021-and
    """
    from dudley.lab.figures.draw import draw

    one = known()[name]
    with watched() as watch:
        watch.say(f"drawing the figures of {name}")
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
    from dudley.lab.catalogue import EXPERIMENTS

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
    from dudley.lab.experiment import SCALES

    if scale not in SCALES:
        raise InputError("--scale", " | ".join(SCALES), scale)


def chosen(name: str, scale: str | None, folder: Path | None):
    """The results to draw: those of a run's folder, else committed ones."""
    from dudley.lab.pages.results import Results, committed, finished

    if scale is not None:
        expect_scale(scale)
    if folder is not None and finished(folder):
        held = Results(folder)
        if held.name != name or scale not in (None, held.scale):
            got = f"{held.name}, {held.scale}"
            raise InputError("--results", f"results of {name}" + f", {scale}" * bool(scale), got)
        return held
    damaged: dict[str, str] = {}
    found = committed(name, folder, damaged)
    if scale in damaged or (damaged and not found):
        raise DudleyError(damaged.get(scale or "") or next(iter(damaged.values())))
    if not found or scale not in (None, *found):
        wanted = f"results of {name}" + (f" at scale {scale}" if scale else "")
        fix = f"dudley lab run {name} makes some"
        raise InputError("--results", wanted, "none" if folder is None else str(folder), fix)
    return found[scale] if scale else next(iter(found.values()))
