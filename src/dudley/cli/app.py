"""The commands, gathered."""

from __future__ import annotations

from typing import Annotated

import typer

from dudley import __version__
from dudley.cli import lab, lab_run, lab_stores
from dudley.cli.commands import (
    audit,
    certify,
    compare,
    construct,
    derive,
    measure,
    report,
    serve,
    theorems,
    tour,
    verify,
)

app = typer.Typer(
    name="dudley",
    help="The generalization theory of Transformers, executable.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("derive")(derive.derive)
app.add_typer(theorems.theorems_app, name="theorems")
app.command("evaluate")(theorems.evaluate)
app.command("audit")(audit.audit)
app.command("compare")(compare.compare)
app.command("construct")(construct.construct)
app.command("measure")(measure.measure)
app.add_typer(certify.certify_app, name="certify")
app.command("verify")(verify.verify)
app.add_typer(lab.lab_app, name="lab")
for name, command in {
    "run": lab_run.run,
    "status": lab_stores.status,
    "retry": lab_stores.retry,
    "export": lab_stores.export,
    "diff": lab_stores.diff,
}.items():
    lab.lab_app.command(name)(command)
app.command("report")(report.report)
app.command("serve")(serve.serve)
app.command("tour")(tour.tour)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"dudley {__version__}")
        raise typer.Exit()


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """The generalization theory of Transformers, executable."""
