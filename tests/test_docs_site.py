"""The site: its lock file, its links, and the built pages, which need nothing from elsewhere."""

from __future__ import annotations

import re
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import dudley

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
PIN = re.compile(r"^([a-z0-9-]+)==([0-9][0-9a-z.]*)", re.MULTILINE)
LINK = re.compile(r"(?<!`)\]\(([^)#\s]+)(?:#[^)]*)?\)")


def pins(path: Path) -> dict[str, str]:
    return dict(PIN.findall(path.read_text(encoding="utf-8")))


def test_the_lock_of_the_site_is_pinned_hashed_and_in_step():
    """It holds the extra `docs`, in the versions of requirements.lock where that has them."""
    text = (DOCS / "requirements.lock").read_text(encoding="utf-8")
    docs_pins, others = pins(DOCS / "requirements.lock"), pins(ROOT / "requirements.lock")
    entries = re.split(r"^(?=[a-z0-9-]+==)", text, flags=re.MULTILINE)[1:]
    assert len(entries) == len(docs_pins) > 10
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", entry) for entry in entries)
    assert not re.search(r"://|^-|^torch|^nvidia", text, re.MULTILINE)
    assert {name: docs_pins[name] for name in docs_pins.keys() & others.keys()} == {
        name: others[name] for name in docs_pins.keys() & others.keys()
    }
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for wanted in map(Requirement, project["optional-dependencies"]["docs"]):
        assert wanted.specifier.contains(docs_pins[canonicalize_name(wanted.name)]), wanted


def broken(page: Path) -> list[str]:
    """Links of a page to files that are not there."""
    prose = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    local = [link for link in LINK.findall(prose) if "://" not in link]
    return [link for link in local if not (page.parent / link).exists()]


def test_every_link_of_a_page_leads_somewhere(tmp_path: Path):
    for page in [*PAGES, ROOT / "README.md", ROOT / "ERRATA.md", ROOT / "CONTRIBUTING.md"]:
        assert broken(page) == [], page
    (tmp_path / "a.md").write_text("[b](b.md#c) [a](a.md) [c](https://c.org/d)", encoding="utf-8")
    assert broken(tmp_path / "a.md") == ["b.md"]


class Links(HTMLParser):
    """Every id of a page, every link, and everything that a browser loads by itself."""

    def __init__(self, text: str):
        super().__init__()
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.ids.update(filter(None, [attributes.get("id"), attributes.get("name")]))
        if tag == "a" and attributes.get("href"):
            self.links.add(attributes["href"])
        elif tag == "link" and "stylesheet" in (attributes.get("rel") or ""):
            self.loaded.add(attributes["href"])
        self.loaded.update(filter(None, [attributes.get("src"), attributes.get("srcset")]))


def foreign(page: Links) -> list[str]:
    return [one for one in page.loaded if re.match(r"(https?:)?//", one)]


def test_what_a_page_loads_is_seen():
    text = (
        '<a href="https://a.org/b"></a><script src="https://c.org/d.js"></script><img src="e.png">'
    )
    assert foreign(Links(text)) == ["https://c.org/d.js"]
    assert foreign(Links('<link rel="stylesheet" href="//f.org/g.css">')) == ["//f.org/g.css"]


@pytest.fixture(scope="module")
def built(docs_site: Path) -> dict[str, Links]:
    pages = {
        page.relative_to(docs_site).as_posix(): Links(page.read_text(encoding="utf-8"))
        for page in docs_site.rglob("*.html")
    }
    assert len(pages) > 20
    return pages


@pytest.mark.slow
def test_every_page_is_built(built: dict[str, Links]):
    for page in PAGES:
        assert page.relative_to(DOCS).with_suffix(".html").as_posix() in built


@pytest.mark.slow
def test_nothing_is_loaded_from_elsewhere(docs_site: Path, built: dict[str, Links]):
    for name, page in built.items():
        assert foreign(page) == [], name
    for sheet in docs_site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        assert not re.search(r"@import\s|url\(\s*[\"']?(https?:)?//", text), sheet


@pytest.mark.slow
def test_every_link_of_the_site_leads_to_a_page_and_a_place_in_it(
    docs_site: Path, built: dict[str, Links]
):
    wrong = []
    for name, page in built.items():
        for link in page.links:
            if re.match(r"[a-z]+:", link):
                continue
            target, _, anchor = unquote(link).partition("#")
            file = (docs_site / name).parent / target if target else docs_site / name
            key = file.resolve().relative_to(docs_site.resolve()).as_posix()
            if not file.exists() or (anchor and key in built and anchor not in built[key].ids):
                wrong.append((name, link))
    assert wrong == []


@pytest.mark.slow
def test_formulas_are_mathml_and_every_public_name_is_told(
    docs_site: Path, built: dict[str, Links]
):
    for name in ("calculus.html", "reference.html", "errata.html"):
        text = (docs_site / name).read_text(encoding="utf-8")
        assert "<math" in text
        shown = re.sub(r"<(pre|code).*?</\1>", "", text, flags=re.S)
        assert not re.search(r"\\(frac|le|sqrt|log|bigl|varepsilon)\b|\$\$", shown), name
    documented = {one.rpartition(".")[2] for one in built["api.html"].ids}
    assert set(dudley.__all__) <= documented
