"""What a move of a slider costs the server, as a ratio to the library's own call in one run.

The same situation is asked through the app, without a socket: headers, checks, the comparison or
the gaps of the network, JSON. CPU time, the smallest of three: from empty tables, and where the
library remembers everything, so that what the server adds weighs most.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from urllib.parse import urlencode

import pytest

from dudley.calculus import hull
from dudley.core.sweep import Sweep
from dudley.theorems import registry
from dudley.theorems.comparison import FORMS, compare
from dudley.theorems.registry import PAPERS
from dudley.web import calculus
from dudley.web.app import create_app
from dudley.web.bounds import SLIDERS
from dudley.web.check import ask
from dudley.web.safety import Settings

HERE = {name: float(at) for name, (_, _, at) in SLIDERS.items() if at is not None}
THEIRS = {name: value for name, value in HERE.items() if name != "margin"}
ALLOWED = 3.0


def seconds(work: Callable[[], object], empty: bool) -> float:
    durations = []
    for _ in range(3):
        if empty:
            hull.forget()
        start = time.process_time()
        work()
        durations.append(time.process_time() - start)
    return min(durations)


def library(axis: str | None) -> None:
    """What a move asks for: every statement, and the network."""
    compare(THEIRS, axis, PAPERS, FORMS)
    if axis is None:
        calculus.capacity_of(HERE).gap(HERE["delta"])
        return
    sweep = Sweep.parse(axis)
    for value in sweep.values:
        situation = HERE | {sweep.name: value}
        calculus.capacity_of(situation).gap(situation["delta"])


def served(app, axis: str | None) -> None:
    """The same, as the page asks for it: the point at once, curves source by source."""
    if axis is None:
        assert ask(app, "/api/bounds?" + urlencode(HERE)).status == 200
        return
    for source in (calculus.NAME, *PAPERS):
        query = urlencode(HERE | {"source": source, "sweep": axis})
        assert ask(app, "/api/bounds?" + query).status == 200


@pytest.mark.parametrize("empty", [True, False], ids=["empty", "remembered"])
@pytest.mark.parametrize("axis", [None, "n=1e2:1e9:log16", "T=2:1e4:log16", "delta=1e-6:0.5:log16"])
def test_a_move_costs_little_more_than_the_library(axis: str | None, empty: bool):
    app = create_app(Settings())
    registry.load()
    library(None)
    served(app, None)
    alone = seconds(lambda: library(axis), empty)
    through = seconds(lambda: served(app, axis), empty)
    case = f"{axis or 'one point'}, tables {'empty' if empty else 'full'}"
    print(f"{case}: {through:.3f} s / {alone:.3f} s = {through / alone:.2f}")
    assert through <= ALLOWED * alone
