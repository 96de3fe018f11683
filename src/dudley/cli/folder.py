"""The folder of a certified model: its files, and how a folder or a shipped example is named."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from dudley.core.boundary.paths import is_plain

if TYPE_CHECKING:
    from dudley.certificates.base import CertifiedModel
    from dudley.certificates.certificate import Certificate
    from dudley.certificates.data import Dataset

MODEL, TRAIN, CERTIFICATE = "model.safetensors", "train.npz", "certificate.json"
DOCUMENTS = "documents.npz"  # of a language model


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
    import numpy as np

    from dudley.core.files import written

    folder.mkdir(parents=True, exist_ok=True)
    places = (written(folder / name) for name in (TRAIN, MODEL, CERTIFICATE))
    with contextlib.ExitStack() as whole:  # all three, or none of them
        data, weights, file = map(whole.enter_context, places)
        np.savez_compressed(data, X=train.X, y=train.y)
        model.save(weights)
        file.write_text(certificate.text(), encoding="utf-8")
