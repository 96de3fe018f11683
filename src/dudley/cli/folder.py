"""The folder of a certified model: its files, and how a folder or a shipped example is named."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dudley.core.boundary.paths import is_plain

if TYPE_CHECKING:
    from dudley.certificates.base import CertifiedModel
    from dudley.certificates.certificate import Certificate
    from dudley.certificates.data import Dataset

MODEL, TRAIN, CERTIFICATE = "model.safetensors", "train.npz", "certificate.json"
DOCUMENTS = "documents.npz"  # of a language model
BESIDE = "beside.json"  # the hold-out of the same examples
JOURNAL, UNITS = "rank-0.log", "units.txt"  # of a pass
CANDIDATES, OUTCOMES = "candidates.json", "outcomes.npz"  # of a selection
OUTCOME_TABLE = "outcomes.csv"  # of an example of outcomes


def named_path(path: Path) -> Path:
    """The file or folder itself, or the shipped example of that name."""
    from dudley.networks.files import EXAMPLES

    shipped = is_plain(str(path)) and not path.exists()
    return EXAMPLES / path if shipped else path


def within(path: Path, name: str) -> Path:
    """The file itself, or the one of that name in a folder or in a shipped example."""
    folder = named_path(path)
    return folder / name if folder.is_dir() else path


def beside(path: Path, name: str) -> Path | None:
    """The file of that name in the same folder, where a folder or an example was named."""
    file = within(path, name)
    return file if file != path and file.is_file() else None


def keep(certificate: Certificate, path: Path) -> None:
    """Write the certificate file."""
    from dudley.core.files import written

    with written(path) as file:
        file.write_text(certificate.text(), encoding="utf-8")


def keep_all(model: CertifiedModel, train: Dataset, certificate: Certificate, folder: Path) -> None:
    """Write the model, its data and the certificate into a folder that is made if it is absent."""
    file = {CERTIFICATE: lambda path: path.write_text(certificate.text(), encoding="utf-8")}
    keep_files(folder, {**npz_of(train), MODEL: model.save, **file})


def npz_of(train: Dataset) -> Mapping[str, Callable[[Path], Any]]:
    """The file of the data, and what writes it."""
    import numpy as np

    return {TRAIN: lambda path: np.savez_compressed(path, X=train.X, y=train.y)}


def keep_files(folder: Path, files: Mapping[str, Callable[[Path], Any]]) -> None:
    """Write all of the files, or none of them, into a folder that is made if it is absent."""
    from dudley.core.files import written

    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as whole:
        places = [whole.enter_context(written(folder / name)) for name in files]
        for place, write in zip(places, files.values(), strict=True):
            write(place)
