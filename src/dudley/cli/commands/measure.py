"""``dudley measure``: certified norms of a checkpoint, and what each of its tensors is."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from dudley.cli.output import Json, print_document, print_json
from dudley.cli.progress import watch_steps
from dudley.core.boundary.text import line
from dudley.core.errors import InputError
from dudley.core.files import expect_place, written


def measure(
    checkpoint: Annotated[
        str, typer.Argument(help="A folder, a weights file, or the example tiny-bert.")
    ],
    init: Annotated[
        str | None, typer.Option(help="A second checkpoint: distances are measured from it.")
    ] = None,
    sibling: Annotated[
        str | None, typer.Option(help="Another checkpoint, to compare with at a glance.")
    ] = None,
    base: Annotated[
        str | None, typer.Option(help="What a LoRA adapter changes; the sum is measured.")
    ] = None,
    layout: Annotated[
        str | None, typer.Option(help="A model type, or a mapping file (TOML).")
    ] = None,
    heads: Annotated[
        int | None, typer.Option(min=1, help="Number of heads, where no config says it.")
    ] = None,
    device: Annotated[str, typer.Option(help="cpu | cuda")] = "cpu",
    rank_tolerance: Annotated[
        float | None,
        typer.Option(help="Count singular values above this share of the largest."),
    ] = None,
    check_with: Annotated[
        str | None, typer.Option(help="Compare with the forward pass of: transformers.")
    ] = None,
    per_head: Annotated[bool, typer.Option("--per-head", help="A line for each head.")] = False,
    csv: Annotated[str | None, typer.Option(help="Write every matrix to this file.")] = None,
    as_json: Json = False,
) -> None:
    """Certify the norms of a checkpoint, per layer and head.

    First what stands out: the largest norms and where, how much of full rank is used, and which
    kind of node would make a bound large; with --init how far it is from its start. Then every
    matrix, and every tensor, as used or as skipped with the reason. Norms are upper ends that hold
    for the stored weights, in the orientation x ↦ xW. With --check-with the network that derive
    would bound runs beside the library's own, on random inputs; exit code 1 if they differ.

    Example: dudley measure tiny-bert
    """
    from dudley.show.pages.measurement import summary
    from dudley.weights.forward import check_forward, expect_library
    from dudley.weights.judgement import record_of
    from dudley.weights.measure import measure as run

    if check_with is not None:
        expect_library(check_with)
        if base is not None:
            raise InputError("--check-with", "a checkpoint of its own", "an adapter, with --base")
    if csv is not None:
        expect_place(Path(csv), (".csv",), "--csv")
    with progress() as tell:
        measurement = run(checkpoint, init, layout, device, rank_tolerance, heads, base, tell)
        other = None
        if sibling is not None:
            other = run(sibling, None, layout, device, None, heads, base, tell)
    check = None
    if check_with is not None:
        check = check_forward(measurement, checkpoint, check_with, layout=layout)
    if csv is not None:
        with written(Path(csv)) as temporary:
            temporary.write_text(measurement.to_csv(), encoding="utf-8")
    if as_json:
        more = {"judgement": record_of(measurement, other)}
        if check is not None:
            more["forward"] = check.to_json()
        print_json("measure", [measurement.to_json() | more])
    else:
        print_document(summary(measurement, per_head, other, check))
    if check is not None and not check.agrees:
        raise typer.Exit(1)


@contextmanager
def progress():
    """Which matrix is being measured, and how many were, on stderr."""
    with watch_steps() as watch:
        watch.say("opening")
        yield lambda what, done, total: watch.say(f"{line(what)}, {done} of {total}")
