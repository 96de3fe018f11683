"""Lost workers: their batches go back to waiting, and on from their latest checkpoint.

A batch that costs `DEATHS` workers their lives, none of which brought it to a further checkpoint,
is noted as failed: it would take the others too. One that gets further each time (a machine that
is taken away now and then, a time limit of a queue) goes on for as long as it takes.
"""

from __future__ import annotations

from dudley.core.errors import DudleyError
from dudley.lab.runners.worker import log
from dudley.lab.store.claims import KEPT_WORK, Claim
from dudley.lab.store.schema import batches, sa

DEATHS = 3


class RetryLimit:
    """Counts the workers that died in one start, and says when to give up."""

    def __init__(self):
        self._of_batch: dict[int, tuple[int, float]] = {}  # deaths in a row, checkpointed work
        self._outside = 0

    def died(self, claim: Claim, reason: str) -> None:
        """The worker that held the claim is dead: let the batch wait again, or fail it."""
        deaths, before = self._of_batch.get(claim.id, (0, 0.0))
        work = _checkpointed_work(claim)
        deaths = 1 if work > before else deaths + 1
        self._of_batch[claim.id] = deaths, work
        log.warning("batch %d: %s (%d of %d)", claim.id, reason, deaths, DEATHS)
        if deaths >= DEATHS:
            claim.fail(f"{reason}, {DEATHS} times")
        else:
            claim.release()

    def died_without_batch(self, reason: str) -> None:
        """A worker is dead that held no batch: more than a few such are an error of all."""
        self._outside += 1
        if self._outside >= DEATHS:
            raise DudleyError(f"{DEATHS} workers died outside a batch, the last: {reason}")


def _checkpointed_work(claim: Claim) -> float:
    """Work up to the latest checkpoint."""
    wanted = sa.select(KEPT_WORK).select_from(batches).where(batches.c.id == claim.id)
    with claim.store.database.reading() as connection:
        return connection.execute(wanted).scalar_one()
