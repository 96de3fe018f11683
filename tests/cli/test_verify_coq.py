"""`dudley verify --coq`: what is printed, with which exit code, and what is refused."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from dudley.certificates.kernel import check
from dudley.certificates.kernel.coq import Coq
from dudley.networks.files import EXAMPLES

SHIPPED = sorted(path.parent.name for path in EXAMPLES.glob("*/certificate.json"))


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """`answering(True)`: a kernel that says yes to everything."""

    def answer(accepted: bool) -> list:
        path, claims = tmp_path / "bin" / "coqc", []
        path.parent.mkdir()
        path.write_text("#!/bin/sh\necho 8.16.1 4.13\n", encoding="utf-8")
        path.chmod(0o755)
        monkeypatch.setenv("PATH", str(path.parent), prepend=":")
        monkeypatch.setattr(
            Coq, "accepts", lambda _, text, library: claims.append(text) or accepted
        )
        monkeypatch.setattr(check, "compiled", lambda program: tmp_path)
        return claims

    return answer


def test_three_groups(dudley, answering):
    claims = answering(True)
    done = dudley("verify", "marked-token", "--coq")
    assert done.code == 0 and len(claims) == 1
    parts = done.out.split("\n\n")
    assert parts[0].startswith("holds: ") and "0.0101691" in parts[0]
    assert parts[1].startswith("kernel-checked (Coq 8.16.1, no axioms)\n  ✓ theorem: coded_cert")
    assert "tail: P[Bin(2000, 0.0101691) ≤ 0] ≤ 1.325e-09" in parts[1]
    assert "price: δ = 1/20, code 2^-22, radius 1/9; together 1.325e-09" in parts[1]
    assert parts[2].startswith("recomputed by program\n") and "errors of the model" in parts[2]
    assert parts[3].startswith("proved in docstrings, not by the kernel\n  · no word of the code")
    assert parts[4].startswith("declared: what no one can check\n") and "delta = 0.05" in parts[4]


def test_losses_are_read_from_the_table(dudley, answering, tmp_path: Path):
    claims = answering(True)
    table, out = tmp_path / "table.csv", tmp_path / "c.json"
    table.write_text("loss\n" + "0.25\n0\n0.5\n" * 40, encoding="utf-8")
    assert dudley("certify", "outcomes", table, "--out", out).code == 0
    done = dudley("verify", out, "--data", table, "--coq")
    words = " ".join(done.out.split())
    assert done.code == 0 and "theorem: losses_certificate" in words, done.err
    assert "a model with these 120 losses has a mean loss of at most" in words
    assert f"[(0, 40); ({1 << 42}, 40); ({1 << 43}, 40)]" in claims[0]


def test_a_kernel_that_refuses(dudley, answering):
    answering(False)
    done = dudley("verify", "sparse-and", "--coq")
    assert done.code == 1
    assert "refused by the kernel (Coq 8.16.1)" in done.out and "✓" not in done.out
    assert "kernel-checked" not in done.out


def test_as_json(dudley, answering):
    answering(True)
    done = dudley("verify", "sparse-and", "--coq", "--json")
    kernel = done.json()["items"][0]["kernel"]
    assert done.code == 0 and kernel["accepted"] is True and kernel["coq"] == "8.16.1"
    assert kernel["statement"] == "coded_claim 2000 0 (4123, 312500) (1, 20) 34 []"
    assert Fraction(kernel["bound"]) == Fraction("0.0131936")
    for group in ("kernel_checked", "recomputed_by_program", "declared"):
        assert len(kernel[group]) > 2
    assert "kernel" not in dudley("verify", "sparse-and", "--json").json()["items"][0]


def test_the_kernel_is_not_asked_about_what_does_not_hold(dudley, answering, tmp_path: Path):
    claims = answering(True)
    folder = tmp_path / "tampered"
    shutil.copytree(EXAMPLES / "sparse-and", folder)
    certificate = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    certificate["value"] = 0.001
    (folder / "certificate.json").write_text(json.dumps(certificate), encoding="utf-8")
    done = dudley("verify", folder, "--coq")
    assert done.code == 1 and done.out.startswith("does not hold") and not claims
    assert "kernel" not in done.out


def test_without_coq(dudley, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "apt-get install coq" in dudley("verify", "sparse-and", "--coq").refused()


def test_a_kind_without_a_theorem(dudley, answering, tmp_path: Path):
    answering(True)
    file = json.loads((EXAMPLES / "sparse-and" / "certificate.json").read_text(encoding="utf-8"))
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(file | {"method": "pac-bayes"}), encoding="utf-8")
    words = dudley("verify", path, "--coq").refused()
    assert "norm-cover" in words and "a certificate of pac-bayes" in words


@pytest.mark.slow
def test_the_examples_with_coq_itself(dudley, require, monkeypatch, tmp_path: Path):
    require("coq", shutil.which("coqc") is not None, "no coqc on PATH")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name in SHIPPED:
        done = dudley("verify", name, "--coq")
        assert done.code == 0, done
        assert "\nkernel-checked (Coq 8." in done.out
