"""Steps are done or left out whole, and those left out are named."""

from __future__ import annotations

from itertools import count

import pytest

from dudley.core.watch import Spent, Watch


def ticking(seconds: float, **more) -> Watch:
    """A watch on which every look at the clock takes a second."""
    ticks = count()
    return Watch(seconds, clock=lambda: float(next(ticks)), **more)


def test_nothing_is_left_out_without_a_limit():
    watch = Watch()
    assert [watch.do(str(i), lambda i=i: i) for i in range(5)] == list(range(5))
    watch.look()
    assert watch.left_out == [] and watch.remark == ""


def test_a_step_under_way_when_time_is_up_gives_nothing():
    watch, done = ticking(3.0), []

    def work():
        while True:
            done.append(None)
            watch.look()

    assert watch.do("long", work) is None and len(done) >= 2
    assert watch.do("after", lambda: 1) is None
    assert watch.left_out == ["long", "after"]
    assert watch.remark == "left out after 3 s: long, after; --budget SECONDS gives more time"


def test_a_needed_step_is_never_left_out():
    watch = ticking(0.0)

    def work():
        watch.look()
        return 7

    assert watch.do("needed", work, needed=True) == 7
    with pytest.raises(Spent):
        watch.look()


def test_a_part_has_seconds_and_omissions_of_its_own():
    said = []
    watch = ticking(2.0, say=said.append)
    watch.begin("first")
    watch.do("a", lambda: 1)
    watch.do("b", lambda: 1)
    watch.begin("second")
    assert watch.left_out == [] and watch.do("c", lambda: 3) == 3
    assert said == ["first", "first: a", "second", "second: c"]


def test_another_error_goes_through():
    with pytest.raises(ZeroDivisionError):
        Watch().do("wrong", lambda: 1 // 0)
