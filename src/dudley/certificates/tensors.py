"""Safetensors files with a JSON header of ours: arrays by name, the rest under ``dudley``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from dudley.core.boundary import documents
from dudley.core.boundary.header import read_header
from dudley.core.errors import InputError

# Schemas, which tell the files apart.
MODEL, POSTERIOR, TRAINED = "dudley.model/1", "dudley.posterior/1", "dudley.trained/1"


def read(path: str | Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header (empty if there is none) and the arrays; nothing is executed."""
    _expect_library(f"reading {path}")
    from safetensors import safe_open

    path = Path(path)
    if not path.is_file():
        raise InputError("model", "a file .safetensors", f"no file {path}")
    header = read_header(path)
    ours = documents.parse(header.metadata.get("dudley", "{}"), path)
    try:
        with safe_open(str(path), "np") as file:
            arrays = {name: np.asarray(file.get_tensor(name)) for name in header.entries}
    except Exception as error:  # whatever a broken file raises
        raise InputError(path.name, "a readable safetensors file", error) from None
    return ours, arrays


def schema(path: str | Path) -> str:
    """The schema that a file's header names; no array is read."""
    header = read_header(Path(path))
    return str(documents.parse(header.metadata.get("dudley", "{}"), Path(path)).get("schema", ""))


def write(path: str | Path, header: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write the file of a header and arrays."""
    _expect_library(f"writing {path}")
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    whole = {name: np.ascontiguousarray(W) for name, W in arrays.items()}
    try:
        save_file(whole, str(path), {"dudley": json.dumps(header, sort_keys=True)})
    except SafetensorError as error:  # a full disk, among others
        raise InputError(str(path), "a place that can be written", error) from None


def _expect_library(purpose: str) -> None:
    """Refuse where safetensors is absent, and name the extra that brings it."""
    if find_spec("safetensors") is None:
        from dudley.core.extras import missing

        raise missing("safetensors", purpose)
