"""Reports: every kind of result is a page, Markdown and LaTeX; strange files are refused."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dudley.cli.commands.report import document_of
from dudley.core.errors import InputError
from dudley.networks.files import EXAMPLES
from dudley.show import document as doc
from dudley.show.as_html import html
from dudley.show.as_latex import latex
from dudley.show.as_markdown import markdown
from dudley.show.pages.read import of_json
from dudley.theorems import registry
from each import each

RESULTS = Path(__file__).resolve().parents[2] / "results"
CERTIFICATE = EXAMPLES / "sparse-and" / "certificate.json"
COMMANDS = {
    "audit": ["audit", "li2026/lemma-B.6", "--jobs", "1"],
    "compare": ["compare", "d=8", "k=8", "X.row2inf=1", "W.l11=2", "epsilon=.5",
                "--sweep", "n=1e3:1e5:log3"],
    "construct": ["construct", "majority", "--T", "6", "--s", "2", "--coherence", "0.05"],
    "derive": ["derive", "single-head", "n=1e6", "epsilon=0.1", "--explain", "--proof"],
    "evaluate": ["evaluate", "trauger2024/lemma-3.6", "d=64", "k=64", "W.l11=1",
                 "X.row2inf=1", "epsilon=0.5"],
    "measure": ["measure", "tiny-bert"],
    "theorems": ["theorems", "--paper", "edelman2021"],
    "theorem": ["theorems", "show", "edelman2021/corollary-A.3"],
}  # fmt: skip
KINDS = {"audit": "audit", "compare": "comparison", "construct": "construction",
         "derive": "derivation", "evaluate": "evaluation", "measure": "measurement",
         "theorem": "statement", "theorems": "statements"}  # fmt: skip


@pytest.fixture(scope="module")
def printed(capsys_module) -> dict[str, dict]:
    return {name: capsys_module([*words, "--json"]) for name, words in COMMANDS.items()}


@pytest.fixture(scope="module")
def capsys_module():
    from typer.testing import CliRunner

    from dudley.cli.app import app

    def run(words: list[str]) -> dict:
        return json.loads(CliRunner().invoke(app, words).stdout)

    return run


@pytest.mark.parametrize("kind", COMMANDS)
def test_what_a_command_prints_is_a_report(kind: str, printed):
    assert printed[kind]["items"]
    made = of_json(printed[kind])
    assert made.kind == KINDS[kind]
    page, text, tables = html(made), markdown(made), latex(made)
    assert not re.search(r"<(script|img|link|iframe)[^>]*\s(src|href)=", page)
    assert not re.search(r"<!--[A-Z]+-->", page)
    assert made.title in page and "|" in text and r"\begin{tabular}" in tables


def test_a_derivation_keeps_its_numbers_and_its_proof(printed):
    """The page has every number of the proof that the text has."""
    text = markdown(of_json(printed["derive"]))
    (item,) = printed["derive"]["items"]
    assert f"{item['value']:.6g}" in text and f"{item['rademacher']:.4g}" in text
    for step in item["proof"]:
        assert step["title"] in text
        for table in step["tables"]:
            numbers = [x for row in table["rows"] for x in row if isinstance(x, float)]
            assert all(f"{x:.9g}" in text for x in numbers)
    assert all(block["block"].replace("_", "\\_") in text for block in item["explain"]["blocks"])


def test_a_certificate_says_its_number_and_what_it_cost():
    record, page = json.loads(CERTIFICATE.read_text()), html(document_of(CERTIFICATE))
    assert "at most 1.32 % errors" in page and record["value"] <= 0.0132
    assert f"{record['prices'][0]['nats']:.4g}" in page
    for text in record["declarations"]:
        assert text.replace("'", "&#x27;") in page
    assert record["model"]["sha256"][:16] in page


def test_an_experiment_shows_its_claims_and_figures():
    folder = RESULTS / "beyond-depth" / "laptop"
    made = document_of(folder)
    page = html(made)
    findings = json.loads((folder / "findings.json").read_text())
    assert all(f["verdict"] in page for f in findings) and page.count("<svg") >= 1
    assert "<?xml" not in page and "<!DOCTYPE svg" not in page


def test_numbers_of_a_report_are_rounded_up(printed):
    rows = printed["measure"]["items"][0]["rows"]
    norms = of_json(printed["measure"]).blocks[2]
    assert isinstance(norms, doc.Section)
    (table,) = norms.blocks
    assert isinstance(table, doc.Table)
    at = table.heads.index("op")
    shown = [float(row[at].text) for row in table.rows]
    assert all(s >= row["norms"]["op"] for s, row in zip(shown, rows, strict=True))


def test_every_formula_is_typeset():
    from dudley.show.as_html import mathml

    for _, statement in registry.load().items():
        for form in statement.forms.values():
            formula = mathml(form.latex)
            assert formula.startswith("<math") and "\\" not in re.sub(
                r"<annotation.*?/", "", formula
            )


HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"


def test_hostile_text_stays_text():
    record = json.loads(CERTIFICATE.read_text())
    record |= {"declarations": [HOSTILE], "advice": [HOSTILE], "method": HOSTILE}
    record["facts"] = {HOSTILE: HOSTILE}
    page = html(of_json(record))
    assert "<img" not in page and "<script>alert" not in page and page.count("</script>") == 3
    cells = doc.Table.of([HOSTILE], [[doc.Cell(HOSTILE, why=HOSTILE + '"', look=HOSTILE)]])
    chart = doc.Chart(HOSTILE, HOSTILE, (1.0, 2.0), (doc.Line(HOSTILE, (0.0, 1.0)),))
    page = html(doc.Document(HOSTILE, (cells, chart, doc.Listing(HOSTILE)), (HOSTILE,)))
    assert "<img" not in page and "<script>alert" not in page and page.count("</script>") == 3


@pytest.mark.parametrize(
    "formula",
    [
        r"\text{<script>alert(1)</script>}", r"\mbox{<img src=x onerror=alert(1)>}",
        r"\href{javascript:alert(1)}{x}", r"\text{<b onclick=alert(1)>}", r"\unknown{<i>}",
    ],
)  # fmt: skip
def test_hostile_formulas_stay_text(printed, formula: str):
    record = json.loads(json.dumps(printed["theorem"]))
    record["items"][0]["latex"] = {"printed": formula}
    page = html(of_json(record))
    assert not re.search(r"<(img|b|i|a) |<(b|i)>|<script>alert|href=", page)
    assert page.count("</script>") == 3


def test_a_number_that_is_no_share_of_errors_is_not_called_one():
    record = json.loads(CERTIFICATE.read_text())
    bits = record | {"quantity": "bits per symbol", "value": 3.24210001}
    made = of_json(bits)
    assert made.title.endswith("at most 3.243") and "%" not in made.title
    both = of_json({"kind": "certificates", "items": [bits | {"value": 1e-3}, record]})
    # of the model, though another number is smaller
    assert both.title.endswith("at most 1.32 % errors")


def test_upper_ends_are_rounded_up_and_lower_ends_down():
    record = json.loads(CERTIFICATE.read_text())
    record["baseline"]["error_at_least"] = 0.47487737
    page = html(of_json(record | {"delta": 1e-7}))
    assert "at least 47.4 %" in page and "at least 0.9999999" in page
    assert "at least 0.94999996 " in html(of_json(record | {"delta": 0.05000004}))


@each(
    "source",
    [
        [], 3, {}, {"kind": "audit"}, {"kind": "audit", "items": [{}]}, {"kind": "x", "items": []},
        {"kind": "measure", "items": []}, {"schema": "dudley.certificate/2"},
        {"schema": "dudley.certificate/2", "value": "x"},
        {"kind": "compare", "items": [{"situation": {"n": -1}, "sweep": None}]},
    ],
)  # fmt: skip
def test_what_is_no_report_is_refused(source):
    with pytest.raises(InputError):
        of_json(source)


def test_files_that_cannot_be_read_are_refused(tmp_path: Path):
    (tmp_path / "a.json").write_text("{")
    (tmp_path / "deep.json").write_text("[" * 100_000)
    (tmp_path / "twice.json").write_text('{"kind": "audit", "items": [], "kind": "audit"}')
    for name in ("a.json", "deep.json", "none.json", "twice.json"):
        with pytest.raises(InputError):
            document_of(tmp_path / name)
    with pytest.raises(InputError):
        document_of(tmp_path)  # a folder that is no experiment's


def test_a_browser_shows_formulas_charts_and_both_themes(tmp_path: Path, printed, require):
    require("chromium", shutil.which("chromium") is not None, "no chromium on PATH")
    act = """<script>
      const before = document.documentElement.dataset.theme;
      document.getElementById("theme").click();
      document.title = JSON.stringify({
        canvases: document.querySelectorAll("canvas:not(.icon)").length,
        math: [...document.querySelectorAll("math")]
          .every((m) => m.getBoundingClientRect().height > 5),
        copies: document.querySelectorAll(".copy").length,
        tables: document.querySelectorAll(".wide table").length,
        turned: document.documentElement.dataset.theme !== before,
      });
    </script></body>"""
    file = tmp_path / "page.html"
    page = html(of_json(printed["theorem"]))
    file.write_text(page.replace("</body>", act), encoding="utf-8")
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    dom = subprocess.run([*command, file.as_uri()], capture_output=True, text=True, timeout=120)
    (title,) = re.findall(r"<title>(.*?)</title>", dom.stdout)
    seen = json.loads(title.replace("&quot;", '"'))
    assert seen == {"canvases": 1, "math": True, "copies": 1, "tables": 1, "turned": True}


def test_a_row_that_begins_with_a_bracket_is_no_option_of_the_line_above():
    """``\\\\`` and ``\\midrule`` look for [ … ] or * beyond the end of their line."""
    rows = doc.Table.of(["a"], [["[9cm]"], ["*b"]])
    lines = latex(doc.Document("t", (rows,))).splitlines()
    assert not [line for line in lines if line.startswith(("[", "*"))]
    assert r"{[}9cm] \\" in lines and r"{*}b \\" in lines
