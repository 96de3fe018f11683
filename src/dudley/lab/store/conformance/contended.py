"""Two writers on one cell: exactly one wins, and the other is told so."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from dudley.lab.runners.session import Session
from dudley.lab.store.claims import Claim, Lost, claim
from dudley.lab.store.conformance.backend import Backend
from dudley.lab.store.conformance.sample import prepare_store, take_batch
from dudley.lab.store.owner import Owner
from dudley.lab.store.schema import DONE
from dudley.lab.store.store import Store
from dudley.lab.store.table import table

WAIT = 120.0  # seconds: SQLite itself waits up to 60 for a lock


def two_writers_on_one_cell(backend: Backend, thorough: bool = False) -> None:
    """Two writers race, and exactly one of them wins each time.

    Both claim one batch; both finish one batch; one finishes a batch while the other takes it over.
    """
    rounds = 60 if thorough else 8
    location = backend.location("contended")
    stores = prepare_store(location, 3 * rounds, size=1), Store.open(location)
    with ThreadPoolExecutor(2) as pool:
        for i in range(rounds):
            winner = _want(pool, stores)
            winner.fail("set aside")
            _finish(pool, stores, i)
            _finish_and_take(pool, stores, i)
    done = sum(row["grid.status"] == "done" for row in table(location))
    assert done == 2 * rounds, f"{done} cells done of {2 * rounds}"
    for store in stores:
        store.close()


def _both(pool: ThreadPoolExecutor, first, two) -> list:
    """Two calls at a time; what each returned or raised."""
    gate = Barrier(2)

    def go(call):
        gate.wait(WAIT)
        try:
            return call()
        except Lost as error:
            return error

    return [future.result(WAIT) for future in (pool.submit(go, first), pool.submit(go, two))]


def _want(pool: ThreadPoolExecutor, stores: tuple[Store, Store]) -> Claim:
    """Both ask for the first batch that waits: never the same one."""
    start, _ = stores[0].begin("code", {})
    got = _both(pool, *(lambda s=store: claim(s, Owner.me(), start) for store in stores))
    assert all(isinstance(one, Claim) for one in got), got
    assert got[0].id != got[1].id, f"batch {got[0].id} was given to both"
    got[1].release()
    return got[0]


def _finish(pool: ThreadPoolExecutor, stores: tuple[Store, Store], i: int) -> None:
    """The holder of an old attempt and that of the new one finish at the same time."""
    old = Session(take_batch(stores[0]))
    old.claim.release()
    new = Session(take_batch(stores[1]))
    assert new.claim.id == old.claim.id
    outcomes = _both(
        pool, lambda: old.finish([{"by": "old"}]), lambda: new.finish([{"by": f"new {i}"}])
    )
    assert isinstance(outcomes[0], Lost) and outcomes[1] is None, outcomes
    assert _result(stores[0], old) == f"new {i}"


def _finish_and_take(pool: ThreadPoolExecutor, stores: tuple[Store, Store], i: int) -> None:
    """One finishes while another takes the batch away and finishes it: one result, the winner's."""
    mine = Session(take_batch(stores[0]))
    start, _ = stores[1].begin("code", {})

    def take() -> bool:
        Claim(stores[1], mine.claim.id, mine.claim.attempt).release()
        while True:
            got = claim(stores[1], Owner.me(), start)
            if got is not None and got.id == mine.claim.id:
                Session(got).finish([{"by": f"thief {i}"}])
                return True
            if got is not None:  # the next one: ours is done, or looked at by the other just now
                got.release()
            if stores[1].standing()[mine.batch.number].status == DONE:
                return False

    finished, stolen = _both(pool, lambda: mine.finish([{"by": f"mine {i}"}]), take)
    assert isinstance(finished, Lost) == stolen, (finished, stolen)
    assert _result(stores[0], mine) == (f"thief {i}" if stolen else f"mine {i}")


def _result(store: Store, session: Session) -> str:
    return next(
        row["result.by"]
        for row in table(store.location)
        if row["grid.batch"] == session.batch.number and "result.by" in row
    )
