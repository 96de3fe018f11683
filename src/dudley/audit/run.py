"""Run attacks: all that aim at the chosen statements, in parallel, within a budget, resumably."""

from __future__ import annotations

import multiprocessing
import os
import time
import traceback
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dudley.audit.base import all_attacks, reach
from dudley.audit.journal import Journal
from dudley.audit.judge import Judgement, Outcome, judge, strongest
from dudley.core.extras import ExtraMissing
from dudley.theorems import registry

Ended = tuple[str, list[Judgement]]  # an attack that ended, and what it found


class AttackFailed(RuntimeError):
    """An attack ended in an error, or its process did: a fault of ours, and nothing is judged."""

    def __init__(self, names: list[str], reason: str):
        super().__init__(f"attack {' or '.join(names)} failed, {reason}")


@dataclass(frozen=True)
class AttackErrorText:
    """Why an attack failed. It is text, since not every exception can be sent between processes."""

    reason: str
    traceback: str


def attempt(name: str, seed: int) -> list[Judgement] | AttackErrorText:
    """Execute an attack; a failure is returned."""
    try:
        return execute(name, seed)
    except ExtraMissing:  # no fault of the attack
        raise
    except Exception as error:
        return AttackErrorText(f"{type(error).__name__}: {error}", traceback.format_exc())


def _rows(name: str, attempted: list[Judgement] | AttackErrorText) -> list[Judgement]:
    if isinstance(attempted, AttackErrorText):
        failed = AttackFailed([name], attempted.reason)
        failed.add_note(attempted.traceback)
        raise failed
    return attempted


def execute(name: str, seed: int) -> list[Judgement]:
    """One attack and the judgement of all it finds; the same for the same seed."""
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    return [row for finding in all_attacks()[name]().run(rng) for row in judge(name, finding)]


@dataclass
class Report:
    """What an audit found, and what it had no time for."""

    rows: list[Judgement] = field(default_factory=list)
    undone: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)  # false statements that were to be refuted
    unattacked: list[str] = field(default_factory=list)  # statements that no attack fits

    @property
    def table(self) -> list[Judgement]:
        """One row for each form, by its strongest attack."""
        return strongest(self.rows)

    @property
    def exit_code(self) -> int:
        """1: something is broken or not reproduced; 3: something was not attacked; 0: all is well.

        What is left undone can still refute, so a refutation is missed only after all else ended.
        """
        if any(row.outcome is Outcome.BROKEN for row in self.rows):
            return 1
        if self.undone:
            return 3
        return 1 if self.not_reproduced else 3 if self.unattacked else 0

    @property
    def not_reproduced(self) -> list[str]:
        """False statements that nothing refuted."""
        refuted = {row.statement for row in self.rows if row.outcome is Outcome.REFUTED}
        return [id for id in self.expected if id not in refuted]


def chosen(ids: Sequence[str], full: bool) -> list[str]:
    """Names of the attacks to run: quick ones first; with ids, only those that aim at them."""
    for id in ids:
        registry.load()[id]  # refuses an unknown one
    attacks = dict(all_attacks().items())
    names = [n for n, a in attacks.items() if not ids or set(ids) & set(reach(a))]
    return sorted(
        (n for n in names if full or attacks[n].quick), key=lambda n: not attacks[n].quick
    )


def run(
    ids: Sequence[str] = (),
    *,
    full: bool = False,
    budget: float | None = None,
    seed: int = 0,
    journal: Path | None = None,
    jobs: int | None = None,
    progress: Callable[[Iterable[Ended], int], Iterable[Ended]] | None = None,
) -> Report:
    """Attack the chosen statements (all by default); ``budget`` in seconds ends it early."""
    names, book, attacks = chosen(ids, full), Journal(journal, seed), all_attacks()
    # The journal's lines count for the same code of this package, which an aim looks beyond.
    listing = {name for name in names if attacks[name].aim is None}
    known = {name: rows for name, rows in book.read().items() if name in listing}
    todo = [name for name in names if name not in known]
    reached = {id for _, attack in attacks.items() for id in reach(attack)}
    alone = any(registry.is_local(id) for id in reached)  # other processes do not know it
    ended = _execute_all(todo, seed, budget, 1 if alone else jobs or os.cpu_count() or 1)
    for name, rows in _seen(ended, len(todo), progress):
        if name in listing:
            book.write(name, rows)
        known[name] = rows
    rows = [row for name in names for row in known.get(name, [])]  # whichever ended first
    undone = [name for name in names if name not in known]
    statements = registry.load()
    expected = [id for id in ids or statements if statements[id].verdict.is_false]
    attacked = {row.statement for row in rows}
    later = {id for name in {*attacks} - {*names} | {*undone} for id in reach(attacks[name])}
    unattacked = [id for id in ids or statements if id not in attacked | later]
    rows = [row for row in rows if not ids or row.statement in ids]
    return Report(rows, undone, expected, unattacked)


def _seen(ended, count, progress):
    """Each attack as it ends, told to ``progress`` if there is one."""
    return ended if progress is None else progress(ended, count)


def _execute_all(names, seed, budget, jobs) -> Iterator[Ended]:
    """Attacks as they end, one process each, until the budget is spent."""
    deadline = None if budget is None else time.monotonic() + budget
    if jobs == 1:
        for name in names:
            if deadline is not None and time.monotonic() >= deadline:
                return
            yield name, _rows(name, attempt(name, seed))
        return
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    files = (list(registry.FILES),)
    pool = ProcessPoolExecutor(
        jobs, multiprocessing.get_context("spawn"), registry.load_files, files
    )
    waiting, running = list(names), {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                name = waiting.pop(0)
                running[pool.submit(attempt, name, seed)] = name
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            ended: set[Future]
            ended, _ = wait(running, timeout=left, return_when=FIRST_COMPLETED)
            if not ended:
                return
            died = [future for future in ended if future.exception() is not None]
            for future in ended - set(died):
                name = running.pop(future)
                yield name, _rows(name, future.result())
            if died:
                if isinstance(died[0].exception(), ExtraMissing):
                    died[0].result()
                reason = f"its process ended: {died[0].exception()}"
                raise AttackFailed(sorted(running[future] for future in died), reason)
    finally:
        _stop(pool)


def _stop(pool: ProcessPoolExecutor) -> None:
    """End the workers, busy or not."""
    workers = list((getattr(pool, "_processes", None) or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for worker in workers:
        worker.terminate()
