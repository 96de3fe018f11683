"""``dudley audit``: attack every bound, and say which stands."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from dudley.cli.output import Json, print_document, print_json
from dudley.cli.progress import watch_steps
from dudley.cli.statements import Statements
from dudley.core.errors import InputError
from dudley.core.files import expect_place, written
from dudley.core.provenance import envelope

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def audit(
    ids: Annotated[list[str] | None, typer.Argument(help="Statements; all if none.")] = None,
    full: Annotated[bool, typer.Option("--full", help="Also the attacks that take long.")] = False,
    budget: Annotated[
        str | None, typer.Option(help="Stop after this time, such as 60s or 10m.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the attacks' own draws.", min=0)] = 0,
    journal: Annotated[
        Path | None, typer.Option(help="Keep results here; a second run goes on from there.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Processes; as many as cores by default.", min=1)
    ] = None,
    record: Annotated[
        Path | None, typer.Option(help="Write how tight each bound is to this file, as JSON.")
    ] = None,
    statements: Statements = None,
    as_json: Json = False,
) -> None:
    """Attack the bounds from below.

    Exit 1 if a derived bound breaks or a refutation fails. Exit 3 if attacks were left undone when
    the budget was spent, or if no attack fits a statement.

    Example: dudley audit trauger2024/lemma-3.5 --seed 1
    """
    from dudley.audit.judge import by_attack
    from dudley.audit.run import run
    from dudley.show.pages.audit import summary, unattacked

    if record is not None:
        expect_place(record, (".json",), "--record")
    seconds = None if budget is None else parse_duration(budget)
    report = run(
        ids or (),
        full=full,
        budget=seconds,
        seed=seed,
        journal=journal,
        jobs=jobs,
        progress=shown,
    )
    if record is not None:
        items = [row.to_json() for row in by_attack(report.rows)]
        if full and not ids:
            from dudley.audit.whole_networks import attack_shipped

            items += [network.to_json() for network in attack_shipped()]
        text = json.dumps(envelope("tightness", items), indent=1, ensure_ascii=False)
        with written(record) as file:
            file.write_text(text + "\n", encoding="utf-8")
    if as_json:
        print_json("audit", [row.to_json() for row in report.table])
        for words in unattacked(report):
            print(words, file=sys.stderr)
    else:
        print_document(summary(report))
    raise typer.Exit(report.exit_code)


def parse_duration(text: str) -> float:
    """Seconds in a text such as 90, 60s, 10m or 1h.

    >>> parse_duration("10m")
    600.0
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text.strip())
    if match is None:
        raise InputError("--budget", "a time such as 60s, 10m or 1h", text)
    return float(match[1]) * UNITS[match[2] or "s"]


def shown(ended, count: int):
    """Each attack as it ends; how many have ended is shown on stderr."""
    with watch_steps() as watch:
        watch.begin("attacks")
        for done, (name, rows) in enumerate(ended, 1):
            watch.say(f"{done} of {count} ended, {name} the last")
            yield name, rows
