"""What a move of a slider costs the server, as a ratio to the library's own call in one run.

The same situation is asked through the app, without a socket: headers, checks, all bounds as gaps,
JSON. CPU time, the smallest of three: from empty tables, and where the
library remembers everything, so that what the server adds weighs most.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from urllib.parse import urlencode

import pytest

from dudley.calculus import hull
from dudley.theorems import registry
from dudley.theorems.comparison import FORMS
from dudley.theorems.gaps import gaps
from dudley.theorems.registry import PAPERS
from dudley.web.app import create_app
from dudley.web.bounds import SLIDERS
from dudley.web.check import ask
from dudley.web.safety import Settings

HERE = {name: float(at) for name, (_, _, at) in SLIDERS.items() if at is not None}
CURVES = [
    "calculus/gap derived",
    "li2026/equation-14 derived",
    "trauger2024/corollary-4.1.1 derived",
    "trauger2024/corollary-4.2.1 derived",
    "trauger2024/lemma-3.6 printed",
]
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
    """What a move asks for: every bound as a gap at the point, or the curves that are shown."""
    among = None if axis is None else [name.partition(" ")[0] for name in CURVES]
    gaps(HERE, axis, tuple(PAPERS), FORMS, among=among)


def served(app, axis: str | None) -> None:
    """The same, as the page asks for it."""
    curves = {} if axis is None else {"sweep": axis, "curve": CURVES}
    query = urlencode(HERE | {"form": FORMS} | curves, doseq=True)
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
