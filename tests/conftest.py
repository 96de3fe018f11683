"""What every test shares: hypothesis profiles, `require` for what a machine may lack, `smoke`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

# tests/oracles.py and tests/checks.py are shared; --import-mode=importlib adds no path by itself.
if str(Path(__file__).parent) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parent))

if TYPE_CHECKING:
    from smoke_runs import SmokeRuns

# Timing is never asserted in tests, so no deadline. Where CI is set the examples are the same
# in every run; elsewhere each run draws new ones.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")

Require = Callable[[str, bool, str], None]


@pytest.fixture(scope="session")
def require() -> Require:
    """Ask for something that is no Python dependency: a browser, a database, a data set.

    `require("chromium", path is not None, "no chromium on PATH")` goes on where it is present.
    Where it is absent the test is skipped with the reason, or fails if the name is listed in
    the environment variable DUDLEY_REQUIRE (names separated by commas).
    """

    def ask(name: str, present: bool, why: str) -> None:
        if present:
            return
        demanded = {part.strip() for part in os.environ.get("DUDLEY_REQUIRE", "").split(",")}
        if name in demanded:
            pytest.fail(f"DUDLEY_REQUIRE names {name!r}, which is absent: {why}", pytrace=False)
        pytest.skip(f"{name}: {why}")

    return ask


@pytest.fixture(scope="session")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> SmokeRuns:
    """`smoke(name)`: an experiment's smoke run, one in a session for all workers together."""
    from smoke_runs import SmokeRuns

    base = tmp_path_factory.getbasetemp()  # with workers, each has its own below one of all
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    return SmokeRuns(shared / "smoke-runs")
