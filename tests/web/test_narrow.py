"""No page scrolls sideways on a telephone: the explorer, reports, the documentation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dudley.cli.app import app
from dudley.cli.commands.report import document_of
from dudley.core.boundary import documents
from dudley.networks.files import EXAMPLES
from dudley.show import as_html
from dudley.show.pages.read import of_json
from explorer_views import LOADED, VIEWS

NARROW = {"width": 375, "height": 700}
ROOT = Path(__file__).resolve().parents[2]
HERE = ["d=8", "k=8", "T=4", "n=1e4", "X.row2inf=1", "W.l11=2", "w.l2=1", "epsilon=.5"]
COMMANDS = {
    "audit": ["audit", "li2026/lemma-B.6", "--jobs", "1"],
    "compare": ["compare", *HERE, "--sweep", "T=4:64:log3"],
    "gaps": ["compare", *HERE, "--as", "gap", "--sweep", "n=1e3:1e5:log3"],
    "measure": ["measure", "tiny-bert"],
    "theorem": ["theorems", "show", "trauger2024/lemma-3.5"],
}


def overhang(page: Any) -> list[str]:
    """What reaches past the right edge where the page scrolls; nothing where it does not."""
    return page.evaluate(
        """() => {
          const width = document.documentElement.clientWidth;
          if (document.documentElement.scrollWidth <= width) return [];
          const wide = [...document.querySelectorAll("body *")]
            .filter((one) => one.getBoundingClientRect().right > width + 0.5);
          return ["the page", ...wide.slice(0, 9).map((one) => one.outerHTML.slice(0, 120))];
        }"""
    )


@pytest.fixture
def phone(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport=NARROW)
    yield context.new_page()
    context.close()


def test_what_reaches_past_the_edge_is_seen(phone: Any):
    phone.set_content("<p>short</p>")
    assert overhang(phone) == []
    phone.set_content("<pre style='width: 400px'>long</pre>")
    assert overhang(phone)[0] == "the page"


@pytest.mark.slow
def test_no_view_of_the_explorer_scrolls_sideways(visit: Any):
    visit.page.set_viewport_size(NARROW)
    for view, address in VIEWS.items():
        visit.open(address)
        visit.page.wait_for_selector(LOADED[view])
        visit.page.wait_for_load_state("networkidle")
        visit.shot(f"{view}-narrow")
        assert overhang(visit.page) == [], view


@pytest.mark.slow
def test_no_report_scrolls_sideways(phone: Any, tmp_path: Path):
    results = [CliRunner().invoke(app, [*words, "--json"]) for words in COMMANDS.values()]
    made = [of_json(documents.value_of(one.stdout.encode(), "report")) for one in results]
    reports = dict(zip(COMMANDS, made, strict=True))
    reports["certificate"] = document_of(EXAMPLES / "sparse-and" / "certificate.json")
    reports["experiment"] = document_of(ROOT / "results" / "beyond-depth" / "laptop")
    for name, document in reports.items():
        as_html.write(document, tmp_path / f"{name}.html")
        phone.goto((tmp_path / f"{name}.html").as_uri())
        assert overhang(phone) == [], name


@pytest.mark.slow
def test_no_page_of_the_documentation_scrolls_sideways(phone: Any, docs_site: Path):
    wide = {}
    for page in sorted(docs_site.rglob("*.html")):
        phone.goto(page.as_uri())
        if beyond := overhang(phone):
            wide[page.relative_to(docs_site).as_posix()] = beyond
    assert wide == {}
