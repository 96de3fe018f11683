"""A session: points, checkpoints, results, and the fence around them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import grid_toy as toy
from dudley.core.errors import InputError
from dudley.lab import Lost, RunLocation, Session, Store, curves
from dudley.lab.store import schema
from dudley.lab.store.owner import Owner
from dudley.lab.store.schema import chunks, sa
from dudley.lab.store.table import table

GRID = toy.toy_grid()


@pytest.fixture
def store(location: RunLocation):
    store = Store.prepare(location, GRID, toy.toy_batches(GRID), resume=True)
    yield store
    store.close()


def again(session: Session) -> Session:
    """The same batch, claimed anew."""
    session.claim.release()
    return Session(toy.taken(session.claim.store))


def text(words: str) -> Callable[[Path], None]:
    """A checkpoint of these words."""

    def write(path: Path) -> None:
        path.write_text(words)

    return write


def saved(session: Session, *steps: int) -> Session:
    for step in steps:
        session.append(step, {"loss": np.full(4, float(step))})
        session.progress(step)
        session.checkpoint(step, text(str(step)))
    return session


def loss_steps(store: Store) -> list[int]:
    number = GRID.trials.index(store.packing[0].trials[0])
    return list(curves(store.location, "loss")[number][0])


def stored_chunks(store: Store) -> list[str]:
    """What the checkpoints hold, the oldest first: files of the folder, or rows."""
    if not store.database.shared:
        return [path.read_text() for path in sorted((store.files / "checkpoints").iterdir())]
    with store.database.reading() as connection:
        of_this_run = sa.select(chunks.c.data).where(chunks.c.batch.in_(list(store.packed)))
        return [
            data.decode() for data in connection.execute(of_this_run.order_by("step")).scalars()
        ]


def tear(store: Store, words: str) -> None:
    """Lose what a checkpoint holds."""
    if not store.database.shared:
        folder = store.files / "checkpoints"
        (path_of_chunk,) = (path for path in folder.iterdir() if path.read_text() == words)
        path_of_chunk.write_text("")
        return
    with store.database.writing() as connection:
        of_this_run = chunks.c.batch.in_(list(store.packed))
        torn = sa.delete(chunks).where(of_this_run, chunks.c.data == words.encode())
        assert connection.execute(torn).rowcount == 1


def test_the_latest_checkpoint_is_found_and_the_latest_two_are_kept(store: Store):
    session = saved(Session(toy.taken(store)), 1, 2, 3)
    for opened in (session, again(session)):
        step, path = opened.latest() or (None, None)
        assert step == 3 and path is not None and path.read_text() == "3"
    assert stored_chunks(store) == ["2", "3"]


def test_a_torn_checkpoint_falls_back_and_its_points_go(store: Store):
    session = saved(Session(toy.taken(store)), 1, 2, 3)
    session.append(4, {"loss": np.zeros(4)})
    tear(store, "3")
    session = again(session)
    step, path = session.latest() or (None, None)
    assert step == 2 and path is not None and path.read_text() == "2"
    assert loss_steps(store) == [1, 2]
    assert store.standing()[0].done == 2
    tear(store, "2")
    session = again(session)
    assert session.latest() is None and loss_steps(store) == []
    assert store.standing()[0].done == 0


def test_points_after_the_checkpoint_are_replaced(store: Store):
    session = saved(Session(toy.taken(store)), 1)
    session.append(2, {"loss": np.full(4, -1.0)})
    session = again(session)
    session.append(2, {"loss": np.arange(4)})
    number = GRID.trials.index(store.packing[0].trials[3])
    steps, values = curves(store.location, "loss")[number]
    assert list(steps) == [1, 2] and list(values) == [1.0, 3.0]


def test_a_checkpoint_that_cannot_be_written_changes_nothing(store: Store):
    session = saved(Session(toy.taken(store)), 1)

    def full(path: Path) -> None:
        path.write_text("half")
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        session.checkpoint(2, full)
    with pytest.raises(InputError, match="of exactly that name, got none"):
        session.checkpoint(3, lambda path: None)
    assert (again(session).latest() or (None,))[0] == 1


def test_who_lost_the_batch_can_write_nothing(store: Store):
    old = saved(Session(toy.taken(store)), 1)
    new = again(old)
    for write in (
        lambda: old.append(2, {"loss": np.ones(4)}),
        lambda: old.checkpoint(2, text("old")),
        lambda: old.progress(2.0),
        lambda: old.finish([{}] * 4),
    ):
        with pytest.raises(Lost):
            old._noted = -np.inf
            write()
    old.claim.release()
    old.claim.fail("late")
    assert store.standing()[0].status == "running"
    assert loss_steps(store) == [1] and (again(new).latest() or (None,))[0] == 1


def test_steps_only_grow_and_points_precede_their_checkpoint(store: Store):
    session = saved(Session(toy.taken(store)), 5)
    for step in (4, 5):
        with pytest.raises(InputError, match="a step after 5"):
            session.append(step, {"loss": np.zeros(4)})
    with pytest.raises(InputError, match="a step after 5"):
        session.checkpoint(4, lambda path: None)
    session.checkpoint(5, lambda path: pytest.fail("it stands already"))


def test_shapes_are_checked(store: Store):
    session = Session(toy.taken(store))
    with pytest.raises(InputError, match=r"'loss': expected shape \(4,\), got \(3,\)"):
        session.append(1, {"loss": np.zeros(3)})
    with pytest.raises(InputError, match="at least one"):
        session.append(1, {})
    with pytest.raises(InputError, match=r"kept for tables, got grid\.step"):
        session.append(1, {"grid.step": np.zeros(4)})
    with pytest.raises(InputError, match="4, one a trial, got 3"):
        session.finish([{}] * 3)
    with pytest.raises(InputError, match="expected JSON"):
        session.finish([{"x": object()}] * 4)


def test_points_keep_what_is_not_a_number(store: Store):
    session = Session(toy.taken(store))
    session.append(0, {"a": np.arange(4), "loss": np.array([1.5, np.nan, np.inf, -0.0])})
    session.append(1, {"a": np.arange(4)})
    losses = [curves(store.location, "loss")[GRID.trials.index(t)] for t in session.batch.trials]
    assert [list(steps) for steps, _ in losses] == [[0]] * 4
    values = np.array([value[0] for _, value in losses])
    np.testing.assert_array_equal(values, np.array([1.5, np.nan, np.inf, -0.0], dtype=np.float32))
    assert np.signbit(values[3])
    with pytest.raises(KeyError, match="did you mean loss"):
        curves(store.location, "los")


def test_finish_is_idempotent_and_clears_the_checkpoints(store: Store):
    session = saved(Session(toy.taken(store)), 1, 2)
    results = [{"loss": np.float32(0.5), "n": np.int64(3), "bad": float("nan")}] * 4
    session.finish(results)
    session.finish(results)
    with pytest.raises(InputError, match="others"):
        session.finish([{}] * 4)
    assert stored_chunks(store) == []
    assert [one.status for one in store.standing()] == ["done", "waiting", "waiting"]
    rows = [row for row in table(store.location) if row["grid.status"] == "done"]
    assert len(rows) == 4 and rows[0]["result.loss"] == 0.5 and rows[0]["result.n"] == 3
    assert np.isnan(rows[0]["result.bad"])


def test_progress_is_noted_now_and_then(store: Store):
    heard, now = [], [0.0]
    session = Session(toy.taken(store), on_progress=lambda: heard.append(1), clock=lambda: now[0])
    for i in range(101):
        now[0] = i / 100
        session.progress(i / 10)
    assert len(heard) == 3 and store.standing()[0].done == 10.0


def test_a_stop_is_passed_on(store: Store):
    assert not Session(toy.taken(store)).should_stop()
    assert Session(toy.taken(store), stop=lambda: True).should_stop()


def test_a_large_checkpoint_comes_back_on_another_machine(store: Store):
    """Of several chunks, the last not whole; whoever goes on has nothing but the store's address
    (or a copy of the folder)."""
    data = np.random.default_rng(0).bytes((5 << 19) + 7)
    session = Session(toy.taken(store))
    session.checkpoint(1, partial(Path.write_bytes, data=data))
    session.claim.release()
    elsewhere = Store.open(store.location)
    step, path = Session(toy.taken(elsewhere)).latest() or (None, None)
    assert step == 1 and path is not None and path.read_bytes() == data
    if store.database.shared:
        assert elsewhere.files != store.files
        elsewhere.close()
        assert not path.exists() and store.files.exists()
    else:
        elsewhere.close()
        assert path.exists()


def test_every_attempt_leaves_a_row_and_keeps_its_error(store: Store):
    first = Session(toy.taken(store))
    first.claim.fail("Traceback\0 of \udcff the first")
    with store.database.writing() as connection:
        of_this_run = sa.update(schema.batches).where(schema.batches.c.run == store.run)
        connection.execute(of_this_run.values(status="waiting"))
    saved(Session(toy.taken(store)), 1).claim.release()
    Session(toy.taken(store)).finish([{}] * 4)
    with store.database.reading() as connection:
        of_this_run = sa.select(schema.attempts).where(schema.attempts.c.batch == first.claim.id)
        rows = connection.execute(of_this_run.order_by("attempt")).all()
    assert [(row.attempt, row.outcome) for row in rows] == [
        (1, "failed"),
        (2, "released"),
        (3, "done"),
    ]
    assert rows[0].error == r"Traceback\0 of \udcff the first" and rows[1].error is None
    assert all(row.began <= row.ended for row in rows)
    assert all(Owner.read(row.owner) == Owner.me() for row in rows)
    assert len({row.start for row in rows}) == 3


def test_what_is_done_stays_as_it_is(store: Store):
    session = Session(toy.taken(store))
    session.finish([{"x": 1}] * 4)
    late = Session.__new__(Session)  # the same claim, as if nothing had been finished
    late.__dict__ = session.__dict__ | {"_results": None}
    with pytest.raises(Lost):
        late.finish([{"x": 2}] * 4)
    session.claim.fail("late")
    session.claim.release()
    assert [one.status for one in store.standing()].count("done") == 1
    assert {row["result.x"] for row in table(store.location) if "result.x" in row} == {1}


@pytest.mark.parametrize("done", [float("nan"), -1.0])
def test_progress_is_a_number(store: Store, done: float):
    with pytest.raises(InputError, match="progress of a batch"):
        Session(toy.taken(store)).progress(done)
