"""`dudley report`: verifies where it can, says where it did not; exit code 1 where it fails."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import dudley as du
from dudley.networks.files import EXAMPLES

EXAMPLE = EXAMPLES / "sparse-and"
FILES = ("--model", EXAMPLE / "model.safetensors", "--data", EXAMPLE / "train.npz")


@pytest.fixture
def forged(tmp_path: Path) -> Path:
    """The shipped certificate with a smaller number."""
    record = json.loads((EXAMPLE / "certificate.json").read_text(encoding="utf-8"))
    path = tmp_path / "forged.json"
    path.write_text(json.dumps(record | {"value": 1e-5}), encoding="utf-8")
    return path


def test_a_forged_file_alone_is_not_verified(dudley, forged: Path, tmp_path: Path):
    done = dudley("report", forged, "--out", tmp_path / "page.html")
    assert done.code == 0
    assert done.out.startswith("Not verified: the file claims at most 0.001 % errors")
    (item,) = dudley("report", forged, "--json").json()["items"]
    assert item["holds"] is None and item["title"].startswith("Not verified")


@pytest.mark.parametrize("ending", [".html", ".md", ".tex"])
def test_a_forged_file_beside_its_model_and_data_does_not_hold(
    dudley, forged: Path, tmp_path: Path, ending: str
):
    file = tmp_path / f"page{ending}"
    done = dudley("report", forged, *FILES, "--out", file)
    assert done.code == 1 and done.out.startswith("Does not hold")
    assert "the file says 1e-05" in file.read_text(encoding="utf-8")
    (item,) = dudley("report", forged, *FILES, "--json").json()["items"]
    assert item["holds"] is False and "value" in item["differences"][0]


def test_a_folder_is_verified_before_its_page_is_written(dudley, forged: Path, tmp_path: Path):
    (item,) = dudley("report", "sparse-and", "--json").json()["items"]
    assert item["holds"] is True and item["recomputed"] > 20
    assert item["title"] == "Verified: at most 1.32 % errors"
    folder = tmp_path / "folder"
    shutil.copytree(EXAMPLE, folder)
    shutil.copy(forged, folder / "certificate.json")
    assert dudley("report", folder).code == 1
    (folder / "train.npz").unlink()
    done = dudley("report", folder)
    assert done.code == 0 and done.out.startswith("# Not verified")


def test_a_page_lists_only_what_was_declared(dudley):
    page = dudley("report", "sparse-and").out
    assert "**seed**: " in page and "**population**" not in page and "None" not in page


def test_other_data_are_named_before_the_numbers_that_they_change(dudley, tmp_path: Path):
    with np.load(EXAMPLE / "train.npz") as train:
        np.savez(tmp_path / "half.npz", X=train["X"][:1000], y=train["y"][:1000])
    options = ("--model", EXAMPLE / "model.safetensors", "--data", tmp_path / "half.npz")
    done = dudley("verify", EXAMPLE / "certificate.json", *options)
    assert done.code == 1 and "✗ data.sha256" in done.out.splitlines()[1]


def test_files_of_a_certificate_that_the_command_printed(dudley, tmp_path: Path):
    printed = tmp_path / "printed.json"
    printed.write_text(dudley("certify", "model", "sparse-and", "--method", "occam", "--json").out)
    assert dudley("report", printed).out.startswith("# Not verified")
    assert dudley("report", printed, *FILES).out.startswith("# Verified: at most 1.32 % errors")


def test_it_is_refused(dudley, forged: Path, tmp_path: Path):
    assert "one of them" in dudley("report", forged, *FILES[:2]).refused()
    dudley("report", forged, "--model", tmp_path / "no", "--data", FILES[3]).refused()
    audit = tmp_path / "audit.json"
    audit.write_text(json.dumps({"kind": "audit", "items": []}))
    assert "one certificate" in dudley("report", audit, *FILES).refused()
    record = json.loads(forged.read_text())
    forged.write_text(json.dumps(record | {"value": -1}))
    file = tmp_path / "page.html"
    for files in ((), FILES):
        line = dudley("report", forged, *files, "--out", file).refused()
        assert "value of the certificate" in line and not file.exists()


@pytest.mark.parametrize("fact", [{"slices": ["x"]}, {"rows": 2e-307}])
def test_answers_that_no_page_can_show_are_refused(dudley, tmp_path: Path, fact):
    table = tmp_path / "outcomes.csv"
    rows = [f"{int(i % 9 > 0)},{i / 100},{'ab'[i % 2]}" for i in range(100)]
    table.write_text("\n".join(["correct,score,site", *rows]), encoding="utf-8")
    record = du.outcomes(table, groups=["site"], answered_below=0.3).to_json()
    forged, page = tmp_path / "forged.json", tmp_path / "page.html"
    forged.write_text(json.dumps(record | {"facts": record["facts"] | fact}), encoding="utf-8")
    for files in ((), ("--data", table)):
        line = dudley("report", forged, *files, "--out", page).refused()
        assert "with all that a report shows" in line and not page.exists()
