"""``dudley plan-test``: how many examples a certificate of outcomes needs."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dudley.cli.output import Json, print_document, print_json
from dudley.core.confidence import confidence
from dudley.core.errors import InputError


def plan_test(
    error: Annotated[float, typer.Option(help="The error that is expected of the model.")],
    below: Annotated[
        float | None, typer.Option(help="The level to prove; by default twice the error.")
    ] = None,
    power: Annotated[float, typer.Option(help="The chance of a proof.")] = 0.9,
    delta: Annotated[float, typer.Option(help="A proof is wrong with this chance at most.")] = 0.05,
    slices: Annotated[int | None, typer.Option(help="Slices that share δ.")] = None,
    share: Annotated[
        float | None,
        typer.Option(help="Share of all rows in the smallest slice; by default 1/slices."),
    ] = None,
    stop: Annotated[
        float | None, typer.Option(help="Of a gate: an error that must be proved too large.")
    ] = None,
    discordant: Annotated[
        float | None, typer.Option(help="To compare: the share of rows where one model errs alone.")
    ] = None,
    margin: Annotated[
        float | None, typer.Option(help="To compare: not worse by more than this.")
    ] = None,
    questions: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Parts of the certificate that share δ; by default 1, and 2 for slices, a gate "
            "and a comparison, beside which the number itself stands.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say how many examples a test needs.

    For a comparison, --error is the difference that is expected: new minus old. Numbers are those
    of ``dudley certify outcomes`` with --below, --group, --old, or --below and --two-sided for a
    gate.

    Example: dudley plan-test --error .01 --below .02 --power .9
    """
    from dudley.certificates.outcomes import sizes
    from dudley.show.document import Document, Properties, Section

    plan: dict[str, Any] = {"error": error, "power": power, "delta": delta}
    if (discordant is None) != (margin is None):
        raise InputError("comparison", "--discordant and --margin", "one of them")
    kinds = [discordant is not None, slices is not None, stop is not None]
    if sum(kinds) > 1:
        raise InputError("plan-test", "a comparison, slices or a gate", "several of them")
    if share is not None and slices is None:
        raise InputError("--share", "--slices, to which it belongs", "none")
    level = below if below is not None else 2 * error
    count = questions or (2 if any(kinds) else 1)
    part, plan["questions"] = delta / count, count
    if discordant is not None and margin is not None:
        if below is not None:
            raise InputError("--below", "--margin alone, for a comparison", below)
        kind = f"not worse by more than {margin:g}, where the difference is {error:g}"
        size = sizes.comparison_size(discordant, error, margin, part, power)
        plan |= {"discordant": discordant, "margin": margin}
    elif slices is not None:
        share = 1 / slices if share is None else share
        kind = f"an error below {level:g} in a slice of a share of {share:g}, one of {slices}"
        size = sizes.slice_size(error, level, part, power, slices, share)
        plan |= {"below": level, "slices": slices, "share": share}
    elif stop is not None:
        kind = f"a gate at {level:g} that lets {error:g} pass and stops {stop:g}"
        size = sizes.gate_size(error, stop, level, part, power)
        plan |= {"below": level, "stop": stop}
    else:
        kind = f"an error below {level:g}, where it is {error:g}"
        size = sizes.certificate_size(error, level, part, power)
        plan |= {"below": level}
    plan |= {"n": size.n, "power_there": size.power}
    plan |= {} if size.errors is None else {"errors_allowed": size.errors}
    if as_json:
        print_json("plan-test", [plan])
        return
    shared = "" if count == 1 else f", shared by {count} questions"
    rows = [("power", f"{size.power:.4g}"), ("confidence", f"{confidence(delta)}{shared}")]
    rows += [] if size.errors is None else [("errors allowed", f"{size.errors:,}")]
    title = f"{size.n:,} independent examples prove {kind}"
    print_document(Document("", (Section(title, (Properties(tuple(rows)),)),), kind="plan-test"))
