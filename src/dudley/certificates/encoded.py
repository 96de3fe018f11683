"""Features of a frozen encoder, computed once: one row of numbers for each example.

``encode(module, X)`` runs any torch module in evaluation mode. It may return features (n, d); rows
(n, T, d), which are averaged; or an object with such rows in ``.last_hidden_state``, as Hugging
Face encoders do. With ``pad``, X holds token numbers, the module is also given the mask X ≠ pad,
and the average is over the tokens of the mask. ``encode(folder, X, pad=0)`` reads a Hugging Face
folder where ``transformers`` is installed. An array of features goes into `Encoded` as it is.

Each row is scaled to norm 1, in float32: a fixed map, nothing is fitted to the sample. The encoder
must not have seen the sample, with labels or without: no program can check that, so it is named
and declared.

>>> from dudley.core.backend import torch
>>> linear = torch.nn.Linear(3, 2).eval()
>>> encoded = encode(linear, np.ones((4, 3), np.float32), "a random projection")
>>> encoded.features.shape, bool(np.allclose(np.linalg.norm(encoded.features, axis=1), 1))
((4, 2), True)
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dudley.certificates.data import freeze, sha256_of
from dudley.certificates.single import expect_single
from dudley.core.constraint import size_of
from dudley.core.errors import InputError
from dudley.core.extras import ExtraMissing


@dataclass(frozen=True, eq=False)
class Encoded:
    """Features (n, d), scaled to norm 1, and the name of the encoder that has not seen them."""

    features: np.ndarray
    encoder: str

    def __post_init__(self):
        features = np.asarray(self.features)
        if features.ndim != 2 or features.dtype.kind != "f" or 0 in features.shape:
            got = f"{features.dtype} of shape {features.shape}"
            raise InputError("features", "floats of shape (n, d)", got)
        if not np.isfinite(features).all():
            raise InputError("features", "finite numbers", "NaN or infinity")
        if not self.encoder:
            fix = "name it, and say by that that it has not seen the sample"
            raise InputError("encoder", "the name of the frozen encoder", "none", fix)
        wide = features.astype(np.float64)
        wide /= np.maximum(np.abs(wide).max(axis=1, keepdims=True), 1e-300)
        wide /= np.maximum(np.linalg.norm(wide, axis=1, keepdims=True), 1e-300)
        object.__setattr__(self, "features", freeze(wide.astype(np.float32)))

    @property
    def population(self) -> str:
        """What is declared of the encoder."""
        return f"examples read by the encoder {self.encoder}, which has not seen the sample"


def encode(
    module: Any, X: np.ndarray, name: str = "", pad: int | None = None, batch: int = 256
) -> Encoded:
    """The features of all examples; the encoder's name carries the hash of its weights."""
    from dudley.certificates.learners.module_predictor import expect_evaluation, state_of
    from dudley.core.backend import torch

    size_of("batch", batch)
    if isinstance(module, str | Path):
        module, name = _of_folder(Path(module)), name or Path(module).name
    expect_evaluation(module)
    if not len(X):
        raise InputError("examples to encode", "at least one", "none")

    def features(X: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            chunk = torch.from_numpy(np.array(X))
            if pad is None:
                return _pooled(module(chunk), None)
            mask = chunk != pad
            return _pooled(module(chunk, attention_mask=mask.long()), mask)

    expect_single(features, X, "features of the encoder")
    parts = [features(X[first : first + batch]) for first in range(0, len(X), batch)]
    digest = sha256_of(state_of(module))[:16]
    label = f"{name or type(module).__name__} (sha256 {digest}…)"
    return Encoded(np.concatenate(parts), label)


def _pooled(output: Any, mask: Any) -> np.ndarray:
    """(n, d): features as they are, rows averaged over the mask."""
    rows = getattr(output, "last_hidden_state", output)
    if getattr(rows, "ndim", 0) not in (2, 3) or not rows.is_floating_point():
        got = type(output).__name__
        raise InputError("output of the encoder", "floats (n, d) or (n, T, d)", got)
    if rows.ndim == 3 and mask is not None:
        weights = mask[:, :, None].to(rows.dtype)
        rows = (rows * weights).sum(1) / weights.sum(1).clamp_min(1)
    elif rows.ndim == 3:
        rows = rows.mean(1)
    return rows.double().numpy()


def _of_folder(folder: Path) -> Any:
    """The encoder of a Hugging Face folder; of the folder only safetensors are read, no code."""
    if not folder.is_dir():
        raise InputError(
            "encoder", "a torch module or a Hugging Face folder", f"no folder {folder}"
        )
    try:
        from transformers import AutoModel  # pyright: ignore[reportMissingImports]
    except ImportError:
        why = "the encoder of a Hugging Face folder needs transformers, which is absent"
        raise ExtraMissing(f"{why}: pip install transformers") from None
    model = AutoModel.from_pretrained(
        folder, local_files_only=True, trust_remote_code=False, use_safetensors=True
    )
    return model.eval()
