"""``dudley certify outcomes``: a bound from a table of outcomes, slices, gates and comparisons."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from dudley.cli.folder import OUTCOME_TABLE, keep, within
from dudley.cli.output import Json, paragraph
from dudley.core.errors import InputError

FAILED, TOO_FEW_ROWS = 1, 3  # exit codes of --below
CODES = {"proved": 0, "larger": FAILED, "too large": FAILED, "too few": TOO_FEW_ROWS}
Column = Annotated[str, typer.Option(help="The column, if its name is not the plain one.")]


def _said(option: str) -> tuple[str, Any]:
    """A name and its value, which is read as JSON where it is true, false or a number."""
    name, mark, text = option.partition("=")
    if not (name and mark):
        raise InputError("--log-option", "NAME=VALUE", option)
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    return name, value if isinstance(value, bool | int | float) else text


def certify_outcomes(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Outcomes (.csv, .tsv, .jsonl, .parquet).")
    ],
    y: Column = "",
    prediction: Column = "",
    correct: Column = "",
    loss: Column = "",
    score: Column = "",
    id: Column = "",
    unit: Annotated[
        str, typer.Option(help="The column of the unit whose rows depend on each other.")
    ] = "",
    unit_way: Annotated[
        str, typer.Option(help="How a unit counts: mean (of its rows) or first (one row).")
    ] = "mean",
    seed: Annotated[
        int | None, typer.Option(help="For --unit-way first: a seed that was drawn at random.")
    ] = None,
    time: Annotated[
        str, typer.Option(help="The column of times: a bound that holds whatever changed.")
    ] = "",
    group: Annotated[
        list[str] | None, typer.Option(help="A column of groups: each label is a slice.")
    ] = None,
    slices_below: Annotated[
        float | None, typer.Option(help="Test each slice against this level.")
    ] = None,
    old: Annotated[str, typer.Option(help="The column of another model, to compare with.")] = "",
    margin: Annotated[
        float | None, typer.Option(help="Not worse than the old model by more than this.")
    ] = None,
    candidate: Annotated[
        list[str] | None, typer.Option(help="A column of a candidate; the best one is taken.")
    ] = None,
    among: Annotated[
        int, typer.Option(min=1, help="Models or prompts that were compared on these rows.")
    ] = 1,
    answered_below: Annotated[
        float | None, typer.Option(help="Find a threshold of the score with at most this risk.")
    ] = None,
    threshold: Annotated[
        list[float] | None, typer.Option(help="A declared threshold; by default 0, .05, …, .95.")
    ] = None,
    chains: Annotated[int | None, typer.Option(help="Chains of thresholds, 1 to all.")] = None,
    below: Annotated[
        float | None, typer.Option(help="A level: exit code 0 proved, 1 not below, 3 too few.")
    ] = None,
    two_sided: Annotated[
        bool, typer.Option("--two-sided", help="Give lower ends as well.")
    ] = False,
    delta: Annotated[float, typer.Option(help="All of it fails with at most this chance.")] = 0.05,
    population: Annotated[
        str, typer.Option(help="The population that the number is about, in words.")
    ] = "",
    log: Annotated[
        str, typer.Option(help="The tool that wrote FILE: lm-eval, inspect or huggingface.")
    ] = "",
    log_option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="What the log is asked, such as metric=acc."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The certificate file (.json).")] = None,
    as_json: Json = False,
) -> None:
    """Bound an error from a table of outcomes.

    The table has labels and predictions, or what was correct, or losses.

    Everything that is named here counts as declared before the rows were seen, and all that is
    stated holds at once. Without a name, columns y, prediction, correct, loss, score and id are
    used where they are there.

    Example: dudley certify outcomes reviews --group language
    """
    from dudley.certificates.auto import Ranking
    from dudley.certificates.certify_outcomes import outcomes
    from dudley.cli.commands.certify import print_ranking
    from dudley.core.files import expect_place

    if out is not None:
        expect_place(out, (".json",))
    table = within(file, OUTCOME_TABLE)
    columns: dict[str, Any] = {
        "y": y, "prediction": prediction, "correct": correct, "loss": loss, "score": score,
        "id": id, "unit": unit, "time": time, "old": old,
    }  # fmt: skip
    thresholds = {} if not threshold else {"thresholds": tuple(threshold), "chains": 1}
    declared = thresholds | ({} if chains is None else {"chains": chains})
    named = {name: value for name, value in columns.items() if value}
    named |= {"groups": group} if group else {}
    named |= {"candidates": candidate} if candidate else {}
    if log:
        declared["log"] = {"tool": log} | dict(map(_said, log_option or []))
        if named.pop("unit", "") == "id":
            declared["units"] = True
    elif log_option:
        raise InputError("--log-option", "--log, to which it belongs", "none")
    certificate = outcomes(
        table, **named, unit_way=unit_way, seed=seed,
        slices_below=slices_below, margin=margin, among=among, answered_below=answered_below,
        below=below, two_sided=two_sided, delta=delta, population=population, **declared,
    )  # fmt: skip
    if out is not None:
        keep(certificate, out)
    check = f"dudley verify {out} --data {file}"
    print_ranking(Ranking((certificate,), {}), out, check, as_json)
    facts = certificate.facts
    if facts.repeated_ids:
        words = (
            f"dudley: {facts.repeated_ids:,} rows have the id of an earlier one and were counted as"
            " independent; if rows of one id depend on each other, name its column by --unit"
        )
        print(paragraph(words), file=sys.stderr)
    if facts.below is not None and CODES[facts.below["verdict"]]:
        raise typer.Exit(CODES[facts.below["verdict"]])
