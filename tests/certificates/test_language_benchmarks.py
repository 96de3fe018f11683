"""The runs that wait for a GPU, at a tiny scale on a processor; once made, they are not again."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from certificates.test_texts import sentences
from certificates.test_trainings import bert
from weights.test_readers_gguf import llama_file

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks/certificates"


@pytest.fixture
def script(monkeypatch) -> Callable[[str], ModuleType]:
    """A benchmark as a module."""

    def load(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        return module

    return load


def test_a_run_over_units_of_a_file_is_made_once(script, tmp_path):
    texts, out = tmp_path / "units.jsonl", tmp_path / "record.json"
    lines = {b" ".join(sentences(4, seed)) for seed in range(40)}
    texts.write_text("".join(json.dumps({"text": line.decode()}) + "\n" for line in lines))
    scaling = script("language_scaling")
    command = ["--sample", "packages", "--texts", texts, "--size", "5m", "--units", 0]
    command += ["--units", 30, "--longest", 96, "--shortest", 20, "--device", "cpu"]
    command += ["--work", tmp_path / "work"]
    command += ["--out", out, *("--set=d=8", "--set=layers=1", "--set=context=32")]
    scaling.main(list(map(str, command)))
    record = json.loads(out.read_text())
    assert [row["run"]["units"] for row in record["rows"]] == [0, 30]
    for row in record["rows"]:
        assert row["forms"]["totals"]["value"] >= row["forms"]["totals"]["mean_loss"]
        assert "source package that had not come before" in row["forms"]["mean"]["quantity"]
        assert row["expected"]["below_xz"] in (True, False)
    before = out.read_bytes()
    scaling.main(list(map(str, command)))
    assert out.read_bytes() == before


AVAIL = "Package: {}\nVersion: 1\nDescription: {}\n and {}\n .\n end\nTag: x\n"


@pytest.mark.slow
def test_a_start_is_trained_further_on_what_is_younger(script, tmp_path, require):
    for name in ("transformers", "tokenizers"):
        require(name, find_spec(name) is not None, "pip install '.[hf]'")
    rng = np.random.default_rng(0)
    old = [(f"old{i}", f"a {rng.integers(1e9)} cat", "it") for i in range(5)]
    new = [(f"new{i}", f"a {rng.integers(1e9)} dog that ran", "it") for i in range(60)]
    new.append(("copied", *old[0][1:]))
    before, after = tmp_path / "before.txt", tmp_path / "after.txt"
    before.write_text("\n".join(AVAIL.format(*each) for each in old))
    after.write_text("\n".join(AVAIL.format(*each) for each in old + new))
    start = script("language_start")
    younger = start.younger(before, after)
    assert len(younger) == 60 and all(" dog that ran and it end" in text for text in younger)
    (tmp_path / "m.gguf").write_bytes(llama_file())
    out = tmp_path / "record.json"
    command = ["--gguf", tmp_path / "m.gguf", "--before", before, "--after", after]
    command += ["--device", "cpu", "--longest", 64, "--work", tmp_path / "work", "--out", out]
    start.main(list(map(str, command)))
    rows = json.loads(out.read_text())["rows"]
    assert [row["start"] for row in rows] == ["weights", "random"]
    assert rows[0]["model"]["start"] == "its weights" and rows[1]["model"]["start"] != "its weights"
    before_again = out.read_bytes()
    start.main(list(map(str, command)))
    assert out.read_bytes() == before_again


@pytest.mark.slow
def test_a_pass_over_reviews_stands_beside_its_hold_out(script, tmp_path, require):
    require("transformers", find_spec("transformers") is not None, "pip install '.[hf]'")
    rng = np.random.default_rng(0)
    X = rng.integers(1, 30, (200, 8)).astype(np.uint16)
    np.savez(tmp_path / "imdb.npz", X=X, y=(X[:, 0] > 15) * 1)
    bert(tmp_path / "minilm")
    out, reviews = tmp_path / "record.json", script("one_pass_reviews")
    command = [str(tmp_path), "--n", "150", "--seed", "3", "--device", "cpu", "--out", str(out)]
    reviews.main(command)
    (row,) = json.loads(out.read_text())["rows"]
    assert (row["n"], row["counted"], row["hold_out"]["held_out"]) == (150, 120, 30)
    assert "had not come before" in row["quantity"]
    assert row["within_margin"] == (row["value"] <= row["hold_out"]["value"] + 0.01)
    before = out.read_bytes()
    reviews.main(command)
    assert out.read_bytes() == before


@pytest.mark.parametrize("sample", ["reviews", "packages"])
def test_a_plan_names_sizes_that_there_are(script, sample):
    scaling = script("language_scaling")
    assert {run.size for run in scaling.PLAN[sample]} <= set(scaling.SIZES)
    assert len(set(scaling.PLAN[sample])) == len(scaling.PLAN[sample])
