"""Counterexamples whose refutation is a theorem: it is in the sources, and Coq accepts it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dudley.show.as_text import text
from dudley.show.counterexamples import against
from dudley.show.generated.erratum import entry
from dudley.show.markdown import prose
from dudley.show.pages.statement import counterexample, summary
from dudley.theorems.registry import load
from dudley.theorems.witness.base import WITNESSES
from each import each

PROOF = Path(__file__).resolve().parents[3] / "proof"
STATEMENTS = load()
FORMAL = [(w, id) for _, w in sorted(WITNESSES.items()) for id in w.formal if id in w.refutes]
THEOREMS = sorted({(w.formal[id].file, w.formal[id].theorem) for w, id in FORMAL})
REQUIRED = re.compile(r"^From dudley Require Import ([^.]+)\.", re.MULTILINE)


def needed(name: str) -> list[str]:
    """A source and what it requires, each after its own requirements."""
    source = (PROOF / f"{name}.v").read_text(encoding="utf-8")
    before = [
        n for line in REQUIRED.findall(source) for other in line.split() for n in needed(other)
    ]
    return list(dict.fromkeys((*before, name)))


def compiled(name: str, folder: Path) -> str:
    """What Coq prints as it compiles a source."""
    command = ["coqc", "-Q", ".", "dudley", "-w", "none", f"{name}.v"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, f"{name}.v: {done.stderr}"
    return done.stdout


def test_label_noise_and_the_wrong_side_are_theorems():
    assert {id for _, id in FORMAL} == {
        "li2026/theorem-4.4",
        "li2026/theorem-4.7",
        "li2026/theorem-4.11",
        "trauger2024/lemma-3.4",
        "trauger2024/lemma-3.5",
    }


@each("file, theorem", THEOREMS)
def test_the_sources_state_it(file: str, theorem: str):
    assert re.search(rf"^Theorem {theorem}\b", (PROOF / file).read_text(encoding="utf-8"), re.M)


@each("witness, id", FORMAL)
def test_every_page_of_the_statement_names_it(witness, id: str):
    (shown,) = (c for c in against(id) if type(c.witness) is witness)
    proof = witness.formal[id]
    file, theorem, says = f"proof/{proof.file}", proof.theorem, proof.says
    record = shown.to_json()
    assert record["formal"] == {"file": file, "theorem": theorem, "says": says}
    named = f"hecked by the Coq kernel: {file}, theorem {theorem} ({says})"
    assert named in " ".join(text(summary(STATEMENTS[id], [shown])).split())
    assert named in repr(counterexample(record))
    link = f"Checked by the Coq kernel: [{file}]({file}), theorem `{theorem}` ({prose(says)})."
    assert link in entry(STATEMENTS[id])


def test_where_there_is_none_nothing_is_said():
    (slip,) = against("trauger2024/lemma-3.1")
    assert slip.to_json()["formal"] is None
    assert "Coq" not in entry(slip.statement) + text(summary(slip.statement, [slip]))
    (coin,) = (c for c in against("li2026/corollary-4.5") if c.name == "label-noise")
    assert coin.formal is None


@pytest.mark.slow
@each("file, theorem", THEOREMS)
def test_coq_accepts_it_without_an_axiom(file: str, theorem: str, require, tmp_path: Path):
    require("coq", shutil.which("coqc") is not None, "no coqc on PATH")
    name = Path(file).stem
    question = f"From dudley Require {name}.\nPrint Assumptions {name}.{theorem}.\n"
    (tmp_path / "Question.v").write_text(question, encoding="utf-8")
    for source in needed(name):
        shutil.copy(PROOF / f"{source}.v", tmp_path)
        compiled(source, tmp_path)
    assert compiled("Question", tmp_path).strip() == "Closed under the global context"
