"""The model that ``certify model`` is about: a file of ours, plain weights, or a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dudley.cli.folder import MODEL, named_path, within
from dudley.core.errors import InputError

if TYPE_CHECKING:
    from dudley.certificates.base import CertifiedModel
    from dudley.certificates.data import Dataset

LayoutOption = Annotated[
    str | None, typer.Option(help="Of a checkpoint: a model type, or a mapping file (TOML).")
]
HeadsOption = Annotated[
    int | None, typer.Option(min=1, help="Of a checkpoint: heads of attention.")
]
NormFirstOption = Annotated[
    bool | None,
    typer.Option("--norm-first/--norm-last", help="Of a checkpoint: where its norms stand."),
]
EpsilonOption = Annotated[float | None, typer.Option(help="Of a checkpoint: ε of its norm layers.")]
ActivationOption = Annotated[str | None, typer.Option(help="Of a checkpoint: relu, gelu, …")]
RowOption = Annotated[
    str | None, typer.Option(help="Of a checkpoint: its readout reads first, last or mean.")
]
RoleOption = Annotated[
    list[str] | None,
    typer.Option(help="Of a checkpoint: NAME=embedding, projection, positions, norm or readout."),
]
PadOption = Annotated[
    int | None, typer.Option(help="Code of the padding, which is cut; -1: there is none.")
]
PLAIN = {"roles": (), "scale": 1.0}  # what an option is where it was not given; else None
ScaleOption = Annotated[float, typer.Option(help="Of a checkpoint: factor on its embedding.")]


def read_model(
    path: Path,
    network: Path | None,
    encoding: dict[str, Any] | None,
    options: Mapping[str, Any],
    known: Dataset | None,
    out: Path | None,
) -> tuple[CertifiedModel, Path]:
    """The model and its file; what was put together is written beside ``out``.

    ``options`` are the fields of `Unstored`, ``known`` are examples that the model reads.
    """
    from dudley.certificates import files

    file = within(path, MODEL)
    if network is not None:
        _expect_no(options, "weights with a network file")
        model: CertifiedModel = files.described(file, network, encoding or {})
    elif (whole := _checkpoint(path, file)) is not None:
        model = _opened(whole, encoding, options, known)
    else:
        _expect_no({**options, "encoding": encoding}, "a model file that says it all")
        return files.load(file), file
    return model, file if out is None else _written(model, out)


def _checkpoint(path: Path, file: Path) -> Path | None:
    """The checkpoint that was named; none where it is a file of ours."""
    from dudley.certificates.checkpoints.assemble import is_checkpoint

    folder = named_path(path)
    if folder.is_dir():
        return None if file.is_file() and not is_checkpoint(file) else folder
    return file if file.is_file() and is_checkpoint(file) else None


def _opened(
    path: Path, encoding: dict[str, Any] | None, options: Mapping[str, Any], known: Dataset | None
) -> CertifiedModel:
    from dudley.certificates import tensors
    from dudley.certificates.checkpoints.assemble import open_checkpoint
    from dudley.certificates.checkpoints.unstored import Unstored

    if known is None:
        if path.is_file():
            tensors.read(path)  # what is no safetensors file is refused for that
        expected = "a training set or a hold-out"
        raise InputError("data", expected, "neither", "give --train or --holdout")
    return open_checkpoint(path, known.X, Unstored(**options, inputs=encoding))


def _written(model: CertifiedModel, out: Path) -> Path:
    """The model as a file that ``dudley verify`` reads."""
    from dudley.core.files import written

    path = out.with_suffix(".model.safetensors")
    with written(path) as file:
        model.save(file)
    return path


def _expect_no(options: Mapping[str, Any], what: str) -> None:
    """Refuse options that say of a checkpoint what is known here."""
    odd = [name for name, value in options.items() if value != PLAIN.get(name)]
    if odd:
        option = {"norm_first": "norm-first", "roles": "role"}.get(odd[0], odd[0])
        raise InputError(f"--{option}", "a checkpoint", what, "leave it out")
