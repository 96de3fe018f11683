"""Options that commands of ``dudley certify`` share, and their values."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from dudley.core.boundary import documents
from dudley.core.errors import InputError

DeltaOption = Annotated[float, typer.Option(help="The bound fails with at most this probability.")]
Declare = Annotated[
    list[str] | None,
    typer.Option("--declare", help="method.name=value, fixed before the data; value in JSON."),
]


def encoding_of(text: str) -> dict[str, Any]:
    """The JSON object of ``--encoding``."""
    if not text.lstrip().startswith("{"):
        raise InputError("--encoding", 'JSON such as {"name": "bits", "T": 32}', text)
    return documents.parse(text, "--encoding")


def declarations(pairs: list[str] | None) -> dict[str, dict[str, Any]]:
    """``method.name=value`` by method.

    >>> declarations(["occam.seed=3", "hold-out.interval=fixed-bets"])
    {'occam': {'seed': 3}, 'hold-out': {'interval': 'fixed-bets'}}
    """
    declared: dict[str, dict[str, Any]] = {}
    for pair in pairs or []:
        full_name, equals, text = pair.partition("=")
        method, dot, name = full_name.partition(".")
        if not (equals and dot and name):
            raise InputError("--declare", "method.name=value", pair)
        declared.setdefault(method, {})[name] = value_of(text, f"--declare {full_name}")
    return declared


def value_of(text: str, name: str) -> Any:
    """What JSON says; a text where it is none."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return text
    return documents.value_of(text, name)
