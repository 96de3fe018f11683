"""``dudley certify language``: its options, and what they stand for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dudley.cli.declarations import DeltaOption
from dudley.cli.output import Json
from dudley.core.errors import InputError


def certify_texts(
    texts: Annotated[
        Path,
        typer.Argument(
            metavar="TEXT",
            help="A folder (a file is a document), NAME.jsonl, or a text (a line is a document).",
        ),
    ],
    separator: Annotated[
        str, typer.Option(help="What stands between the documents of a text.")
    ] = "\\n",
    field: Annotated[str, typer.Option(help="For JSONL: the key of the text.")] = "text",
    longest: Annotated[
        int, typer.Option(help="A document is cut at so many bytes; its end counts as one.")
    ] = 1024,
    shortest: Annotated[int, typer.Option(help="Shorter documents are left out.")] = 10,
    distinct: Annotated[
        bool, typer.Option("--distinct", help="Keep one of each document.")
    ] = False,
    n: Annotated[int, typer.Option(min=0, help="Documents to read; 0 for all.")] = 0,
    start: Annotated[
        int | None, typer.Option(help="Documents before the stretch; without it, half of them.")
    ] = None,
    model: Annotated[
        str, typer.Option(help="gru, gpt, bpe:TEXTS (tokens of other texts), or hf:FOLDER.")
    ] = "gru",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="name=value, a setting of model or training; value in JSON."),
    ] = None,
    smoothing: Annotated[
        float, typer.Option(help="Share of the uniform distribution that each loss is mixed with.")
    ] = 1 / 64,
    tokens: Annotated[
        bool, typer.Option("--tokens", help="Also the mean over symbols of the sampled contexts.")
    ] = False,
    checkpoints: Annotated[
        int,
        typer.Option(
            min=0, help="Predict in so many blocks, by checkpoints that others can evaluate."
        ),
    ] = 0,
    tolerance: Annotated[
        float, typer.Option(help="With --checkpoints: bits added for each byte, for rounding.")
    ] = 1e-4,
    coded: Annotated[
        int, typer.Option(min=0, help="Steps of a coded model beside, certified on all documents.")
    ] = 0,
    tried: Annotated[
        int, typer.Option(min=1, help="Settings on a list fixed beforehand; all are paid for.")
    ] = 1,
    population: Annotated[str, typer.Option(help="What the documents are drawn from.")] = "",
    unit: Annotated[
        str, typer.Option(help="What a document is and was drawn as: review, source package, …")
    ] = "document",
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    seed: Annotated[
        int | None,
        typer.Option(help="Seed of the order: a random number, drawn if not given."),
    ] = None,
    delta: DeltaOption = 0.05,
    out: Annotated[Path, typer.Option(help="Folder for journals and certificates.")] = Path(
        "dudley-language"
    ),
    as_json: Json = False,
) -> None:
    """Train a language model in one pass, and bound its bits.

    Every document is predicted before the model learns from it, so the log of the pass is a
    certificate, whatever the size of the model. A pass that was killed goes on when the same
    command is given again.

    Example: dudley certify language texts.txt --longest 64
    """
    from dudley.certificates.texts.forms import TextPass
    from dudley.certificates.texts.reading import TextReading
    from dudley.cli.certify_language import TextOptions, certify_language
    from dudley.cli.certify_picks import settings_of

    if out.exists() and not out.is_dir():
        raise InputError("--out", "a folder", f"the file {out}")
    declared = TextPass(
        n=n, start=start, smoothing=smoothing, seed=seed, delta=delta,
        population=population, unit=unit, tokens=tokens, checkpoints=checkpoints,
        tolerance=tolerance, coded=coded, tried=tried,
    )  # fmt: skip
    reading = TextReading(separator, field, longest, shortest, distinct)
    options = TextOptions(texts, reading, model, settings_of(settings), device, out)
    certify_language(options, declared, as_json)
