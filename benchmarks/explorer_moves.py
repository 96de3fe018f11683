"""What a move of a slider costs in the explorer: headless Chromium, and the server's CPU time.

    OMP_NUM_THREADS=1 python benchmarks/explorer_moves.py results/explorer --before OLD/src

One slider is moved by one key, in one view (a quantity along an axis) at a time, and the page is
left alone until all its numbers are there: seconds until then on the clock, CPU seconds of the
server (of all its threads), and the requests that were sent. ``drag``: twenty keys in a row, 30 ms
apart, and what the server does in three seconds after. The smallest, the median and the largest of
the repeats are kept; the clock of a shared machine says little, so its load is kept as well.
``--before`` measures the server and the page of another source first; one that looks at a kind of
quantity, whatever the class, finds a view by the kind.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from dudley.core.provenance import provenance  # noqa: E402
from dudley.lab.conduct import digests_of  # noqa: E402

CONFIG = {
    "views": [
        ["risk − training loss, all bounds", "n"], ["risk − training loss, all bounds", "T"],
        ["risk − training loss, all bounds", "W_QK.l11"],
        ["Rademacher complexity of one head", "T"], ["covering number of L layers", "T"],
        ["covering number of L layers", "W_QK.l11"], ["excess risk of one head", "W_QK.l11"],
    ],
    "sliders": ["n", "T", "W_QK.l11", "X.row2inf", "d", "delta"],
    "repeats": 3,
    "drag": {"view": ["Rademacher complexity of one head", "T"], "slider": "W_QK.l11", "keys": 20,
             "pause": 0.03},
    "viewport": {"width": 1280, "height": 900},
}  # fmt: skip
TICKS = os.sysconf("SC_CLK_TCK")


@contextmanager
def served(source: Path) -> Iterator[tuple[str, int]]:
    """The address of an explorer from that source, and the id of its process."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    command = [sys.executable, "-m", "dudley", "serve", "--port", str(port)]
    env = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    server = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert server.stdout is not None
        server.stdout.readline()
        yield f"http://127.0.0.1:{port}/", server.pid
    finally:
        server.terminate()
        server.wait(timeout=60)


def cpu_of(process: int) -> float:
    """CPU seconds of a process so far, user and system."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


class Explorer:
    """The page in one view, and what its moves cost."""

    def __init__(self, page: Any, site: str, process: int, view: list[str]) -> None:
        self.page, self.process, self.requests = page, process, 0
        page.set_default_timeout(180_000)
        page.on("request", lambda request: self.count(request.url))
        quantity, axis = view
        page.goto(f"{site}#bounds?{urlencode({'.quantity': quantity, '.axis': axis})}")
        self.settle("")
        kind = re.split(" of |,", quantity)[0]
        if page.locator("#quantity").input_value() not in (quantity, kind):
            state = page.locator("#view-bounds").get_attribute("data-state")
            page.locator("#quantity").select_option(kind)
            self.settle(state)

    def count(self, address: str) -> None:
        self.requests += "/api/bounds" in address

    def settle(self, before: str) -> str:
        """Wait until the page is complete and nothing more is asked; its count of answers."""
        complete = """before => {
          const view = document.getElementById("view-bounds").dataset.state ?? "";
          return view !== before && !document.querySelector("#curves.busy") ? view : false;
        }"""
        return self.page.wait_for_function(complete, arg=before, polling="raf").json_value()

    def move(self, slider: str, keys: int = 1, pause: float = 0.0) -> dict[str, float]:
        """Press a key on a slider, and wait for every number."""
        self.page.locator(f"[id='in-{slider}']").focus()
        state = self.page.locator("#view-bounds").get_attribute("data-state")
        load, cpu, sent = os.getloadavg()[0], cpu_of(self.process), self.requests
        start = time.perf_counter()
        for _ in range(keys):
            self.page.keyboard.press("ArrowRight")
            self.page.wait_for_timeout(1000 * pause) if pause else None
        self.settle(state)
        took = time.perf_counter() - start - keys * pause
        if keys > 1:  # work that nobody waits for any more counts as well
            self.page.wait_for_timeout(3000)
        return {
            "seconds": took,
            "cpu": cpu_of(self.process) - cpu,
            "requests": self.requests - sent,
            "load": load,
        }


def summary(moves: list[dict[str, float]]) -> dict[str, list[float]]:
    """Smallest, median and largest of each number."""
    return {
        name: [round(f([one[name] for one in moves]), 3) for f in (min, statistics.median, max)]
        for name in moves[0]
    }


def measured(source: Path, browser: Any) -> dict[str, Any]:
    """Every slider in every view, and the drag."""
    moves: dict[str, Any] = {}
    drag = CONFIG["drag"]
    with served(source) as (site, process):

        @contextmanager
        def opened(view: list[str]) -> Iterator[Explorer]:
            context = browser.new_context(viewport=CONFIG["viewport"])
            yield Explorer(context.new_page(), site, process, view)
            context.close()

        for view in CONFIG["views"]:
            with opened(view) as explorer:
                moves[" over ".join(view)] = {
                    slider: summary([explorer.move(slider) for _ in range(CONFIG["repeats"])])
                    for slider in CONFIG["sliders"]
                }
        with opened(drag["view"]) as explorer:
            keys = (drag["slider"], drag["keys"], drag["pause"])
            drags = [explorer.move(*keys) for _ in range(CONFIG["repeats"])]
    every = [one for view in moves.values() for one in view.values()]
    worst = {name: max(one[name][1] for one in every) for name in ("seconds", "cpu", "requests")}
    return {"moves": moves, "drag": summary(drags), "largest_median": worst}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--before", type=Path, help="the source folder of an older version")
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright

    start = time.perf_counter()
    sources = {"before": options.before, "after": ROOT / "src"}
    record = {}
    with sync_playwright() as driver:
        path = shutil.which("chromium")
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for name, source in sources.items():
            if source is not None:
                record[name] = measured(source.resolve(), browser)
                print(name, record[name]["largest_median"], record[name]["drag"], flush=True)
        chromium = browser.version
        browser.close()
    options.out.mkdir(parents=True, exist_ok=True)
    moves = options.out / "moves.json"
    moves.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    versions = {name: metadata.version(name) for name in ("numpy", "fastapi", "uvicorn")}
    document = provenance() | {
        "command": ["benchmarks/explorer_moves.py", *sys.argv[1:]],
        **digests_of(CONFIG, [moves]),
        "machine": versions
        | {"python": platform.python_version(), "chromium": chromium, "cpus": os.cpu_count()},
        "precision": "float64",
        "seconds": time.perf_counter() - start,
    }
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    (options.out / "provenance.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
