"""Progress: right at constant speed, honest otherwise, silent unless asked; it ends with a line."""

from __future__ import annotations

import io
import math
from contextlib import suppress
from pathlib import Path

import pytest

import grid_toy as toy
from dudley.core.errors import InputError
from dudley.lab import BatchFailed, Session, run
from dudley.lab.grid.estimate import Estimate
from dudley.lab.runners.progress import Display, last_line, progress_line
from dudley.lab.store.store import BatchStatus

GRID = toy.toy_grid()


def seen(estimate: Estimate, moves, busy: int = 1) -> Estimate:
    for now, done in moves:
        estimate.observe(now, done, busy)
    return estimate


def test_at_constant_speed_it_is_exact():
    estimate = Estimate(workers=1)
    for second in range(1, 500):
        estimate.observe(float(second), 3.0 * second, busy=1)
        left = estimate.remaining([6000 - 3.0 * second])
        if second >= 8:
            assert left is not None
            assert left == pytest.approx((2000 - second, 2000 - second))


def test_until_enough_was_seen_there_is_none():
    assert Estimate(1).remaining([1.0]) is None
    assert seen(Estimate(1), [(0, 0), (1, 1), (2, 2)]).remaining([1.0]) is None
    assert seen(Estimate(1), [(t, 0.0) for t in range(100)]).remaining([1.0]) is None
    assert Estimate(1).remaining([0.0, 0.0]) == (0.0, 0.0)


def test_work_of_earlier_starts_is_no_evidence():
    fresh = seen(Estimate(1), [(t, 2.0 * t) for t in range(20)])
    resumed = seen(Estimate(1), [(1000 + t, 5000 + 2.0 * t) for t in range(20)])
    assert resumed.remaining([100.0]) == pytest.approx(fresh.remaining([100.0]))
    assert resumed.remaining([100.0]) == pytest.approx((50, 50))
    slow = [(0, 0)] + [(10 + t, 1.0 + t) for t in range(7)]  # the first move is within the half
    fresh, resumed = seen(Estimate(1), slow), seen(Estimate(1), [(t, 5000 + w) for t, w in slow])
    assert resumed.remaining([100.0]) == pytest.approx(fresh.remaining([100.0]))


def test_work_done_again_is_no_negative_speed():
    estimate = seen(Estimate(1), [(t, 2.0 * t) for t in range(20)])
    before = estimate.remaining([100.0])
    estimate.observe(20, 10.0, 1)  # a worker died: its batch is back at its checkpoint
    low, high = estimate.remaining([128.0]) or (0, 0)
    assert 0 < low <= high < math.inf and low >= 128 / 100 * 50 * 0.99
    seen(estimate, [(20 + t, 10.0 + 2 * t) for t in range(1, 60)])
    assert estimate.remaining([100.0]) == pytest.approx(before)


