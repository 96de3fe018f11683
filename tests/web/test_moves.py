"""What a move of a slider asks for: what is seen, once; and what is outdated stops."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from dudley.calculus.memory import forget
from dudley.core.sweep import Sweep
from dudley.core.vocabulary import parse_assignments
from dudley.networks.described import ID, gap_of
from dudley.show.figures.curves import log10
from dudley.theorems import comparison
from dudley.theorems.comparison import compare
from dudley.web import attend, bounds
from dudley.web.attend import Visitor, VisitorLeft, attended
from dudley.web.bounds import FEW, View

HERE = {"n": 1e5, "T": 16, "d": 8, "k": 8, "X.row2inf": 1.0, "W_QK.l11": 2.0, "W_v.l11": 1.0,
        "W_c.l11": 1.0, "w.l1": 1.0, "epsilon": 0.5, "kappa": 1.0, "target.bound": 1.0,
        "sigma.lipschitz": 1.0}  # fmt: skip
WORDS = [f"{name}={value!r}" for name, value in HERE.items()]
AXIS = "T=2:1e4:log16"
PAPERS = ("trauger2024", "li2026")
RADEMACHER = "Rademacher complexity of one head"
HEADS = View(PAPERS, ("printed", "derived"), RADEMACHER)
NAMES = (f"{ID} derived", "trauger2024/corollary-4.1.1 derived", "trauger2024/lemma-3.6 derived")
GAPS = View(("calculus", *PAPERS), ("printed", "derived"), bounds.GAPS, NAMES)


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The statements and forms that are evaluated from here on, none remembered from before."""
    forget()
    numbers: list[tuple[str, str]] = []
    plain = comparison.outcome

    def counted(s: Any, values: Mapping[str, float], form: str) -> Any:
        numbers.append((s.id, form))
        return plain(s, values, form)

    monkeypatch.setattr(attend, "outcome", counted)
    return numbers


def test_only_what_is_looked_at_is_evaluated(evaluated: list):
    answer = bounds.point(WORDS, HEADS, Visitor())
    seen = {entry["name"] for entry in answer["entries"]}
    assert {f"{id} {form}" for id, form in evaluated} == seen
    rows = compare(HERE, papers=PAPERS).groups[RADEMACHER]
    assert {name.partition(" ")[0] for name in seen} == {row.id for row in rows}
    assert RADEMACHER in answer["others"]


def test_only_the_curves_that_are_shown_are_evaluated(evaluated: list):
    bounds.curves(WORDS, AXIS, GAPS, Visitor())
    assert {id for id, _ in evaluated} == {name.partition(" ")[0] for name in NAMES[1:]}


def test_what_is_looked_at_is_what_the_whole_comparison_says():
    axis = "T=2:1e4:log3"
    whole = compare(HERE, axis, PAPERS)
    for heading in (RADEMACHER, "covering number of linear maps", "excess risk of one head"):
        among = [row.id for row in whole.groups[heading]]
        part = compare(HERE, axis, PAPERS, among=among)
        assert part.rows
        for row in part.rows:
            assert row.curves == whole.row(row.id).curves, row.id


def test_a_number_is_evaluated_once(evaluated: list):
    bounds.curves(WORDS, AXIS, GAPS, Visitor(), coarse=True)
    coarse = len(evaluated)
    assert coarse > 0
    bounds.curves(WORDS, AXIS, GAPS, Visitor())
    whole = len(evaluated)
    bounds.curves(WORDS, AXIS, GAPS, Visitor())
    assert len(evaluated) == whole
    forget()
    bounds.curves(WORDS, AXIS, GAPS, Visitor())
    assert len(evaluated) == 2 * whole  # the coarse points were among them


def test_coarse_points_are_points_of_the_axis():
    few = bounds.curves(WORDS, AXIS, GAPS, Visitor(), coarse=True)["chart"]
    every = bounds.curves(WORDS, AXIS, GAPS, Visitor())["chart"]
    assert len(few["x"]) == FEW and tuple(every["x"]) == Sweep.parse(AXIS).values
    for part, whole in zip(few["curves"], every["curves"], strict=True):
        heights = dict(zip(every["x"], whole["y"], strict=True))
        assert list(part["y"]) == [heights[x] for x in few["x"]]


@pytest.mark.parametrize("axis", ["n=1e2:1e9:log9", "T=2:1e4:log4", "delta=0.01:0.5:log4"])
def test_a_sweep_of_the_network_is_its_points(axis: str):
    values, sweep = parse_assignments(WORDS), Sweep.parse(axis)
    view = View(("calculus",), curves=NAMES[:1])
    chart = bounds.curves(WORDS, axis, view, Visitor())["chart"]
    for x, y in zip(chart["x"], chart["curves"][0]["y"], strict=True):
        forget()
        gap = gap_of(values | {sweep.name: x})
        assert not isinstance(gap, str)
        assert y == log10(gap)


@pytest.mark.parametrize("view", [GAPS, replace(HEADS, curves=NAMES[1:2])], ids=["gaps", "heads"])
def test_work_stops_when_the_visitor_leaves(evaluated: list, view: View):
    visitor = Visitor()
    visitor.leave()
    with pytest.raises(VisitorLeft):
        bounds.curves(WORDS, AXIS, view, visitor)
    assert not evaluated


