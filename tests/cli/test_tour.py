"""The tour: every step leaves facts that hold, files that verify, and a page."""

from __future__ import annotations

import inspect
import json
import re
import stat
from pathlib import Path

import pytest

from dudley.certificates import verify
from dudley.cli.commands.tour import FILES, tour

(EXAMPLE,) = re.findall(r"Example: dudley tour (.+)", inspect.getdoc(tour) or "")
QUICK = tuple(EXAMPLE.split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    from dudley.cli import main

    place = tmp_path_factory.mktemp("tour") / "report"
    with pytest.raises(SystemExit) as left:
        main(["tour", *map(str, QUICK), "--out", str(place), "--json"])
    assert left.value.code in (0, None)
    return place


def test_it_leaves_facts(folder: Path):
    facts = json.loads((folder / "tour.json").read_text(encoding="utf-8"))
    assert facts["training"]["n"] == 2000 and facts["training"]["errors"]["train"] == 0
    assert facts["norms"]["v"]["op"] > 0
    kinds = {row["kind"] for row in facts["standing"]["rows"] if row["value"] is not None}
    assert kinds == {"baseline", "certificate", "published"}
    (shown,) = facts["broken"]["counterexamples"]
    assert facts["broken"]["verdict"] == "false"
    assert shown["lower_bound"] > shown["forms"]["printed"]
    assert facts["verified"]["holds"] and facts["verified"]["forgery_caught"]


def test_its_certificate_verifies_from_its_files(folder: Path):
    assert len({stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}) == 1, (
        "who may read one of them may read them all"
    )
    told = verify.read(folder / FILES["certificate"])
    parts = verify.parts(told, folder / FILES["model"], folder / FILES["data"])
    assert verify.verify(told, *parts).holds
    assert not verify.verify(told | {"value": told["value"] / 2}, *parts).holds


def test_its_page_tells_the_story(folder: Path, dudley):
    page = (folder / FILES["page"]).read_text(encoding="utf-8")
    for words in ("The model", "Its norms", "Every bound", "broken", "Verified", "<svg", "<math"):
        assert words in page
    assert len(page) < 1_000_000 and "http-equiv" in page
    done = dudley("report", folder)  # the folder holds a certificate
    assert done.code == 0 and "norm-cover" in done.out


def test_its_page_is_verified_and_a_page_of_its_json_is_not(folder: Path, dudley, tmp_path: Path):
    page = (folder / FILES["page"]).read_text(encoding="utf-8")
    assert "<h1>Verified: from a trained head" in page and "the file claims" not in page
    facts = json.loads((folder / "tour.json").read_text(encoding="utf-8"))
    facts["certificate"]["value"] = 1e-5
    told = tmp_path / "forged.json"
    told.write_text(json.dumps({"kind": "tour", "items": [facts]}), encoding="utf-8")
    done = dudley("report", told)
    assert done.code == 0 and done.out.startswith("# Not verified: the file claims")
    assert "the file claims at most 0.001 % errors" in done.out
    facts["certificate"]["value"] = -1
    told.write_text(json.dumps({"kind": "tour", "items": [facts]}), encoding="utf-8")
    assert "value of the certificate" in dudley("report", told).refused()


@pytest.mark.parametrize("columns", [80])
def test_it_fits_the_terminal(dudley, monkeypatch, tmp_path: Path, columns: int):
    monkeypatch.setenv("COLUMNS", str(columns))
    done = dudley("tour", *QUICK, "--out", tmp_path / "report")
    assert done.code == 0
    plain = [line for line in done.out.splitlines() if str(tmp_path) not in line]
    assert not [line for line in plain if len(line) > columns]


def test_a_file_in_the_way_is_left_alone(dudley, tmp_path: Path):
    place = tmp_path / "report"
    place.write_text("mine")
    assert "a folder" in dudley("tour", *QUICK, "--out", place).refused()
    assert place.read_text() == "mine"
