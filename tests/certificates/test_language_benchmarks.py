"""The runs that wait for a GPU, at a tiny scale on a processor; once made, they are not again."""

from __future__ import annotations

import gzip
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
from dudley.certificates.texts.forms import TOTALS_FORM
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
        assert row["totals_form"] == TOTALS_FORM
    before = out.read_bytes()
    scaling.main(list(map(str, command)))
    assert out.read_bytes() == before
    again = record["rows"][1] | {"seconds_of_last_call": 1e6}
    beside = again.pop("beside")
    (tmp_path / "again.json").write_text(json.dumps(record | {"rows": [again]}))
    scaling.main([*map(str, command), "--rows", str(tmp_path / "again.json")])
    first, second = json.loads(out.read_text())["rows"]
    assert first == record["rows"][0], "a row of another run stays"
    assert second == again | {"beside": beside}, "a row of the same run gives way"


def test_what_is_younger_is_known_by_its_changelog(script, tmp_path, monkeypatch):
    root, out = tmp_path / "root", tmp_path / "younger.jsonl"
    entry = "x (1) unstable; urgency=low\n\n  * It.\n\n -- A B <a@b>  {}\n\n"
    young, old = (entry.format(f"Sat, 01 {day} 2025 12:00:00 +0000") for day in ("Mar", "Feb"))
    cut = young + "# Older entries have been removed from it"
    changelogs = {"new": young, "old": young + old, "cut": cut, "copied": young, "none": ""}
    status = ""
    (root / "var/lib/dpkg/info").mkdir(parents=True)
    for name, text in changelogs.items():
        place = root / "usr/share/doc" / name
        place.mkdir(parents=True)
        (place / "changelog.Debian.gz").write_bytes(gzip.compress(text.encode()))
        files = root / f"var/lib/dpkg/info/{name}.list"
        files.write_text(f"/usr/share/doc/{name}/changelog.Debian.gz\n")
        status += f"Package: {name}\nVersion: 1\nStatus: install ok installed\n\n"
    (root / "var/lib/dpkg/status").write_text(status)
    texts = {name: f"a {name} dog\n that ran\n .\n off" for name in changelogs}
    texts["copied"] = texts["old"]
    written = (f"Package: {name}\nDescription-en: {text}\n" for name, text in texts.items())
    (tmp_path / "texts.txt").write_text("\n".join(written))
    command = ["--root", root, "--descriptions", tmp_path / "texts.txt", "--since", "2025-03-01"]
    monkeypatch.setattr(sys, "argv", ["younger", *map(str, command), "--out", str(out)])
    script("debian_younger").main()
    (line,) = map(json.loads, out.read_text().splitlines())
    assert line["text"] == "a new dog that ran off" and line["first"] == "2025-03-01"
    assert json.loads(out.with_suffix(".json").read_text())["text of another package"] == 1


@pytest.mark.slow
def test_a_start_is_trained_further(script, tmp_path, require):
    for name in ("transformers", "tokenizers"):
        require(name, find_spec(name) is not None, "pip install '.[hf]'")
    rng = np.random.default_rng(0)
    lines = [f"a {rng.integers(1e9)} dog that ran and it end" for _ in range(60)]
    texts = tmp_path / "younger.jsonl"
    texts.write_text("".join(json.dumps({"text": line}) + "\n" for line in lines))
    start = script("language_start")
    assert start.texts_before_end(texts, " end") == []
    (tmp_path / "m.gguf").write_bytes(llama_file())
    out = tmp_path / "record.json"
    command = ["--gguf", tmp_path / "m.gguf", "--texts", texts]
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
    out, reviews = tmp_path / "record.json", script("one_pass_pools")
    command = [str(tmp_path), "--task", "imdb", "--n", "150", "--seed", "3"]
    command += ["--device", "cpu", "--out", str(out)]
    reviews.main(command)
    (row,) = json.loads(out.read_text())["rows"]
    assert (row["n"], row["counted"], row["hold_out"]["held_out"]) == (150, 75, 30)
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
