"""A document as a LaTeX article: it is balanced, nothing in it is raw, and pdflatex takes it."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache

import pytest

import dudley as du
from dudley.networks import files
from dudley.show import document as doc
from dudley.show.as_article import article
from each import each

STRANGER = "日本 \\input{/etc/passwd} 50% of_a #1 & $x$ {~^} ‑ 🙂 ﬁ"
ALL_KINDS = doc.Document(
    STRANGER,
    (
        doc.Prose(f"``code_a`` {STRANGER}"),
        doc.Notice(STRANGER, "no"),
        doc.Formula(r"\frac{a}{b}\le\|x\|"),
        doc.Formula(r"\input{/etc/passwd}"),
        doc.Listing(f"a\n  {STRANGER}\n\n"),
        doc.Points((STRANGER, "[x]")),
        doc.Properties(((STRANGER, STRANGER),)),
        doc.Table.of(["[a]", STRANGER], [["[b]", doc.Cell("1e-5", 1e-5)], ["*", STRANGER]]),
        doc.Table.of(["", "n"], [[str(i), doc.Cell(str(i), i)] for i in range(60)]),
        doc.Chart("n", "", (1.0, 2.0), (doc.Line("a_b", (0.5, None)),)),
        doc.Picture("<svg></svg>", "alt"),
        doc.Section(STRANGER, (doc.Folded("", (doc.Prose("x"),)), doc.Table.of(["a"], []))),
    ),
    lead=(STRANGER,),
    made="dudley",
)


@cache
def latex(case: str) -> str:
    if case == "every block":
        return article(ALL_KINDS)
    described = files.load(case)
    cap = du.capacity(described.network, described.inputs, 1e8, described.loss)
    return cap.prove(0.05).latex()


CASES = ["every block", "single-head", "trauger2024-head", "vit-b"]


@each("case", CASES)
def test_environments_and_braces_close(case):
    open_, text = [], latex(case)
    for verb, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        if verb == "begin":
            open_.append(name)
        else:
            assert open_.pop() == name
    assert not open_
    bare = re.sub(r"\\\\|\\[{}]", "", text)
    assert bare.count("{") == bare.count("}")


@each("case", CASES)
def test_no_sign_of_a_text_reaches_tex(case):
    """Rows have as many cells as columns, texts are escaped, and every sign is known."""
    text = latex(case)
    preamble, body = text.split("\\begin{document}")
    assert "\\input{" not in body and "\\documentclass" not in body
    assert not re.search(r"(?<!\\)[%#~]", body)
    known = {chr(int(code, 16)) for code in re.findall(r"Character\{(\w+)\}", preamble)}
    assert all(ord(sign) < 0x100 or sign in known for sign in body)
    tables = re.findall(
        r"\\begin\{(?:tabular|longtable)\}(?:\[l\])?\{([lr]+(?:p\{\S+\})?)\}\n(.*?)\\end\{",
        body,
        re.S,
    )
    assert tables
    for columns, inside in tables:
        for row in re.findall(r"^(.*) \\\\$", inside, re.M):
            assert len(re.split(r"(?<!\\)&", row)) == len(re.sub(r"\{.*\}", "", columns))


@pytest.fixture
def compiler(require) -> str:
    path = shutil.which("pdflatex")
    require("pdflatex", path is not None, "no pdflatex on PATH")
    assert path is not None
    return path


@each("case", CASES)
def test_pdflatex_compiles_it(compiler, tmp_path, case):
    (tmp_path / "proof.tex").write_text(latex(case), encoding="utf-8")
    command = [compiler, "-halt-on-error", "-interaction=nonstopmode", "-draftmode", "proof.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]


def test_the_check_of_pdflatex_can_fail(compiler, tmp_path):
    (tmp_path / "bad.tex").write_text(
        latex("single-head").replace("\\bottomrule", "\\bottomrul", 1)
    )
    command = [compiler, "-halt-on-error", "-interaction=nonstopmode", "bad.tex"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60).returncode != 0


def test_what_is_no_block_is_refused():
    with pytest.raises(TypeError):
        article(doc.Document("", ("text",)))  # type: ignore[arg-type]
