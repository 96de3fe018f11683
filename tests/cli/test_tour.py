"""The tour: every step leaves facts that hold, files that verify, and a page."""

from __future__ import annotations

import inspect
import io
import json
import re
import stat
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from dudley.certificates import verify
from dudley.cli import main
from dudley.cli.commands import tour as commands
from dudley.cli.commands.tour import FILES
from dudley.theorems import registry

(EXAMPLE,) = re.findall(r"Example: dudley tour (.+)", inspect.getdoc(commands.tour) or "")
QUICK = tuple(EXAMPLE.split())


@dataclass(frozen=True)
class Left:
    """What one tour leaves: its folder, its lines on a terminal of 80 columns, its JSON."""

    folder: Path
    screen: str
    document: dict


@pytest.fixture(scope="module")
def left(tmp_path_factory) -> Left:
    """One tour; `--json` goes over the steps of the same story again, which have been taken."""
    folder = tmp_path_factory.mktemp("tour") / "report"
    words = ["tour", *QUICK, "--out", str(folder)]
    every_step = commands.Story.steps.fget
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "80")
        patch.setattr(commands, "Story", cache(story := commands.Story))
        screen = stdout_of(words)
        taken = property(lambda self: [(title, list) for title, _ in every_step(self)])
        patch.setattr(story, "steps", taken)
        document = json.loads(stdout_of([*words, "--json"]), parse_constant=pytest.fail)
    return Left(folder, screen, document)


def stdout_of(words: list[str]) -> str:
    screen = io.StringIO()
    with redirect_stdout(screen), pytest.raises(SystemExit) as leaving:
        main(words)
    assert leaving.value.code in (0, None)
    return screen.getvalue()


@pytest.fixture
def folder(left: Left) -> Path:
    return left.folder


def test_its_json_has_the_facts_of_the_folder(left: Left):
    facts = json.loads((left.folder / "tour.json").read_text(encoding="utf-8"))
    (item,) = left.document["items"]
    assert left.document["kind"] == "tour"
    assert item.pop("seconds") >= 0 and item == facts


def test_it_leaves_facts(folder: Path):
    facts = json.loads((folder / "tour.json").read_text(encoding="utf-8"))
    assert facts["training"]["n"] == 2000 and facts["training"]["errors"]["train"] == 0
    assert facts["norms"]["v"]["op"] > 0
    kinds = {row["kind"] for row in facts["standing"]["rows"] if row["value"] is not None}
    assert kinds == {"baseline", "certificate", "published"}
    (shown,) = facts["broken"]["counterexamples"]
    verdict = facts["broken"]["verdict"]
    assert verdict["as_printed"] == "false" and verdict["examined"]
    assert shown["lower_bound"] > shown["forms"]["printed"]
    assert facts["verified"]["holds"] and facts["verified"]["forgery_caught"]


def test_its_certificate_verifies_from_its_files(folder: Path):
    assert len({stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}) == 1, (
        "who may read one of them may read them all"
    )
    record = verify.read(folder / FILES["certificate"])
    parts = verify.parts(record, folder / FILES["model"], folder / FILES["data"])
    assert verify.verify(record, *parts).holds
    assert not verify.verify(record | {"value": record["value"] / 2}, *parts).holds


def test_its_page_tells_the_story(folder: Path, dudley):
    page = (folder / FILES["page"]).read_text(encoding="utf-8")
    assert registry.PAPERS["trauger2024"].version in page
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
    forged = tmp_path / "forged.json"
    forged.write_text(json.dumps({"kind": "tour", "items": [facts]}), encoding="utf-8")
    done = dudley("report", forged)
    assert done.code == 0 and done.out.startswith("# Not verified: the file claims")
    assert "the file claims at most 0.001 % errors" in done.out
    facts["certificate"]["value"] = -1
    forged.write_text(json.dumps({"kind": "tour", "items": [facts]}), encoding="utf-8")
    assert "value of the certificate" in dudley("report", forged).refused()


def test_it_fits_the_terminal(left: Left):
    plain = [line for line in left.screen.splitlines() if str(left.folder.parent) not in line]
    assert len(plain) > 20 and not [line for line in plain if len(line) > 80]


def test_a_file_in_the_way_is_left_alone(dudley, tmp_path: Path):
    taken = tmp_path / "report"
    taken.write_text("mine")
    assert "a folder" in dudley("tour", *QUICK, "--out", taken).refused()
    assert taken.read_text() == "mine"
