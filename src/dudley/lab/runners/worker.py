"""Working off batches: claim, work, note how it ended, until none waits."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable

from dudley.lab.runners.session import Session
from dudley.lab.store.claims import claim
from dudley.lab.store.owner import Owner
from dudley.lab.store.store import Store

Work = Callable[[Session], None]
log = logging.getLogger("dudley.lab")


def work_batches(
    store: Store,
    work: Work,
    start: int,
    worker: int,
    stop: Callable[[], bool],
    on_progress: Callable[[], None] = lambda: None,
) -> None:
    """A batch whose work raises is noted as failed, with the traceback, and the next one begins."""
    owner = Owner.me()
    while not stop() and (taken := claim(store, owner, start)) is not None:
        try:
            session = Session(taken, worker, stop, on_progress)
            on_progress()
            work(session)
            settle(session, stop())
        except Exception as error:
            taken.fail(traceback.format_exc())  # where this fails too, that is told and no more
            log.error("a batch failed: %s: %s", type(error).__name__, error)
        except BaseException:
            taken.release()
            raise


def settle(session: Session, stopped: bool) -> None:
    """The work has returned: without `finish` it was asked to stop, or it has failed."""
    if session.finished:
        return
    if stopped:
        session.claim.release()
    else:
        reason = "the work returned without finish, and nobody had asked it to stop"
        session.claim.fail(reason)
