"""`make proof`: what is no proof is seen, and without Coq it says how to get it."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "scripts" / "check_proofs.py"


def load():
    spec = importlib.util.spec_from_file_location("check_proofs", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


check_proofs = load()


def test_what_is_no_proof_is_seen():
    for command in ("Admitted.", "admit.", "Axiom a : False.", "Parameter x : nat."):
        text = f"Theorem t : True.\nProof.\n{command}\n"
        assert check_proofs.unproved(text) == [command.split()[0].rstrip(".")]
    assert check_proofs.unproved("(* no Axiom, nothing Admitted *)\nVariable x : nat.\n") == []


def test_the_committed_sources_prove_what_they_state():
    sources = {path.stem: path for path in (ROOT / "proof").glob("*.v")}
    assert set(check_proofs.listed()) == set(sources) and len(sources) >= 9
    for path in sources.values():
        assert check_proofs.unproved(path.read_text(encoding="utf-8")) == []


def test_assumptions_but_coqs_own_numbers_are_refused():
    closed = "Closed under the global context\n"
    reals = "Axioms:\nClassicalDedekindReals.sig_forall_dec\n  : forall P : nat -> Prop, True\n"
    assert check_proofs.assumed(closed + reals) == []
    assert check_proofs.assumed(closed + "Axioms:\ncheat : False\n") == ["cheat : False"]
    assert check_proofs.assumed("Axioms:\nclassic : forall P : Prop, P \\/ ~ P\n") != []


def test_theorems_and_lemmas_are_asked_about():
    text = (
        "Lemma a x : x = x.\nTheorem b (n : nat) : n = n.\nDefinition c := 1.\nCorollary d: True.\n"
    )
    assert check_proofs.STATED.findall(text) == ["a", "b", "d"]


def test_without_coq_it_says_how_to_get_it(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, str(SCRIPT)], env={"PATH": str(tmp_path)}, capture_output=True, text=True
    )
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and "apt-get install coq" in done.stderr
