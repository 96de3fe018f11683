"""Train a model of texts in one pass, and certify the bits that it lost before it learnt.

Documents come in the order of `UnitOrder`, whose seed the training never sees. In each step the
losses of the next documents are logged, and only then the model learns from them. The numbers that
come from one pass are those of `forms`.

Where checkpoints are declared, losses are logged by blocks (`blocks`).

A pass that was killed goes on from its folder: the state of the model is saved now and then
(`state`), and losses that are computed again are passed over by the journals.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dudley.certificates.certificate import Certificate
from dudley.certificates.methods.prequential.log import Prequential
from dudley.certificates.methods.prequential.units import UnitOrder
from dudley.certificates.order import declared_seed
from dudley.certificates.texts.base import DocumentModel
from dudley.certificates.texts.beside import Compared, compared
from dudley.certificates.texts.blocks import block_starts, log_block
from dudley.certificates.texts.coded import CODED, certify_coded
from dudley.certificates.texts.documents import Documents
from dudley.certificates.texts.forms import MEAN, TOKENS, PassForm, TextPass, forms_of
from dudley.certificates.texts.learner import TextDescent, TextLearner
from dudley.certificates.texts.state import (
    NAME,
    PassPlace,
    expect_same_pass,
    load_state,
    save_state,
    save_weights,
)
from dudley.core.errors import InputError
from dudley.core.files import written

CERTIFICATE, UNITS, LAST = "certificate.json", "units.txt", "last-model.safetensors"
SEED = "seed.txt"  # of the order, where it was drawn: a pass that goes on needs it
SAID = 1.0  # seconds between two lines
SAVED = 60.0  # and between two states


@dataclass(frozen=True, eq=False)
class CertifiedTexts:
    """The certificates by form, the documents of the stretch, and what the training was."""

    certificates: dict[str, Certificate]
    stretch: tuple[bytes, ...]
    weights: int
    seconds: float

    @cached_property
    def beside(self) -> tuple[Compared, ...]:
        """Guessing and compressors on the same documents."""
        return compared(self.stretch)


def certify_texts(
    model: DocumentModel,
    documents: Documents,
    folder: str | Path,
    declared: TextPass | None = None,
    descent: TextDescent | None = None,
    *,
    device: str = "cpu",
    say: Callable[[str], None] | None = None,
) -> CertifiedTexts:
    """Train on the documents in one pass; write journals, certificates and the last model.

    ``seconds`` of the result are those since this call, without those before a kill.
    """
    folder, declared, descent = Path(folder), declared or TextPass(), descent or TextDescent()
    model.expect(documents.longest)
    seed = declared_seed(declared.seed, _recorded(folder))
    order = UnitOrder.of(documents.texts, seed)
    n = declared.n or order.n
    start = n // 2 if declared.start is None else declared.start
    if not 0 <= start < n <= order.n:
        got = f"n = {n:,}, start = {start:,}"
        raise InputError("documents of the pass", f"start < n ≤ {order.n:,}", got)
    learner, began = TextLearner(model, descent, device), time.monotonic()
    texts = tuple(documents.texts[row] for row in order.rows[:n])
    forms = forms_of(model, documents, texts, start, declared)
    starts = block_starts(start, n, declared.checkpoints)
    table = {"model": model.table(), "descent": asdict(descent), "order": order.sha256, "n": n}
    table |= {"smoothing": declared.smoothing, "start": start, "blocks": len(starts)}
    if declared.seed is None:
        folder.mkdir(parents=True, exist_ok=True)
        with written(folder / SEED) as file:
            file.write_text(f"{seed}\n", "ascii")
    with ExitStack() as stack:
        logs = {form: stack.enter_context(_journal(folder, form, order)) for form in forms}
        expect_same_pass(folder, table, begun=any(log.units for log in logs.values()))
        reading = _Reading(learner, texts, logs, folder, table, starts)
        reading.all(say or (lambda line: None))
        certificates = {
            form.name: log.certificate(None if form.name == TOKENS else seed)
            for form, log in logs.items()
        }
    for name, certificate in certificates.items():
        _write(certificate, _place(folder, name), None if name == TOKENS else order)
    with written(folder / LAST) as file:
        save_weights(file, table, learner.module)
    (folder / NAME).unlink(missing_ok=True)
    if declared.coded:
        certificates[CODED] = certify_coded(
            texts, documents.longest, documents.shortest, folder / CODED, steps=declared.coded,
            delta=declared.delta, among=declared.among, population=declared.population,
            say=say or (lambda line: None),
        )  # fmt: skip
    weights = sum(W.numel() for W in learner.module.parameters())
    return CertifiedTexts(certificates, texts[start:], weights, time.monotonic() - began)


class _Reading:
    """The documents in their order: each batch is logged, then learnt from."""

    def __init__(
        self,
        learner: TextLearner,
        texts: tuple[bytes, ...],
        logs: Mapping[PassForm, Prequential],
        folder: Path,
        table: dict[str, Any],
        starts: tuple[int, ...],
    ):
        self.learner, self.texts, self.logs = learner, texts, logs
        self.folder, self.table, self.starts = folder, table, starts
        self.first = next(iter(logs.values()))
        self.place = load_state(folder, table, learner.module, learner.optimisers)
        if self.place.units > self.first.units:
            expected = f"a journal of {self.place.units:,} documents, as the state beside it has"
            raise InputError(str(folder), expected, f"{self.first.units:,}")
        begun = self._in_blocks and self.place.units not in starts
        if begun and self.first.units < self._until:
            got = f"{self.first.units:,} documents"
            raise InputError(str(folder), f"a journal of the whole block, {self._until:,}", got)

    def all(self, say: Callable[[str], None]) -> None:
        n, said, saved = len(self.texts), time.monotonic(), time.monotonic()
        while self.place.units < n:
            self._step()
            now = time.monotonic()
            if now - said >= SAID:
                said = now
                line = self.first.line() if self.first.tally.m else "before the stretch"
                say(f"{self.place.units:,} of {n:,} documents; {line}")
            if now - saved >= SAVED:
                saved = now
                self.save()

    def save(self) -> None:
        """The state, after the journals have reached the disk."""
        for log in self.logs.values():
            log.sync()
        learner = self.learner
        save_state(self.folder, self.table, self.place, learner.module, learner.optimisers)

    def _step(self) -> None:
        place, learner, until = self.place, self.learner, self._until
        if place.units in self.starts:
            log_block(learner, self.texts[place.units : until], self.logs, place, self.table)
        some = self.texts[place.units : min(place.units + learner.declared.batch, until)]
        nats, lengths = learner.predict(some)
        for form, log in () if self._in_blocks else self.logs.items():
            bits, sizes = form.losses(some, nats, lengths)
            log.before(place.symbols if form.name == TOKENS else place.units, bits, sizes)
        learner.update(place.steps, place.units / len(self.texts))
        symbols = place.symbols + int(lengths.sum())
        self.place = PassPlace(place.units + len(some), symbols, place.steps + 1)

    @property
    def _in_blocks(self) -> bool:
        return len(self.starts) > 0 and self.place.units >= self.starts[0]

    @property
    def _until(self) -> int:
        """Where the next block begins, or the texts end."""
        return next((start for start in self.starts if start > self.place.units), len(self.texts))


def _recorded(folder: Path) -> int | None:
    """The seed that an earlier run of the folder drew, if one did."""
    path = folder / SEED
    if not path.is_file():
        return None
    text = path.read_text("ascii", "replace").strip()
    if not text.isdecimal() or len(text) > 10:
        raise InputError(str(path), "the seed of the order, a whole number", "another text")
    return int(text)


def _place(folder: Path, form: str) -> Path:
    """Where the journal of a form lies."""
    return folder if form == MEAN else folder / form


def _journal(folder: Path, form: PassForm, order: UnitOrder) -> Prequential:
    units = None if form.name == TOKENS else order
    return Prequential(_place(folder, form.name), order=units, sync=1.0, **form.declared)


def _write(certificate: Certificate, place: Path, order: UnitOrder | None) -> None:
    if order is not None:
        order.write(place / UNITS)
    with written(place / CERTIFICATE) as file:
        file.write_text(certificate.text(), encoding="utf-8")