def test_work_stops_at_the_next_number(monkeypatch: pytest.MonkeyPatch, evaluated: list):
    visitor, counted = Visitor(), attend.outcome

    def leaving(*more: Any) -> Any:
        if len(evaluated) == 2:
            visitor.leave()
        return counted(*more)

    monkeypatch.setattr(attend, "outcome", leaving)
    with pytest.raises(VisitorLeft):
        bounds.curves(WORDS, AXIS, GAPS, visitor)
    assert len(evaluated) == 3


def attend_to(work: Callable[[Visitor], Any], leaves: threading.Event) -> Any:
    """``work`` for a visitor who sends an empty body, and leaves at a sign."""

    async def run() -> Any:
        messages = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> dict[str, Any]:
            if messages:
                return messages.pop()
            await asyncio.to_thread(leaves.wait)
            return {"type": "http.disconnect"}

        try:
            return await attended(receive, asyncio.to_thread, work)
        finally:
            leaves.set()

    return asyncio.run(run())


def test_a_dropped_connection_reaches_the_work():
    leaves = threading.Event()

    def work(visitor: Visitor) -> str:
        leaves.set()
        for _ in range(6000):  # a minute, if nobody says so
            visitor.expect_present()
            time.sleep(0.01)
        return "nobody said that the visitor left"

    with pytest.raises(VisitorLeft):
        attend_to(work, leaves)


def test_whoever_stays_is_answered():
    assert attend_to(lambda visitor: visitor.expect_present() or 7, threading.Event()) == 7


def test_a_quantity_that_is_none_is_refused(fetch):
    answer = fetch("/api/bounds?" + urlencode({"n": 5, "quantity": "covering number of maps"}))
    assert answer.status == 400 and "did you mean covering number" in answer.json()["error"]


def queries(visit: Any) -> list[dict[str, list[str]]]:
    """What was sent for the bounds, by name."""
    urls = [url for url in visit.requests if "/api/bounds" in url]
    return [parse_qs(urlsplit(url).query) for url in urls]


def press(visit: Any, slider: str, state: str) -> list[dict[str, list[str]]]:
    """Move a slider by a key; what is sent until the page has all its numbers."""
    visit.page.locator(f"[id='in-{slider}']").focus()
    visit.requests.clear()
    visit.page.keyboard.press("ArrowRight")
    visit.settled("bounds", state)
    return queries(visit)


def test_a_move_asks_for_the_point_and_twice_for_curves(visit):
    visit.open()
    visit.settled("bounds")
    sent = press(visit, "W_QK.l11", "1")
    assert ["sweep" in query for query in sent] == [False, True, True]
    assert ["coarse" in query for query in sent] == [False, True, False]
    assert all(query["quantity"] == [bounds.GAPS] for query in sent)
    assert [len(query.get("curve", [])) for query in sent] == [0, 7, 7]


def test_along_the_axis_itself_no_curve_is_asked_for(visit):
    visit.open()
    visit.settled("bounds")
    (sent,) = press(visit, "n", "1")
    assert "sweep" not in sent and sent["n"] != ["100000"]


def test_what_is_outdated_is_cancelled(visit, monkeypatch: pytest.MonkeyPatch):
    visit.open()
    visit.settled("bounds")
    plain, go_on, numbers = attend.outcome, threading.Event(), []
    left: list[Visitor] = []

    def waiting(*more: Any) -> Any:
        numbers.append(more)
        assert go_on.wait(60)
        return plain(*more)

    class Counted(Visitor):
        def leave(self) -> None:
            super().leave()
            left.append(self)

    forget()
    monkeypatch.setattr(attend, "outcome", waiting)
    monkeypatch.setattr(attend, "Visitor", Counted)
    visit.page.locator("[id='in-W_QK.l11']").focus()
    visit.requests.clear()
    visit.page.keyboard.press("ArrowRight")
    for begun in (1, 2, 3):  # each move finds the one before at its first number
        while len(numbers) < begun:
            visit.page.wait_for_timeout(20)
        with visit.page.expect_event("requestfailed") as dropped:
            visit.page.keyboard.press("ArrowRight")
        assert "sweep" not in dropped.value.url
    while len(numbers) < 4 or len(left) < 3:
        visit.page.wait_for_timeout(20)
    go_on.set()
    visit.settled("bounds", "1")
    assert ["sweep" in query for query in queries(visit)] == [False] * 4 + [True, True]
    with_dropped = len(numbers)
    forget()
    numbers.clear()
    press(visit, "W_QK.l11", "2")
    # One for each that was dropped; chains at other norms may be an octave longer.
    assert 0 < with_dropped <= 1.1 * len(numbers) + 3


def test_an_axis_that_is_not_given_has_curves(visit):
    visit.open(
        "#bounds?n=1e5&d=8&k=8&W.l11=2&X.row2inf=1&.axis=epsilon&.quantity=covering+number+of+linear+maps"
    )
    visit.settled("bounds")
    assert not visit.page.locator('input[aria-label="epsilon is given"]').is_checked()
    assert visit.page.locator("#curves .u-wrap canvas").count() == 1


def test_other_curves_ask_for_curves_alone(visit):
    visit.open()
    state = visit.settled("bounds")
    visit.requests.clear()
    visit.page.locator("#curves .remove").first.click()
    visit.settled("bounds", state)
    assert [("sweep" in query, len(query["curve"])) for query in queries(visit)] == [(True, 6)] * 2
