"""The page: one file, no network; the browser draws it, sorts it and hides a curve."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import tomllib
from dataclasses import replace
from importlib import resources

import pytest

from dudley.show.as_html import html
from dudley.show.pages.comparison import document
from dudley.theorems.comparison import compare

HERE = {"d": 8, "k": 8, "n": 1e5, "X.row2inf": 1.0, "W.l11": 2.0, "epsilon": 0.5}


@pytest.fixture(scope="module")
def text() -> str:
    return html(document(compare(HERE, "n=1e2:1e8:log7")))


def test_vendored_files_are_what_they_claim():
    folder = resources.files("dudley.show") / "vendor"
    vendored = tomllib.loads((folder / "VENDOR.toml").read_text(encoding="utf-8"))["uplot"]
    for name, digest in vendored["sha256"].items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest, name
    assert f"v{vendored['version']}" in (folder / "uPlot.iife.min.js").read_text(encoding="utf-8")
    names = {entry.name for entry in folder.iterdir()} - {"VENDOR.toml", "__pycache__"}
    assert names == set(vendored["sha256"])


def test_it_asks_for_nothing_outside(text: str):
    assert not re.search(r"<(script|img|link|iframe)[^>]*\s(src|href)=", text)
    assert not re.search(r"@import|url\(", text)
    assert "default-src 'none'" in text
    assert not re.search(r"<!--[A-Z]+-->", text), "a place was left unfilled"


def test_its_data_are_the_comparison(text: str):
    (data,) = re.findall(r'<script id="data" type="application/json">(.*?)</script>', text, re.S)
    comparison, data_of_page = compare(HERE, "n=1e2:1e8:log7"), json.loads(data)
    assert all(chart["x"] == list(comparison.points) for chart in data_of_page["charts"])
    curves = {c["label"]: c["y"] for chart in data_of_page["charts"] for c in chart["curves"]}
    bounds = comparison.row("trauger2024/section-2.5").bounds("best")
    assert [10**y for y in curves["trauger2024/section-2.5 best"]] == pytest.approx(
        [b.value for b in bounds]
    )


def test_text_is_escaped():
    """Whatever a statement or a note says, it cannot end a tag or the script with the data."""
    comparison = compare(HERE, "n=1e2:1e8:log3", papers=("trauger2024",))
    row = comparison.row("trauger2024/section-2.5")
    hostile = replace(row.statement, id="x/</script><b>", quantity='Rademacher complexity "<i>')
    rows = (replace(row, statement=hostile),)
    text = html(document(replace(comparison, rows=rows, unused=("<script>alert",))))
    assert "<script>alert" not in text and "<b>" not in text and "<i>" not in text
    assert text.count("</script>") == 3
    assert "&lt;script&gt;alert" in text and "x/&lt;/script&gt;" in text
    assert "x/\\u003c/script>" in text and "&quot;&lt;i&gt;" in text


def test_one_point_is_a_page_of_tables():
    text = html(document(compare(HERE)))
    assert "<table>" in text and 'class="chart"' not in text


def chromium(*options: str, page: str) -> str:
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", *options, page]
    return subprocess.run(command, capture_output=True, text=True, timeout=120).stdout


def test_a_browser_draws_it(text: str, tmp_path, require):
    require("chromium", shutil.which("chromium") is not None, "no chromium on PATH")
    act = """<script>
      const chart = document.querySelector(".chart");
      const box = chart.querySelector(".forms input");
      box.click();
      const heads = document.querySelectorAll(".wide th button");
      heads[2].click(); heads[2].click();
      const keys = [...document.querySelectorAll(".wide tbody")[0].rows]
        .map((row) => row.cells[2].dataset.key).filter((key) => key !== "").map(Number);
      document.title = JSON.stringify({
        canvases: document.querySelectorAll("canvas").length,
        hidden: chart.querySelectorAll(".u-series.u-off").length,
        sorted: document.querySelectorAll('th[aria-sort="descending"]').length,
        falling: keys.every((key, i) => i === 0 || keys[i - 1] >= key),
        legend: chart.querySelectorAll(".u-series").length,
      });
    </script></body>"""
    file = tmp_path / "page.html"
    file.write_text(text.replace("</body>", act), encoding="utf-8")
    dom = chromium("--dump-dom", page=file.as_uri())
    (title,) = re.findall(r"<title>(.*?)</title>", dom)
    seen = json.loads(title.replace("&quot;", '"'))
    assert seen["canvases"] >= 1 and seen["hidden"] >= 1 and seen["legend"] > 3
    assert seen["sorted"] == 1 and seen["falling"]
