"""``dudley lab``: the papers' experiments, listed and drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dudley.cli.output import Json, print_document, print_json
from dudley.cli.progress import watch_steps
from dudley.core.errors import DudleyError, InputError

lab_app = typer.Typer(
    help="The papers' experiments: list, run, watch, draw.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
HERE = Path("dudley-lab")  # where runs and figures go by default
Name = Annotated[
    str,
    typer.Argument(
        help="The experiment, such as edelman2021-and; or a Python file, executed, with one."
    ),
]


@lab_app.command("list")
def listed(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Python files with more experiments, which are executed."),
    ] = None,
    results: Annotated[
        Path | None, typer.Option(help="The folder of committed results; the repository's if none.")
    ] = None,
    as_json: Json = False,
) -> None:
    """What there is to run, and what was found where it was run.

    Example: dudley lab list
    """
    from dudley.lab.experiment import in_order
    from dudley.lab.outside import known, of_file
    from dudley.lab.pages.catalogue import document, item
    from dudley.lab.pages.results import committed

    known()
    for file in files or ():
        of_file(file)
    items = []
    for name, experiment in in_order():
        damaged: dict[str, str] = {}
        items.append(item(experiment, committed(name, results, damaged), damaged))
    if as_json:
        print_json("experiments", items)
    else:
        print_document(document(items))


@lab_app.command("figures")
def draw_figures(
    name: Name,
    scale: Annotated[
        str | None, typer.Option(help="Scale of the results; if none, the largest that has any.")
    ] = None,
    results: Annotated[
        Path | None, typer.Option(help="The folder of a run; committed results if none.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the figures, SVG and PNG.")] = HERE
    / "figures",
    bare: Annotated[
        bool,
        typer.Option(
            "--bare", help="Axes, legends and data alone, for a paper: no headings, no captions."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Draw the figures of an experiment; nothing is trained.

    Example: dudley lab figures edelman2021-and
    """
    from dudley.lab.figures.draw import draw
    from dudley.lab.outside import find
    from dudley.lab.pages.run import drawn

    experiment = find(name)
    with watch_steps() as watch:
        watch.say(f"drawing the figures of {experiment.name}")
        figures = draw(chosen(experiment.name, scale, results), out, bare=bare)
    if as_json:
        items = [
            {"id": sketch.name}
            | ({} if bare else {"caption": sketch.caption})
            | {"files": list(map(str, paths))}
            for sketch, paths in figures
        ]
        print_json("figures", items)
    else:
        print_document(drawn(figures, bare))


@lab_app.command("fields")
def fields(
    kind: Annotated[
        str | None,
        typer.Argument(help="task, model, training, optimiser or schedule; all if none."),
    ] = None,
    as_json: Json = False,
) -> None:
    """The fields of a training: type, default and meaning.

    Example: dudley lab fields optimiser
    """
    from dudley.lab.fields import document, fields_of, kinds, units

    chosen_kinds = kinds() if kind is None else [kind]
    if as_json:
        items = [
            {"kind": each, "id": name, "fields": [row._asdict() for row in fields_of(unit)]}
            for each in chosen_kinds
            for name, unit in units(each).items()
        ]
        print_json("fields", items)
    else:
        print_document(document(chosen_kinds))


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
        finished_run = Results(folder)
        if finished_run.name != name or scale not in (None, finished_run.scale):
            got = f"{finished_run.name}, {finished_run.scale}"
            raise InputError("--results", f"results of {name}" + f", {scale}" * bool(scale), got)
        return finished_run
    damaged: dict[str, str] = {}
    by_scale = committed(name, folder, damaged)
    if scale in damaged or (damaged and not by_scale):
        raise DudleyError(damaged.get(scale or "") or next(iter(damaged.values())))
    if not by_scale or scale not in (None, *by_scale):
        wanted = f"results of {name}" + (f" at scale {scale}" if scale else "")
        fix = f"dudley lab run {name} makes some"
        raise InputError("--results", wanted, "none" if folder is None else str(folder), fix)
    return by_scale[scale] if scale else next(iter(by_scale.values()))
