"""Evaluate the checkpoints of a text pass again, on all documents or on a random part of them.

Whoever has the texts makes the documents of them as was declared; their hashes give the order that
the journal committed to. The model is made of what ``pass.json`` says, each block of the checkpoint
before it, and its smoothed bits are compared with the logged ones (`recheck_pass`). The file of
each checkpoint, whose hash is in the journal, says the same as ``pass.json``. The share α of the
uniform distribution is there, too, and must give the limit that was declared.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dudley.certificates.methods.prequential.recheck import PassPart, recheck_pass
from dudley.certificates.methods.prequential.smoothing import UnitSmoothing
from dudley.certificates.methods.prequential.units import UnitOrder
from dudley.certificates.records import from_json
from dudley.certificates.texts.base import MODELS, DocumentModel, model_of
from dudley.certificates.texts.documents import Documents
from dudley.certificates.texts.forms import BYTES
from dudley.certificates.texts.learner import TextDescent, TextLearner
from dudley.certificates.texts.state import PASS, SCHEMA, load_weights
from dudley.certificates.verify import Verification
from dudley.core.backend import torch
from dudley.core.boundary import documents as json_documents
from dudley.core.boundary.paths import regular
from dudley.core.boundary.refusal import refusal
from dudley.core.errors import InputError

FROM_FILES = {"hf": "the folder of the model", "bpe": "the texts of the tokenizer"}


def recheck_texts(
    certificate: Mapping[str, Any],
    folder: str | Path,
    documents: Documents,
    part: PassPart | None = None,
    *,
    start: str | None = None,
    device: str = "cpu",
) -> Verification:
    """Verify the certificate of a folder; ``start`` is what a model needs beside: the folder
    of one of Hugging Face, or the texts that tokens were learnt from.

    The certificate is that of the mean or of totals, and its journal lies in ``folder``.
    """
    folder = Path(folder)
    table = read_pass_table(folder)
    model = _model(table, start)
    if start is None:
        _expect_weights(model, folder)
    learner = TextLearner(model, _descent(table), device)
    smoothing = _smoothing(table, documents, certificate)
    seed = certificate["declared"].get("seed")
    if seed is None:
        raise InputError("seed of the order", "that of the documents", "none")
    order = UnitOrder.of(documents.texts, seed)
    loaded: list[Path] = []

    def evaluate(path: Path, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if loaded[-1:] != [path]:
            load_weights(path, table, learner.module)
            loaded.append(path)
        nats = []
        for first in range(0, len(rows), learner.declared.batch):
            some = [documents.texts[row] for row in rows[first : first + learner.declared.batch]]
            nats.append(learner.look(some)[0].sum(1))
        sizes = documents.sizes[rows]
        return smoothing.bits(np.concatenate(nats), sizes), sizes

    return recheck_pass(certificate, folder, order, evaluate, part)


def read_pass_table(folder: Path) -> dict[str, Any]:
    """What a pass is of; that of totals lies one folder above its journal."""
    path = next(
        (place / PASS for place in (folder, folder.parent) if (place / PASS).is_file()), None
    )
    if path is None:
        raise InputError(str(folder), f"a folder of certify language, with {PASS}", "none")
    table = json_documents.read(path)
    names = {"model": dict, "descent": dict, "smoothing": float}
    of = table.get("of") if table.get("schema") == SCHEMA else None
    if not isinstance(of, dict) or any(not isinstance(of.get(n), k) for n, k in names.items()):
        raise refusal(path, f"a table of {', '.join(names)}", "another one")
    return of


def _model(table: dict[str, Any], start: str | None) -> DocumentModel:
    settings = dict(table["model"])
    name = str(settings.pop("name", ""))
    if start is None and name in FROM_FILES:
        raise InputError("start", f"{FROM_FILES[name]}, by --start", "none")
    if start is None:
        return model_of(name, settings)
    sizes = ("context", "sizes")
    model = MODELS[name].from_folder(start, {s: settings[s] for s in sizes if s in settings})
    if model.table() != table["model"]:
        raise InputError(start, "the start of this pass", "another one, by its hash or settings")
    return model


def _descent(table: dict[str, Any]) -> TextDescent:
    return from_json(TextDescent, table["descent"], "setting", "the training")


def _smoothing(
    table: dict[str, Any], documents: Documents, certificate: Mapping[str, Any]
) -> UnitSmoothing:
    smoothing = UnitSmoothing(BYTES, table["smoothing"], documents.shortest)
    limit = certificate["declared"].get("limit")
    if smoothing.limit != limit:
        expected = f"smoothing and shortest of the limit {limit}"
        raise InputError("smoothing", expected, f"those of {smoothing.limit}")
    return smoothing


def _expect_weights(model: DocumentModel, folder: Path) -> None:
    """Refuse sizes that the file of the first checkpoint cannot hold, before they are built."""
    path = regular(folder / "checkpoint-0")
    with torch.device("meta"):
        weights = sum(W.numel() for W in model.make().parameters())
    if 4 * weights > path.stat().st_size:
        raise refusal(path, f"{weights:,} weights, as {PASS} says", "fewer")
