"""A finished or running pass, as its journals tell it: every unit once, in its order.

A folder holds the journal of each process, ``rank-0.log``, ``rank-1.log``, …. Within a step all
processes predict with the same model, so their units stand side by side; the steps follow each
other. What is read here has

- the same declarations in all journals, and their ranks;
- for a unit that was logged more than once (a restart from an older checkpoint, a padded last
  batch) the first time only: later on the model may have learnt from it;
- units 0, 1, 2, … of the order without a gap, those of a step after those of all earlier steps.
  With several processes, what comes after the last step that all of them logged is left out.

Units that are skipped would be units that someone chose, so a gap is refused.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dudley.certificates.methods.prequential.declared import MOST_UNITS, PassDeclared
from dudley.certificates.methods.prequential.entries import expect_entries
from dudley.certificates.methods.prequential.journal import MAGIC, FrameReader, UnitBlock, table_of
from dudley.certificates.records import from_json
from dudley.core.boundary.refusal import refusal
from dudley.core.errors import InputError

RANKS = 4096
NAMED = {"declared", "order", "rank", "ranks"}


@dataclass(frozen=True)
class PassCheckpoint:
    """A checkpoint of the pass: its file by hash, and the number of units before it."""

    number: int
    file: str
    sha256: str
    units: int


@dataclass(frozen=True, eq=False)
class PassLog:
    """Losses in the order of the units; ``again`` holds later losses by checkpoint."""

    declared: PassDeclared
    order: str | None
    losses: np.ndarray
    sizes: np.ndarray | None
    lost: np.ndarray
    checkpoints: tuple[PassCheckpoint, ...]
    again: dict[int, list[UnitBlock]]
    sha256: str

    @property
    def n(self) -> int:
        return len(self.losses)

    @property
    def reach(self) -> int:
        """How many units of the order there must be for all that was logged."""
        later = (int(block.places.max()) + 1 for blocks in self.again.values() for block in blocks)
        return max([self.n, *later])


def read_pass(folder: str | Path) -> PassLog:
    """The pass of a folder; journals of processes that still run may be read, too."""
    folder = Path(folder)
    paths = sorted(folder.glob("rank-*.log"), key=lambda path: (len(path.name), path.name))
    if not paths or len(paths) > RANKS:
        got = f"{len(paths)} files rank-*.log in {folder}"
        raise InputError("pass", "a folder with the journal of every process", got)
    ranks = [RankLog(path) for path in paths]
    first = ranks[0]
    for number, log in enumerate(ranks):
        header = first.header | {"rank": number, "ranks": len(ranks)}
        if log.header != header:
            expected = f"rank {number} of {len(ranks)}, declared as rank 0"
            raise refusal(log.path, expected, f"rank {log.header['rank']} of another pass")
    declared = from_json(PassDeclared, first.header["declared"], "declaration", "prequential")
    blocks = _merge([log.blocks for log in ranks])
    columns = _columns(blocks, declared, folder)
    if len(ranks) > 1:
        _expect_between_steps(first, blocks)
    _expect_checkpoints(first, declared, len(columns[0]))
    chain = hashlib.sha256(b"".join(log.chain for log in ranks)).hexdigest()
    return PassLog(
        declared, first.header["order"], *columns, tuple(first.checkpoints), first.again, chain
    )


class RankLog:
    """The frames of one journal, sorted by kind; each block with whether it was lost."""

    def __init__(self, path: Path):
        self.path = path
        self.blocks: list[tuple[UnitBlock, bool]] = []
        self.checkpoints: list[PassCheckpoint] = []
        self.again: dict[int, list[UnitBlock]] = {}
        reader = FrameReader(path, torn=True)
        units = reach = 0
        for place, (kind, content) in enumerate(reader):
            if (place == 0) is not (kind == b"D"):
                raise refusal(path, "what was declared, first and once", "another frame")
            if kind == b"D":
                self.header = _header(content, path)
            elif kind in (b"L", b"T"):
                block = UnitBlock.from_bytes(content, path)
                self.blocks.append((block, kind == b"T"))
                units += len(block.places)
                reach = max(reach, int(block.places.max()) + 1)
            elif kind == b"C":
                checkpoint = _checkpoint(content, path, len(self.checkpoints))
                if checkpoint.units < reach:
                    expected = f"checkpoint {checkpoint.number} before its block"
                    raise refusal(path, expected, f"losses up to unit {reach:,} before it")
                self.checkpoints.append(checkpoint)
            elif kind == b"A":
                block = UnitBlock.from_bytes(content[4:], path)
                self.again.setdefault(int.from_bytes(content[:4], "little"), []).append(block)
                units += len(block.places)
            else:
                raise refusal(path, "a kind of frame that is known", kind)
            if units > 4 * MOST_UNITS:
                raise refusal(path, f"at most {4 * MOST_UNITS:,} losses", "more")
        if reader.end == len(MAGIC):
            raise refusal(path, "a journal with what was declared", "an empty one")
        self.chain = reader.chain


def _header(content: bytes, path: Path) -> dict[str, Any]:
    header = table_of(content, path)
    whole = all(isinstance(header.get(name), int) for name in ("rank", "ranks"))
    order = header.get("order")
    text = order is None or (isinstance(order, str) and len(order) == 64)
    if set(header) != NAMED or not whole or not text or not isinstance(header["declared"], dict):
        raise refusal(path, f"a table of {', '.join(sorted(NAMED))}", "another one")
    return header


def _checkpoint(content: bytes, path: Path, number: int) -> PassCheckpoint:
    checkpoint = from_json(PassCheckpoint, table_of(content, path), "entry", "a checkpoint")
    if checkpoint.number != number:
        raise refusal(path, f"checkpoint {number}", checkpoint.number)
    return checkpoint


def _merge(logs: list[list[tuple[UnitBlock, bool]]]) -> list[tuple[UnitBlock, bool]]:
    """All blocks by step, up to the last step that every process has logged."""
    if len(logs) == 1:
        return logs[0]
    last = min(max((block.step for block, _ in blocks), default=-1) for blocks in logs)
    merged = [entry for blocks in logs for entry in blocks if entry[0].step <= last]
    return sorted(merged, key=lambda entry: (entry[0].step, int(entry[0].places.min())))


def _columns(
    blocks: list[tuple[UnitBlock, bool]], declared: PassDeclared, folder: Path
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """Losses, sizes and which are lost, by place; the first time a unit was logged counts."""
    if not blocks:
        return (
            np.empty(0),
            np.empty(0, np.int64) if declared.loss == "bits" else None,
            np.empty(0, bool),
        )
    places = np.concatenate([block.places for block, _ in blocks])
    steps = np.concatenate([np.full(len(block.places), block.step) for block, _ in blocks])
    losses = np.concatenate([block.losses for block, _ in blocks])
    lost = np.concatenate([np.full(len(block.places), flag) for block, flag in blocks])
    distinct, first = np.unique(places, return_index=True)
    if distinct[-1] != len(distinct) - 1:
        gap = int(np.flatnonzero(distinct != np.arange(len(distinct)))[0])
        fix = "units of the order are read without a gap; what was skipped was chosen"
        raise InputError(str(folder), f"unit {gap} of the order", f"unit {distinct[gap]}", fix)
    if (np.diff(steps[first]) < 0).any():
        fix = "in every step the processes share the next units of the order"
        raise InputError(str(folder), "units in the order of the steps", "others", fix)
    if any((block.sizes is None) is (declared.loss == "bits") for block, _ in blocks):
        raise InputError(str(folder), "sizes with every loss in bits, and only there", "others")
    sizes = None
    if declared.loss == "bits":
        sizes = np.concatenate([np.asarray(block.sizes) for block, _ in blocks])[first]
    seen = ~lost[first]
    if seen.any():
        expect_entries(declared, losses[first][seen], None if sizes is None else sizes[seen])
    return losses[first], sizes, lost[first]


def _expect_between_steps(log: RankLog, blocks: list[tuple[UnitBlock, bool]]) -> None:
    """Refuse a checkpoint inside of a step: it would have learnt from units of its own block."""
    spans: dict[int, tuple[int, int]] = {}
    for block, _ in blocks:
        low, high = spans.get(block.step, (MOST_UNITS, 0))
        spans[block.step] = min(low, int(block.places.min())), max(high, int(block.places.max()))
    lows, highs = np.array(list(spans.values()), np.int64).reshape(-1, 2).T
    for checkpoint in log.checkpoints:
        if ((lows < checkpoint.units) & (checkpoint.units <= highs)).any():
            raise refusal(log.path, "checkpoints between two steps", f"one at {checkpoint.units:,}")


def _expect_checkpoints(log: RankLog, declared: PassDeclared, n: int) -> None:
    units = [checkpoint.units for checkpoint in log.checkpoints]
    if units != sorted(set(units)) or len(units) > declared.checkpoints:
        expected = f"at most {declared.checkpoints} checkpoints, one after the other"
        raise refusal(log.path, expected, f"{len(units)}, before units {units[:5]}")
    if declared.checkpoints and n > declared.start and (not units or units[0] > declared.start):
        raise refusal(log.path, f"a checkpoint before unit {declared.start}", "none")
    if set(log.again) - set(range(len(units))):
        raise refusal(log.path, "losses of checkpoints that there are", "others")
    for block in (block for blocks in log.again.values() for block in blocks):
        expect_entries(declared, block.losses, block.sizes)
