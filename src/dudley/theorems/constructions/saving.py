"""Constructions as safetensors files, written whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from dudley.core.errors import InputError
from dudley.core.extras import missing
from dudley.core.files import written
from dudley.theorems.constructions.assemble import Construction


def check(path: str | Path) -> None:
    """Refuse early what cannot be saved: no safetensors, or no such folder."""
    try:
        import safetensors.numpy  # noqa: F401
    except ImportError:
        raise missing("safetensors", "saving", "lab") from None
    path = Path(path)
    if path.is_dir() or not path.parent.is_dir():
        raise InputError("save", "a file in a folder that exists", path)


def save(built: Construction, path: str | Path) -> int:
    """Write every tensor to ``path``; returns the number of bytes.

    The file appears under its name only when it is complete.
    """
    check(path)
    from safetensors.numpy import save as to_bytes

    path = Path(path)
    facts = {
        "schema": "dudley.construction/1",
        "task": built.target.name,
        "indices": json.dumps(built.indices),
        "lemma": built.selector.lemma,
        "gamma": repr(built.selector.γ),
        "coherence": repr(built.coherence),
        "form": built.form,
    }
    tensors = {name: np.ascontiguousarray(value) for name, value in built.tensors().items()}
    data = to_bytes(tensors, metadata=facts)
    with written(path) as temporary:
        temporary.write_bytes(data)
    return len(data)
