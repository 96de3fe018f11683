"""Evaluate blocks again with the checkpoint before them: all units, or a random part of them.

Whoever has the units, the seed of their order, the journal and the checkpoints can check all but
one thing without training: that the number follows from the journal, that the order is the one
committed to, that the checkpoints are those of the chain, and that each gives the losses that were
logged for its block (at most the logged loss plus the declared tolerance). That checkpoint k had
not seen block k + 1 stays declared.

**A part of the units.** Let m units count, and call a unit bad if its true loss is above the logged
one. The verifier draws s of the m without replacement, by a seed that was not known when the log
was written, evaluates them, and finds none bad. If more than g are bad, this has probability at
most δ_v, where g is `hypergeometric_upper(0, s, m, ln(1/δ_v))`. So, except with probability δ_v
over the draw, the true losses are the logged ones but for g units at most, each at most the limit.
The bound falls with no loss, so it is at most the one for g units with the largest loss in place of
any others (`Tally.worsen`). With the δ of the pass, both fail with probability at most δ + δ_v. ∎

For m = 10⁵ and s = 3,000 at δ_v = 0.05, g is 98: about a thousandth of the limit is the price.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dudley.certificates import digits, order
from dudley.certificates.methods.prequential.declared import PassChoices, PassDeclared
from dudley.certificates.methods.prequential.entries import expect_entries
from dudley.certificates.methods.prequential.log import file_sha256
from dudley.certificates.methods.prequential.method import PrequentialMethod
from dudley.certificates.methods.prequential.passlog import PassCheckpoint, PassLog, read_pass
from dudley.certificates.methods.prequential.plan import PassPlan, value_of
from dudley.certificates.methods.prequential.units import UnitOrder
from dudley.certificates.pool import hypergeometric_upper
from dudley.certificates.price import Bill
from dudley.certificates.verify import Difference, Verification, verify
from dudley.core.boundary.paths import is_plain
from dudley.core.errors import InputError

Evaluate = Callable[[Path, np.ndarray], Any]  # of a file and rows: losses, or losses and sizes


@dataclass(frozen=True)
class PassPart:
    """A random part of the units: how many, the verifier's δ_v, and the seed that draws them.

    A seed that is given was drawn at random after the log was written: δ_v is over this draw.
    """

    units: int
    delta: float = 0.05
    seed: int | None = None

    def drawn(self, m: int, log: PassLog) -> np.ndarray:
        """Places among m units; without a seed of the verifier's, a fresh one."""
        if not 1 <= self.units <= m:
            raise InputError("part", f"1 to {m:,} units", self.units)
        seed = secrets.randbits(64) if self.seed is None else self.seed
        return np.sort(order.permutation(f"recheck {seed} {log.sha256}", m)[: self.units])


def recheck_pass(
    certificate: Mapping[str, Any],
    folder: str | Path,
    units: UnitOrder,
    evaluate: Evaluate,
    part: PassPart | None = None,
) -> Verification:
    """Verify a certificate of a pass by its checkpoints; ``value`` includes the price of a part.

    ``evaluate(file, rows)`` gives the losses of a checkpoint's file on some rows of the units (bits
    come with sizes). What it does with the file is the verifier's own code.
    """
    folder, file = Path(folder), dict(certificate)
    log = read_pass(folder)
    plain = verify(file, log, units)
    if not plain.holds:
        return plain
    method = PrequentialMethod()
    declared, choices = method.read_declared(file["declared"]), method.read_choices(file["choices"])
    plan = PassPlan(declared, log)
    if not log.checkpoints:
        fix = "its losses are as logged, and verify has computed the number again"
        raise InputError("checkpoints", "those that were declared", "a log of losses alone", fix)
    stretch = plan.stretch(choices)
    m, first = len(stretch.losses), _first(plan, choices)
    chosen = np.arange(m) if part is None else part.drawn(m, log)
    chosen = chosen[~stretch.lost[chosen]]
    odd: list[Difference] = []
    for checkpoint, places in _blocks(log, choices, chosen + first):
        path = _expect_file(folder, checkpoint)
        if (digest := file_sha256(path)) != checkpoint.sha256:
            odd.append(Difference(f"{checkpoint.file}.sha256", checkpoint.sha256, digest))
            continue
        made = evaluate(path, units.rows[places])
        losses, sizes = made if isinstance(made, tuple) else (made, None)
        losses, sizes = expect_entries(declared, losses, sizes)
        odd += _worse(declared, losses, sizes, stretch.losses, stretch.sizes, places - first, first)
    value, remarks = file["value"], plain.remarks
    if part is not None and not odd:
        value = digits.up(_with_price(plan, choices, m, part))
        more = f"the value holds except with probability {declared.delta:g} + {part.delta:g}"
        remarks += (f"{part.units:,} of {m:,} units were evaluated; {more}",)
    declarations = (*plain.declarations, "no checkpoint had seen the units of its block")
    return Verification(value, plain.recomputed + len(chosen), tuple(odd), declarations, remarks)


def _with_price(plan: PassPlan, choices: PassChoices, m: int, part: PassPart) -> float:
    """The bound with as many of the units at the limit as a part leaves open."""
    tally = plan.tally(choices)
    bad = hypergeometric_upper(0, part.units, m, Bill(part.delta).log_confidence)
    if bad:
        tally.worsen(bad)
    return value_of(plan.declared, tally, plan.bill.log_confidence)


def _first(plan: PassPlan, choices: PassChoices) -> int:
    """The place of the first unit that counts."""
    k = choices.checkpoint
    return plan.declared.start if k is None else plan.log.checkpoints[k].units


def _blocks(
    log: PassLog, choices: PassChoices, places: np.ndarray
) -> Iterator[tuple[PassCheckpoint, np.ndarray]]:
    """The places by the checkpoint that predicted them."""
    if choices.checkpoint is not None:
        yield log.checkpoints[choices.checkpoint], places
        return
    starts = np.array([checkpoint.units for checkpoint in log.checkpoints])
    number = np.searchsorted(starts, places, side="right") - 1
    for k in np.unique(number):
        yield log.checkpoints[int(k)], places[number == k]


def _expect_file(folder: Path, checkpoint: PassCheckpoint) -> Path:
    """The file of a checkpoint; its name comes from a journal and must not lead elsewhere."""
    path = folder / checkpoint.file
    if not is_plain(checkpoint.file) or not path.is_file() or path.is_symlink():
        raise InputError("checkpoint", f"a file {checkpoint.file} beside the journal", "none")
    return path


def _worse(
    declared: PassDeclared,
    losses: np.ndarray,
    sizes: np.ndarray | None,
    logged: np.ndarray,
    logged_sizes: np.ndarray | None,
    at: np.ndarray,
    first: int,
) -> list[Difference]:
    """The first unit, if any, whose loss is above the logged one, or whose size is another."""
    if losses.shape != at.shape:
        raise InputError("evaluate", f"{len(at)} losses", f"{len(losses)}")
    if sizes is not None and logged_sizes is not None and (sizes != logged_sizes[at]).any():
        i = int(np.argmax(sizes != logged_sizes[at]))
        return [Difference(f"size of unit {first + at[i]}", logged_sizes[at[i]], sizes[i])]
    allowed = logged[at] + declared.tolerance * (1 if sizes is None else sizes)
    if (losses > allowed).any():
        i = int(np.argmax(losses > allowed))
        return [Difference(f"loss of unit {first + at[i]}", logged[at[i]], losses[i])]
    return []
