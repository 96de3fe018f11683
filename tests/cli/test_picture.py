"""`dudley certify picture`: what it writes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dudley.networks.files import EXAMPLES
from shown import complaints

MODEL = str(EXAMPLES / "sparse-and" / "model.safetensors")
ONE_PAPER = ("--paper", "mwigo2026")


@pytest.mark.slow
def test_it_writes_the_figure_the_tables_and_the_numbers(dudley, tmp_path: Path):
    folder = tmp_path / "new"
    done = dudley("certify", "picture", "sparse-and", *ONE_PAPER, "--out", str(folder), "--json")
    assert (done.code, complaints(done.err)) == (0, "")
    (item,) = json.loads(done.out)["items"]
    assert item == json.loads((folder / "picture.json").read_text(encoding="utf-8"))
    names = {row["name"] for row in item["rows"]}
    assert {"norm-cover", "occam", "pac-bayes", "mwigo2026/lemma-2", "mwigo2026/lemma-1"} <= names
    assert {path.suffix for path in folder.iterdir()} == {".svg", ".png", ".md", ".json"}


def test_bad_input_is_one_line(dudley, tmp_path: Path):
    file = tmp_path / "file"
    file.write_text("")
    for args in ((MODEL,), ("sparse-and", "--out", str(file)), ("sparse-and", "--paper", "x")):
        done = dudley("certify", "picture", *args)
        assert done.code == 2 and done.out == "" and len(done.err.strip().splitlines()) == 1, args
