"""From a log to a number: which losses count, in which form, and what the choices cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dudley.certificates.methods.prequential.declared import PassChoices, PassDeclared
from dudley.certificates.methods.prequential.form import FORMS, Tally
from dudley.certificates.methods.prequential.passlog import PassLog
from dudley.certificates.methods.prequential.totals import TotalsTally
from dudley.certificates.price import Bill, one_of
from dudley.core.errors import InputError
from dudley.core.rounding import up


@dataclass(frozen=True, eq=False)
class Stretch:
    """The units that count: losses, sizes, which losses are lost, and a ratio to expect."""

    losses: np.ndarray
    sizes: np.ndarray | None
    lost: np.ndarray
    expected: float | None


@dataclass(frozen=True, eq=False)
class PassPlan:
    """What was declared, and the log it was declared for."""

    declared: PassDeclared
    log: PassLog

    @property
    def bill(self) -> Bill:
        """As declared."""
        return bill_of(self.declared)

    def stretch(self, choices: PassChoices) -> Stretch:
        """The units of a choice; one that the log does not have is refused."""
        declared, log, k = self.declared, self.log, choices.checkpoint
        if (k is not None) is not (declared.about == "checkpoint"):
            raise InputError("checkpoint", "a number where one is certified, and only there", k)
        if k is None:
            if not declared.start < choices.end <= log.n:
                expected = f"units from {declared.start + 1} to {log.n}"
                raise InputError("end of the stretch", expected, choices.end)
            part = slice(declared.start, choices.end)
            sizes = None if log.sizes is None else log.sizes[part]
            return Stretch(log.losses[part], sizes, log.lost[part], self.expected)
        return self._later(k, choices.end)

    def _later(self, k: int, end: int) -> Stretch:
        """The units after a checkpoint: its own block, and those it was evaluated on again."""
        log = self.log
        if not 0 <= k < len(log.checkpoints):
            raise InputError("checkpoint", f"0 to {len(log.checkpoints) - 1}", k)
        first = log.checkpoints[k].units
        if first < self.declared.start:
            fix = "what came before the start may have served for tuning; take a later one"
            expected = f"one that was saved from unit {self.declared.start} on, the start"
            raise InputError("checkpoint", expected, f"number {k}, at unit {first}", fix)
        if first > log.n:
            expected = f"one of the {log.n:,} units that all processes have logged"
            raise InputError("checkpoint", expected, f"number {k}, at unit {first:,}")
        following = [checkpoint.units for checkpoint in log.checkpoints[k + 1 :]]
        block_end = min([log.n, *following])
        parts = [
            (
                log.losses[first:block_end],
                log.sizes[first:block_end] if log.sizes is not None else None,
            )
        ]
        lost, place = [log.lost[first:block_end]], block_end
        for block in log.again.get(k, []):
            if block.places[0] != place or (np.diff(block.places) != 1).any():
                got = f"unit {block.places[0]}"
                raise InputError(f"losses of checkpoint {k}", f"unit {place}, the next", got)
            place += len(block.places)
            if (block.sizes is None) is not (log.sizes is None):
                raise InputError(f"losses of checkpoint {k}", "sizes as in the pass", "others")
            parts.append((block.losses, block.sizes))
            lost.append(np.zeros(len(block.places), bool))
        if not first < end <= place:
            raise InputError("end of the stretch", f"units from {first + 1} to {place}", end)
        losses = np.concatenate([losses for losses, _ in parts])[: end - first]
        sizes = None
        if log.sizes is not None:
            sizes = np.concatenate([np.asarray(size) for _, size in parts])[: end - first]
        return Stretch(losses, sizes, np.concatenate(lost)[: end - first], self.declared.expected)

    @cached_property
    def expected(self) -> float | None:
        """The ratio to expect of totals: declared, or that of the last units before the start."""
        declared, log = self.declared, self.log
        if not declared.totals or declared.expected is not None:
            return declared.expected
        return expected_ratio(declared, log.losses, log.sizes)

    def tally(self, choices: PassChoices) -> Tally:
        """The losses of a choice, counted."""
        stretch = self.stretch(choices)
        tally = tally_of(self.declared, stretch.expected)
        count(self.declared, tally, stretch.losses, stretch.sizes, stretch.lost)
        return tally

    def value(self, choices: PassChoices) -> float:
        """The bound, in units of the loss."""
        return value_of(self.declared, self.tally(choices), self.bill.log_confidence)


def bill_of(declared: PassDeclared) -> Bill:
    """The choice of a checkpoint and of a method; the end of the stretch is free."""
    lists = (
        ("checkpoint", declared.checkpoints * (declared.about == "checkpoint")),
        ("method", declared.among),
    )
    return Bill(declared.delta, tuple(one_of(name, n) for name, n in lists if n > 1))


def expected_ratio(
    declared: PassDeclared, losses: np.ndarray, sizes: np.ndarray | None
) -> float | None:
    """Bits over sizes in the last eighth before the start; none where that says nothing."""
    part = slice(declared.start - -(-declared.start // 8), declared.start)
    if sizes is None or declared.start < 2 or len(losses) < declared.start:
        return None
    ratio = math.fsum(losses[part].tolist()) / max(1, int(sizes[part].sum()))
    return ratio if 0 < ratio < declared.limit else None


def tally_of(declared: PassDeclared, expected: float | None) -> Tally:
    """An empty tally of the declared form."""
    if declared.totals:
        assert declared.extent is not None
        return TotalsTally(declared.extent, expected)
    return FORMS[declared.form]()


def count(
    declared: PassDeclared,
    tally: Tally,
    losses: np.ndarray,
    sizes: np.ndarray | None,
    lost: np.ndarray | None = None,
) -> None:
    """Add units to a tally: with the tolerance, and at the limit where the loss is lost."""
    limit, gone = declared.limit, np.zeros(len(losses), bool) if lost is None else lost
    if isinstance(tally, TotalsTally):
        assert sizes is not None
        sizes = np.where(gone, tally.extent.longest, sizes)
        most = limit * sizes
        bits = np.where(gone, most, np.minimum(up(losses + declared.tolerance * sizes), most))
        tally.add_units(bits, sizes, gone)
        return
    each = losses if sizes is None else up(losses / sizes)
    if declared.tolerance:
        each = up(each + declared.tolerance)
    share = each if limit == 1 else up(each / limit)
    tally.add(np.where(gone, 1.0, np.minimum(share, 1.0)))


def value_of(declared: PassDeclared, tally: Tally, c: float) -> float:
    """The bound of a tally, in units of the loss."""
    value = tally.upper(c)
    if isinstance(tally, TotalsTally) or declared.limit == 1:
        return value
    return min(declared.limit, float(up(value * declared.limit)))
