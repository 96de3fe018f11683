"""Torch files, read with weights_only=True and in no other way.

torch's restricted unpickler builds tensors and plain containers and refuses everything else before
it runs. Files of the zip format are memory-mapped; those of the format before torch 1.6 are read
whole. A zip must hold its members uncompressed, so that the file is as large as what comes out
of it. Versions of torch before 2.10 could corrupt memory on a crafted file all the same
(CVE-2026-24747): with those nothing is read.

A checkpoint that keeps its state dict under one of the usual keys is opened there; what stands
beside it is listed as skipped.
"""

from __future__ import annotations

import re
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dudley.core.backend import torch
from dudley.core.boundary.paths import regular
from dudley.core.boundary.refusal import refusal
from dudley.core.errors import InputError
from dudley.weights.readers.live import LiveWeights

NESTED = ("state_dict", "model_state_dict", "model")
SAFE_TORCH = (2, 10)


def read_pickle(path: Path) -> LiveWeights:
    """The tensors of a torch file."""
    regular(path)
    if _version() < SAFE_TORCH:
        expected = (
            f"torch {SAFE_TORCH[0]}.{SAFE_TORCH[1]} or newer to read a pickle (CVE-2026-24747)"
        )
        raise refusal(path, expected, torch.__version__, fix="pip install -U torch, or safetensors")
    zipped = _check_zip(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loaded = torch.load(str(path), map_location="cpu", weights_only=True, mmap=zipped)
    except Exception as error:  # a damaged pickle can raise nearly anything
        raise refusal(path, "a torch file of tensors alone", _reason(error)) from None
    if not isinstance(loaded, Mapping):
        raise refusal(path, "a state dict", type(loaded).__name__)
    inner = next((key for key in NESTED if _is_state(loaded.get(key))), None)
    if inner is None:
        return LiveWeights(loaded, str(path), str(path), None)
    weights = LiveWeights(loaded[inner], str(path), str(path), None)
    beside = {str(key): f"stands beside {inner!r}, not in it" for key in loaded if key != inner}
    weights.skipped.update({k: why for k, why in beside.items() if k not in weights.names()})
    return weights


def _version() -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", torch.__version__)[:2])


def _is_state(value: Any) -> bool:
    """A mapping with a tensor among its values."""
    return isinstance(value, Mapping) and any(isinstance(v, torch.Tensor) for v in value.values())


def _check_zip(path: Path) -> bool:
    """Whether the file is a zip; a zip that would swell is refused."""
    try:
        with path.open("rb") as file:
            if file.read(4) != b"PK\x03\x04":
                return False
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
        total = sum(member.file_size for member in members)
        stored = all(member.compress_type == zipfile.ZIP_STORED for member in members)
        size = path.stat().st_size
    except Exception as error:  # zipfile raises more than BadZipFile on damaged input
        raise refusal(path, "a whole zip archive", error) from None
    if not stored or total > size:
        got = f"members of {total} bytes in a file of {size}"
        raise refusal(path, "a zip archive with uncompressed members", got)
    return True


def _reason(error: Exception) -> str:
    """What torch said, in one line."""
    if isinstance(error, InputError):
        return str(error)
    text = str(error)
    if blocked := re.search(r"GLOBAL (\S+) was not an allowed", text):
        return f"a pickle that asks for {blocked[1]}; nothing of it was executed"
    if blocked := re.search(r"(\S+) whose module (\S+) is blocked", text):
        return f"a pickle that asks for {blocked[1]}; nothing of it was executed"
    said = re.search(r"WeightsUnpickler error:\s*([^\n]+)", text)
    return f"{type(error).__name__}: {said[1] if said else text.strip()}"
