"""Blocks of a stretch: each is predicted by the checkpoint before it, and only then learnt from.

The stretch from ``start`` to ``n`` is cut into K blocks of nearly the same number of documents.
Where one begins, the model is saved, the losses of all documents of the block are logged, and then
the block is learnt from as usual. The model that predicts is up to a block older than without, and
every document is predicted once more. In return whoever has the documents can evaluate the
checkpoints and see that the losses are theirs (`recheck`).

After a kill the state may lie before a checkpoint that the folder has. Then the weights of that
file are taken, since the losses that are logged already are those of the file.

>>> block_starts(start=10, n=20, blocks=3)
(10, 13, 16)
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dudley.certificates.methods.prequential.log import Prequential
from dudley.certificates.texts.forms import TOKENS, PassForm
from dudley.certificates.texts.learner import TextLearner
from dudley.certificates.texts.state import PassPlace, load_weights, save_weights
from dudley.core.errors import InputError


def block_starts(start: int, n: int, blocks: int) -> tuple[int, ...]:
    """Where each block begins; none without blocks."""
    if not 0 <= blocks <= n - start:
        raise InputError("checkpoints", f"0 to {n - start:,}, one for a document", blocks)
    return tuple(start + (n - start) * k // blocks for k in range(blocks))


def log_block(
    learner: TextLearner,
    texts: tuple[bytes, ...],
    logs: Mapping[PassForm, Prequential],
    place: PassPlace,
    table: dict[str, Any],
) -> None:
    """Save the model that stands at a place, and log its losses on the texts that follow."""
    saved: Path | None = None
    for log in (log for form, log in logs.items() if form.name != TOKENS):
        path = log.checkpoint(_save(learner, table, saved), units=place.units)
        saved = saved or path
    assert saved is not None
    load_weights(saved, table, learner.module)
    units, symbols = place.units, place.symbols
    for first in range(0, len(texts), learner.declared.batch):
        some = texts[first : first + learner.declared.batch]
        nats, lengths = learner.look(some)
        for form, log in logs.items():
            log.before(symbols if form.name == TOKENS else units, *form.losses(some, nats, lengths))
        units, symbols = units + len(some), symbols + int(lengths.sum())


def _save(
    learner: TextLearner, table: dict[str, Any], saved: Path | None
) -> Callable[[Path], None]:
    """What writes the file of a checkpoint; the same file for a second journal."""

    def save(file: Path) -> None:
        if saved is None:
            save_weights(file, table, learner.module)
            return
        file.unlink()
        try:
            os.link(saved, file)
        except OSError:  # a file system without links
            shutil.copyfile(saved, file)

    return save