def test_a_changing_speed_gives_a_range_that_holds_it():
    moves, done = [], 0.0
    for t in range(200):
        done += 1.0 if (t // 10) % 2 else 3.0
        moves.append((float(t), done))
    low, high = seen(Estimate(1), moves).remaining([1000.0]) or (0, 0)
    assert low <= 1000 / 2 <= high and low < high and low >= 1000 / 3 and high <= 1000


def test_a_slow_beginning_is_forgotten():
    moves = [(0.0, 0.0), (60.0, 1.0)] + [(60.0 + t, 1.0 + t) for t in range(1, 200)]
    assert seen(Estimate(1), moves).remaining([50.0]) == pytest.approx((50, 50))


def test_a_standstill_grows_the_estimate():
    estimate = seen(Estimate(1), [(t, float(t)) for t in range(50)])
    longest = []
    for still in (0.5, 5, 50, 500):
        estimate.observe(49 + still, 49.0, 1)
        low, high = estimate.remaining([10.0]) or (0, 0)
        assert 0 < low <= high
        longest.append(high)
    assert longest[0] == pytest.approx(10) and longest == sorted(longest)
    assert longest[-1] > 1000


def test_lumps_are_no_standstill():
    """Work that arrives every ten seconds, looked at every second."""
    estimate = seen(Estimate(1), [(t, float(t // 10 * 10)) for t in range(201)])
    assert estimate.remaining([100.0]) == pytest.approx((100, 100))
    estimate.observe(209, 200.0, 1)
    assert estimate.remaining([100.0]) == pytest.approx((100, 100))


def test_the_last_batch_is_not_shared_among_workers():
    estimate = seen(Estimate(workers=2), [(t, 2.0 * t) for t in range(50)], busy=2)
    assert estimate.speeds() == pytest.approx((1, 1))
    assert estimate.remaining([50.0, 50.0]) == pytest.approx((50, 50))
    assert estimate.remaining([50.0]) == pytest.approx((50, 50))
    seen(estimate, [(49 + t, 98.0 + t) for t in range(60)], busy=1)
    assert estimate.remaining([50.0]) == pytest.approx((50, 50), rel=0.05)


def test_many_observations_cost_little_memory():
    estimate = seen(Estimate(1), [(t, 2.0 * t) for t in range(20_000)])
    assert len(estimate._history) < 300
    assert estimate.remaining([100.0]) == pytest.approx((50, 50))


def status_at(done: float, status: str = "running", work: float = 100.0) -> BatchStatus:
    return BatchStatus(0, status, work, done, None, size=800)


def test_the_line():
    """Trials of batches that are done, share of the work, time, time left; no unit of ours."""
    estimate = seen(Estimate(1), [(t, 1.0 * t) for t in range(51)])
    half = [status_at(0, "done"), status_at(50.0), status_at(0, "waiting", 50.0)]
    line = progress_line(half, estimate, 100.0, "training")
    assert line == "800 of 2,400 trainings · 60.0 % · 1 min 40 s · about 1 min 40 s left"
    assert progress_line(half[1:], Estimate(1), 1.0).endswith(" · 1 s · time left not known yet")


def test_what_failed_is_told():
    done, failed = status_at(100.0, "done"), status_at(20.0, "failed")
    estimate = seen(Estimate(1), [(t, 1.0 * t) for t in range(51)])
    line = progress_line([done, failed, status_at(40.0)], estimate, 5.0)
    said = "800 of 2,400 trials · 53.3 % · 800 failed (1 batch) · 5 s · about 1 min 00 s left"
    assert line == said, "what failed waits for nobody, and takes no time"
    line = last_line([done, failed, failed], 158.0, "training")
    assert line == "800 of 2,400 trainings · 46.7 % · 1,600 failed (2 batches) · 2 min 38 s"


def test_the_whole_is_said_when_it_is_done_and_not_before():
    done = status_at(100.0, "done")
    nearly = [done] * 9_999 + [status_at(99.0)]
    assert " · 99.9 % · " in progress_line(nearly, Estimate(1), 1.0)
    assert " · 99.9 % · " in last_line(nearly, 1.0)
    assert last_line([done] * 11, 158.0, "training") == "8,800 trainings done · 2 min 38 s"
    resumed = last_line([done] * 11, 158.0, "training", before=1600)
    assert resumed == "8,800 trainings done, 1,600 of them before · 2 min 38 s"
    assert last_line([done], 1.0, before=800) == "800 trials done, all of them before"
    assert last_line([BatchStatus(0, "done", 1.0, 1.0, None, size=1)], 4.0) == "1 trial done · 4 s"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(stream: io.StringIO, wanted: bool | None) -> str:
    now = [1000.0]
    with Display("[b]toy", 1, wanted, stream, every=30.0, clock=lambda: now[0]) as display:
        for second in range(91):
            now[0] = 1000.0 + second
            display.show([status_at(float(second))])
        now[0] = 1121.0
        display.show([status_at(100.0, "done")])
        display.show([status_at(100.0, "done")], last=True)
    return stream.getvalue()


def test_where_it_is_shown(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert shown(io.StringIO(), None) == ""
    assert shown(Terminal(), False) == ""
    lines = shown(io.StringIO(), True).splitlines()
    assert len(lines) == 4 and lines[-1] == "[b]toy: 800 trials done · 2 min 01 s"
    assert lines[1] == "[b]toy: 0 of 800 trials · 60.0 % · 1 min 00 s · about 40 s left"
    seen_on_it = shown(Terminal(), None)
    assert "[b]toy" in seen_on_it and "800 trials done · 2 min 01 s" in seen_on_it


def lines_of_run(folder: Path, capsys, work=toy.logistic, **options) -> list[str]:
    """What a run of the toy says on standard error."""
    with suppress(BatchFailed):
        run(GRID, toy.toy_batches(GRID), work, folder, progress=True, **options)
    return capsys.readouterr().err.splitlines()


def fails_once(session: Session) -> None:
    if session.batch.number == 0:
        raise RuntimeError("not today")
    toy.logistic(session)


def test_a_run_ends_with_a_line(tmp_path: Path, capsys):
    """Done is said even where it takes less than the time between two lines, or no time at all."""
    (line,) = lines_of_run(tmp_path, capsys, fails_once)
    assert line.startswith("toy: 8 of 12 trials · 53.3 % · 4 failed (1 batch) · ")
    (line,) = lines_of_run(tmp_path, capsys, noun="orbit")
    assert line.startswith("toy: 12 orbits done, 8 of them before · ")
    (line,) = lines_of_run(tmp_path, capsys)
    assert line == "toy: 12 trials done, all of them before"
    with pytest.raises(InputError, match=r"noun for a trial.*got ' '"):
        run(GRID, toy.toy_batches(GRID), toy.logistic, tmp_path, noun=" ")
