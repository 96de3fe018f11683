"""What every test shares: hypothesis profiles, `require` for what a machine may lack, a browser.

`--skipped-to FILE` writes the ids of the skipped tests, and `--only-from FILE` runs no others: so
`.ci/run` runs on a bare machine first, and then what was skipped there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

# tests/oracles.py and tests/checks.py are shared; --import-mode=importlib adds no path by itself.
if str(Path(__file__).parent) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parent))

# Text is laid out for this width; xdist would tell its workers another one.
os.environ["COLUMNS"] = "100"

if TYPE_CHECKING:
    from smoke_runs import SmokeRuns

# Timing is never asserted in tests, so no deadline. Where CI is set the examples are the same
# in every run; elsewhere each run draws new ones.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")

ROOT = Path(__file__).resolve().parents[1]
Require = Callable[[str, bool, str], None]


@pytest.fixture(scope="session")
def require() -> Require:
    """Ask for what `make test` does not install: a browser, a database, a data set, an extra.

    `require("chromium", path is not None, "no chromium on PATH")` goes on where it is present.
    Where it is absent the test is skipped with the reason, or fails if the name is listed in
    the environment variable DUDLEY_REQUIRE (names separated by commas). With DUDLEY_BARE everything
    counts as absent: a machine that has it all then skips what a new one would.
    """

    def ask(name: str, present: bool, why: str) -> None:
        if os.environ.get("DUDLEY_BARE"):
            pytest.skip(f"{name}: DUDLEY_BARE is set")
        if present:
            return
        demanded = {part.strip() for part in os.environ.get("DUDLEY_REQUIRE", "").split(",")}
        if name in demanded:
            pytest.fail(f"DUDLEY_REQUIRE names {name!r}, which is absent: {why}", pytrace=False)
        pytest.skip(f"{name}: {why}")

    return ask


@pytest.fixture(scope="module")
def browser(require: Require) -> Iterator[Any]:
    """Headless Chromium; closed after the module, for it keeps an event loop in this thread."""
    path = shutil.which("chromium")
    require("chromium", path is not None, "no chromium on PATH")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def docs_site(require: Require, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `make docs` builds it: a warning is an error."""
    absent = [name for name in ("sphinx", "furo", "myst_parser") if find_spec(name) is None]
    require("sphinx", not absent, "make docs-deps")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q", "-E"]
    done = subprocess.run(
        [*command, "-d", str(folder / "doctrees"), str(ROOT / "docs"), str(folder / "html")],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "html"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("dudley")
    group.addoption("--skipped-to", metavar="FILE", help="write the ids of the skipped tests")
    group.addoption("--only-from", metavar="FILE", help="run only the tests that the file lists")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if (listed := config.getoption("--only-from")) is None:
        return
    wanted = set(Path(listed).read_text(encoding="utf-8").splitlines())
    others = [item for item in items if item.nodeid not in wanted]
    items[:] = [item for item in items if item.nodeid in wanted]
    config.hook.pytest_deselected(items=others)


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    if (file := config.getoption("--skipped-to")) is not None:
        skipped = {report.nodeid for report in terminalreporter.stats.get("skipped", ())}
        Path(file).write_text("".join(f"{id}\n" for id in sorted(skipped)), encoding="utf-8")


@pytest.fixture(scope="session")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> SmokeRuns:
    """`smoke(name)`: an experiment's smoke run, one in a session for all workers together."""
    from smoke_runs import SmokeRuns

    base = tmp_path_factory.getbasetemp()  # with workers, each has its own below one of all
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    return SmokeRuns(shared / "smoke-runs")
