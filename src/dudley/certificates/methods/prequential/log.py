"""Log a pass in anyone's loop: ``with Prequential(folder, …) as log: log.before(None, losses)``.

``before`` is called with the losses of the next units *before* the model learns from them. They are
on the disk when it returns. What was logged once is never counted again: after a restart from an
older checkpoint the same units come again, and are passed over.

>>> import tempfile
>>> rng = np.random.default_rng(0)
>>> with tempfile.TemporaryDirectory() as folder, Prequential(folder, start=1000) as log:
...     for _ in range(50):
...         log.before(None, rng.random(100) < 0.02)
...     log.units, log.line()
(5000, 'error ≤ 0.02903 with probability 0.95, so far (4,000 units)')
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dudley.certificates.certificate import Certificate
from dudley.certificates.methods.prequential.declared import PassChoices, PassDeclared
from dudley.certificates.methods.prequential.entries import Places, expect_entries, places_of
from dudley.certificates.methods.prequential.journal import PassJournal, UnitBlock, to_text
from dudley.certificates.methods.prequential.method import PrequentialMethod
from dudley.certificates.methods.prequential.passlog import PassCheckpoint, RankLog, read_pass
from dudley.certificates.methods.prequential.plan import (
    bill_of,
    count,
    expected_ratio,
    tally_of,
    value_of,
)
from dudley.certificates.methods.prequential.quantity import name_of
from dudley.certificates.methods.prequential.units import UnitOrder
from dudley.certificates.records import to_json
from dudley.core.errors import InputError
from dudley.core.files import written
from dudley.core.rounding import ceiling


class Prequential:
    """Final: the journal of this process, and the bound so far.

    ``declared`` has the fields of `PassDeclared`: delta, loss, limit, start, unit, totals, ….
    ``order`` is the order of the units, if it is to be committed to; the seed comes at the end.
    Every process of a training on several devices has its ``rank`` and gives the ``step``. Where
    steps take milliseconds, ``sync`` = 1 waits for the disk once a second (see `journal`).
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        order: UnitOrder | None = None,
        rank: int = 0,
        ranks: int = 1,
        sync: float = 0.0,
        **declared: Any,
    ):
        self.folder, self.order, self.rank, self.ranks = Path(folder), order, rank, ranks
        if not 0 <= rank < ranks:
            raise InputError("rank", f"0 to {ranks - 1}", rank)
        if "seed" in declared:
            fix = "give it to certificate(), after the pass"
            raise InputError("seed", "nothing: the learner does not see it", declared["seed"], fix)
        self.declared: PassDeclared = PrequentialMethod().read_declared(declared)
        header = {
            "declared": to_json(self.declared),
            "order": None if order is None else order.sha256,
            "rank": rank,
            "ranks": ranks,
        }
        self.tally, self.units, self.step = tally_of(self.declared, self.declared.expected), 0, 0
        self.checkpoints: list[PassCheckpoint] = []
        self._early: list[tuple[np.ndarray, np.ndarray | None]] = []
        self.journal = PassJournal(self.folder / f"rank-{rank}.log", header, sync)
        if self.journal.earlier:
            self._recall()
        self.earlier = self.units  # of the journal when it was opened

    def __enter__(self) -> Prequential:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the journal; a later `Prequential` of the same folder goes on."""
        self.journal.close()

    def sync(self) -> None:
        """Wait for the disk: with ``sync`` seconds, call this before you save a model."""
        self.journal.sync()

    def before(
        self, units: Places, losses: Any, sizes: Any = None, step: int | None = None
    ) -> None:
        """Log the losses of units that no update has used yet.

        ``units`` are their places in the order, the first place, their names, or None for the next
        ones. ``losses`` are one number each: 0 or 1, a loss up to the limit, or bits, then with
        ``sizes``. Units that are in the journal are passed over; so that they can be, units must
        have places where an earlier run goes on.
        """
        if units is None and self.earlier:
            fix = "name the place of the first one: the model may be older than the journal"
            got = f"none, with {self.earlier:,} units of an earlier run"
            raise InputError("units", "places, where an earlier run goes on", got, fix)
        x, size = expect_entries(self.declared, losses, sizes)
        places = places_of(units, len(x), self.units, self.order)
        fresh = places >= self.units
        if not fresh.any():
            return
        if self.ranks == 1 and (places[fresh] != self.units + np.arange(int(fresh.sum()))).any():
            fix = (
                "if the model has learnt from those between, resume(trained=…) counts them as lost"
            )
            expected = f"unit {self.units:,}, the next of the order"
            raise InputError("units", expected, f"{places[fresh][0]:,}", fix)
        if self.ranks > 1 and step is None:
            raise InputError("step", "the number of the update, on several devices", "none")
        self.step = self.step + 1 if step is None else self._expect_step(step)
        block = UnitBlock(self.step, places[fresh], x[fresh], None if size is None else size[fresh])
        self.journal.append(b"L", block.to_bytes())
        self._count(block, lost=False)

    def resume(self, trained: int) -> None:
        """Say that the model which was restored has learnt from the first ``trained`` units.

        Those that the journal lacks can never be logged honestly. They count with the largest loss.
        """
        if trained <= self.units:
            return
        if self.ranks > 1:  # each journal has a part of the units
            if trained <= (logged := read_pass(self.folder).n):
                return
            fix = "restore a checkpoint that was saved after the losses were logged"
            raise InputError("trained", f"at most the {logged} units logged", trained, fix)
        places, bits = np.arange(self.units, trained), self.declared.loss == "bits"
        block = UnitBlock(
            self.step,
            places,
            np.zeros(len(places)),
            np.ones(len(places), np.int64) if bits else None,
        )
        self.journal.append(b"T", block.to_bytes())
        self._count(block, lost=True)

    def checkpoint(self, save: Callable[[Path], Any], units: int | None = None) -> Path:
        """Save the model whose losses on the next units are logged; ``save`` writes the file.

        ``units`` says how many units the model has read, those of all devices together. It is
        needed on several devices, where this process knows its own alone, and where an earlier run
        goes on, whose journal may be ahead of the model. Where the journal has a checkpoint of this
        place already, nothing is written: load that one and go on.
        """
        if not self.declared.checkpoints or self.rank:
            fix = "declare checkpoints before the pass; process 0 saves them"
            raise InputError("checkpoint", "one that was declared", "another", fix)
        if units is None and (self.earlier or self.ranks > 1):
            expected = "the number of units that the model has read"
            raise InputError("units of a checkpoint", expected, "none")
        at = self.units if units is None else units
        for saved in self.checkpoints:
            if saved.units == at:
                return self.folder / saved.file
        last = self.checkpoints[-1].units if self.checkpoints else -1
        if not max(self.units, last) <= at or (self.ranks == 1 and at > self.units):
            expected = f"a model at unit {self.units:,}, where the journal is"
            raise InputError("checkpoint", expected, f"one at unit {at:,}")
        number = len(self.checkpoints)
        if number == self.declared.checkpoints:
            raise InputError("checkpoints", f"the {number} that were declared", "another")
        path = self.folder / f"checkpoint-{number}"
        with written(path) as file:
            save(file)
        entry = PassCheckpoint(number, path.name, file_sha256(path), at)
        self.journal.append(b"C", to_text(to_json(entry)))
        self.checkpoints.append(entry)
        return path

    def again(self, checkpoint: int, units: Places, losses: Any, sizes: Any = None) -> None:
        """Log losses of an earlier checkpoint on units after its own block, in their order."""
        if not 0 <= checkpoint < len(self.checkpoints):
            raise InputError("checkpoint", f"one of {len(self.checkpoints)}", checkpoint)
        x, size = expect_entries(self.declared, losses, sizes)
        block = UnitBlock(self.step, places_of(units, len(x), self.units, self.order), x, size)
        self.journal.append(b"A", checkpoint.to_bytes(4, "little") + block.to_bytes())

    @property
    def bound(self) -> float:
        """What holds so far, with probability 1 − δ at all steps at once, for this process."""
        if self.declared.about == "checkpoint":
            fix = "certificate() has the number of a checkpoint"
            raise InputError("bound so far", "a pass about all its models", "one checkpoint", fix)
        return value_of(self.declared, self.tally, bill_of(self.declared).log_confidence)

    def line(self) -> str:
        """One line for a screen."""
        sure = f"with probability {1 - self.declared.delta:g}"
        count, where = f"{self.tally.m:,} units", ", of this process" if self.ranks > 1 else ""
        return f"{name_of(self.declared)} ≤ {ceiling(self.bound)} {sure}, so far ({count}{where})"

    def certificate(
        self, seed: int | None = None, end: int | None = None, checkpoint: int | None = None
    ) -> Certificate:
        """The certificate of the folder; with an order, its seed is told now."""
        method, log = PrequentialMethod(), read_pass(self.folder)
        declared = log.declared
        if seed is not None:
            declared = method.read_declared({**to_json(declared), "seed": seed})
        units = self.order if seed is not None else None
        choices = None
        if end is not None or checkpoint is not None:
            whole = method.choose(log, units, declared)
            choices = PassChoices(
                whole.end if end is None else end,
                whole.checkpoint if checkpoint is None else checkpoint,
            )
        return method.made(log, units, declared, choices)

    # -- what is passed on -------------------------------------------------------------------

    def _recall(self) -> None:
        """Go on where an earlier run stopped."""
        log = RankLog(self.journal.path)
        for block, lost in log.blocks:
            self._count(block, lost)
            self.step = max(self.step, block.step)
        self.checkpoints = log.checkpoints

    def _count(self, block: UnitBlock, lost: bool) -> None:
        self.units = max(self.units, int(block.places.max()) + 1)
        start = self.declared.start
        late = block.places >= start
        if self.declared.totals and not late.all():
            self._early.append(
                (block.losses[~late], None if block.sizes is None else block.sizes[~late])
            )
        if late.any():
            if self._early:
                self._expect_ratio()
            sizes = None if block.sizes is None else block.sizes[late]
            gone = np.full(int(late.sum()), lost)
            count(self.declared, self.tally, block.losses[late], sizes, gone)

    def _expect_ratio(self) -> None:
        """Set up the pairs of totals by what came before the start."""
        losses = np.concatenate([x for x, _ in self._early])
        sizes = np.concatenate([np.asarray(size) for _, size in self._early])
        self._early = []
        if self.declared.expected is None:
            self.tally = tally_of(self.declared, expected_ratio(self.declared, losses, sizes))

    def _expect_step(self, step: int) -> int:
        if not isinstance(step, int) or step < self.step:
            raise InputError("step", f"a whole number ≥ {self.step}, the last one", step)
        return step


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
