"""``dudley watch``: a stream of outcomes, a bound that holds at every look, and an alarm."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dudley.cli.folder import named_path
from dudley.cli.output import Json, print_document, print_json
from dudley.core.errors import InputError

EXAMPLE = "outcomes.csv"


def watch(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE|-",
            help="Lines as they come: 0 or 1 (an error), JSON objects, or a CSV table; or the "
            "example drifting.",
        ),
    ],
    alarm_at: Annotated[
        float | None, typer.Option(help="Exit with 1 once the error provably exceeds this level.")
    ] = None,
    alarm: Annotated[
        str,
        typer.Option(help="ever: exceeded at some time; mean: the mean so far exceeds the level."),
    ] = "ever",
    delta: Annotated[float, typer.Option(help="Probability of a wrong statement, ever.")] = 0.05,
    state: Annotated[
        Path | None, typer.Option(help="File (.json) to go on from later; safe to kill.")
    ] = None,
    next_part: Annotated[
        bool, typer.Option("--next", help="FILE goes on where another one ended (rotation).")
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="Wait for more lines, until the alarm.")
    ] = False,
    format: Annotated[
        str | None, typer.Option(help="numbers, json-lines or csv, if the first line misleads.")
    ] = None,
    column: Annotated[
        str | None, typer.Option(help="The column or key with the loss in [0, 1].")
    ] = None,
    correct: Annotated[
        bool, typer.Option("--correct", help="A 1 (or true) is a right answer.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Page to write (.html).")] = None,
    as_json: Json = False,
) -> None:
    """Bound the error of a stream at every moment; raise an alarm.

    The bound is on the running mean of the conditional error: it holds at all looks together,
    however often one looks, and under drift it is about the mean so far. With --state every line
    is counted once, whenever the process is killed. Exit code 1 is the alarm.

    Example: dudley watch drifting --alarm-at .05
    """
    from dudley.certificates.stream.stream import StreamDeclared
    from dudley.certificates.stream.watching import LineReading, StreamWatcher
    from dudley.core.files import expect_place
    from dudley.show.pages.stream import document, record

    if out is not None:
        expect_place(out, (".html",))
    if follow and as_json:
        raise InputError("--follow", "no --json, which is one document", "both")
    shipped = named_path(Path(source)) / EXAMPLE
    watcher = StreamWatcher(
        str(shipped) if source != "-" and shipped.is_file() else source,
        StreamDeclared(delta, alarm_at, alarm),
        state,
        LineReading(format, column, correct),
        next_part,
    )
    watcher.run(follow, say)
    item = record(watcher.stream, watcher.waiting)
    if out is not None:
        from dudley.show.as_html import write

        write(document([item]), out)
    if as_json:
        print_json("stream", [item])
    else:
        print_document(document([item]))
    if item["alarm"] is not None:
        raise typer.Exit(1)


def say(look) -> None:
    """A line on stderr now and then."""
    import sys

    from dudley.cli.progress import MARK
    from dudley.core.rounding import ceiling

    words = f"{look.n:,} outcomes, mean error at most {ceiling(look.upper)}"
    print(f"{MARK}{words}", file=sys.stderr, flush=True)
