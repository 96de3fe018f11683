"""`dudley lab`: lists, runs, keeps what is finished, draws; refuses in one line."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from dudley.lab.experiment import EXPERIMENTS, Finding
from dudley.lab.finding import SMOKE
from dudley.lab.pages.run import finished
from dudley.show.as_text import text
from lab_toy import Toy
from shown import complaints


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to run in, and the toy among the experiments."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(EXPERIMENTS._units, Toy.name, Toy())
    return tmp_path


def test_the_list_has_every_experiment_and_its_verdicts(dudley, folder: Path):
    assert (
        dudley("lab", "run", "toy-line", "--scale", "smoke", "--out", "r/toy-line/smoke").code == 0
    )
    done = dudley("lab", "list", "--results", "r")
    assert "toy-line  (nobody 2000, figure 1)" in done.out and done.err == ""
    words = " ".join(done.out.split())
    assert f"smoke: the paper's claims: 1 {SMOKE}; our hypotheses: 1 {SMOKE}" in words
    items = dudley("lab", "list", "--results", "r", "--json").json()["items"]
    assert {item["id"] for item in items} == set(EXPERIMENTS)
    (toy,) = [item for item in items if item["id"] == "toy-line"]
    assert toy["results"] == {"smoke": [SMOKE, SMOKE]}


def test_a_run_says_what_was_found_and_where_it_is(dudley, folder: Path):
    done = dudley("lab", "run", "toy-line", "--scale", "smoke")
    assert done.code == 0 and done.err == ""
    assert SMOKE in done.out and "the slope is" in done.out
    assert "Readings of: y grows with x" in done.out and "slope above 1" in done.out
    results = Path("dudley-lab") / "toy-line" / "smoke"
    assert f"files: {results}" in done.out
    assert {path.name for path in results.iterdir()} == {
        "line.parquet", "findings.json", "provenance.json"
    }  # fmt: skip
    assert json.loads((results / "provenance.json").read_text())["command"][:2] == ["lab", "run"]


def test_findings_with_long_claims_fit_a_narrow_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    claim, data = "a claim of many words " * 6, "not enough data " * 9
    findings = [Finding.of_hypothesis(claim, "undecided", data)]
    lines = text(finished("toy-line, smoke", findings, Path("run"), "draw")).splitlines()
    assert len(lines) > 6 and max(map(len, lines)) <= 60


def test_a_run_in_json_has_null_for_what_is_not_finite(dudley):
    document = dudley("lab", "run", "toy-line", "--scale", "smoke", "--json").json()
    assert document["kind"] == "findings" and len(document["items"]) == 2
    first, second = document["items"]
    assert first["verdict"] == SMOKE and first["fresh"] and first["scale"] == "smoke"
    assert [reading["outcome"] for reading in first["readings"]] == ["holds", "holds"]
    assert second["numbers"] == {"far": None}


def test_finished_results_stay_unless_asked(dudley, folder: Path):
    command = ("lab", "run", "toy-line", "--scale", "smoke", "--out", "here")
    dudley(*command)
    record = folder / "here" / "provenance.json"
    before = record.read_text()
    done = dudley(*command)
    assert done.code == 0 and "--again runs it anew" in done.out and record.read_text() == before
    assert not dudley(*command, "--json").json()["items"][0]["fresh"]
    done = dudley(*command, "--again")
    assert "finished before" not in done.out and record.read_text() != before


def test_results_are_not_lost_before_there_are_new_ones(dudley, folder: Path, monkeypatch):
    command = ("lab", "run", "toy-line", "--scale", "smoke", "--out", "here")
    dudley(*command)
    files = {path.name: path.read_bytes() for path in (folder / "here").iterdir()}

    def refuse(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("pyarrow.parquet.write_table", refuse)
        done = dudley(*command, "--again")
    assert done.code == 2 and "the former results are in here/" in done.err
    (former,) = (folder / "here").iterdir()
    assert {path.name: path.read_bytes() for path in former.iterdir()} == files
    assert dudley(*command).code == 0 and not former.exists()


def test_a_broken_run_goes_on(dudley, folder: Path):
    command = ("lab", "run", "toy-line", "--scale", "smoke", "--out", "here")
    (folder / "here" / "store").mkdir(parents=True)
    assert "finished before" not in dudley(*command).out
    assert (folder / "here" / "store").exists()  # for status, export and diff
    dudley(*command, "--again")
    assert not (folder / "here" / "store").exists()


@pytest.mark.parametrize("store", ["here", "a.txt", "a.txt/below"])
def test_a_store_in_a_file_or_among_the_results_is_refused(dudley, folder: Path, store: str):
    (folder / "a.txt").write_text("a")
    run = ("lab", "run", "edelman2021-and", "--scale", "smoke", "--out", "here")
    done = dudley(*run, "--store", store)
    assert done.code == 2 and "expected a" in done.err and store.partition("/")[0] in done.err
    assert (folder / "a.txt").read_text() == "a" and not list((folder / "here").glob("*"))


def test_tables_of_another_run_are_not_told_as_its_own(dudley, folder: Path):
    (folder / "here").mkdir()
    (folder / "here" / "stale.parquet").write_bytes(b"")
    (folder / "here" / ".dudley-1.json").write_text("{")  # it was killed as it wrote
    assert dudley("lab", "run", "toy-line", "--scale", "smoke", "--out", "here").code == 0
    assert not (folder / "here" / "stale.parquet").exists()


def test_an_interrupt_says_how_to_go_on(dudley, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Toy, "run", interrupted)
    done = dudley("lab", "run", "toy-line", "--scale", "smoke")
    assert done.code == 130 and "the same command goes on" in done.err


def test_a_dry_run_writes_nothing(dudley, folder: Path):
    done = dudley("lab", "run", "toy-line", "--dry-run")
    assert done.code == 0 and "no training" in done.out
    assert list(folder.iterdir()) == []
    assert dudley("lab", "run", "toy-line", "--dry-run", "--json").json()["kind"] == "forecast"


def test_a_dry_run_measures_a_speed_and_tells_time_and_cost(dudley, folder: Path):
    command = ("lab", "run", "edelman2021-and", "--scale", "smoke", "--dry-run", "--price", "2")
    done = dudley(*command)
    assert "protocol      36     60        3" in done.out and "about" in done.out
    assert "at 2 an hour of a worker" in " ".join(done.out.split())
    (part,) = dudley(*command, "--workers", "2", "--json").json()["items"]
    slow, fast = part["speeds"]
    load = max(part["work"] / 2, part["longest"])
    assert 0 < slow <= fast and part["bytes"] > 0
    assert part["seconds"] == [load / fast, load / slow]
    assert part["cost"] == [2 * 2 * end / 3600 for end in part["seconds"]]
    assert list(folder.iterdir()) == []


def test_figures_are_drawn_from_a_folder_or_from_below_one(dudley, folder: Path):
    dudley("lab", "run", "toy-line", "--scale", "smoke", "--out", "r/toy-line/smoke")
    for source in ("r", "r/toy-line/smoke"):
        done = dudley("lab", "figures", "toy-line", "--results", source, "--out", f"f/{source}")
        assert done.code == 0 and "Claim: y grows with x." in done.out
        assert complaints(done.err) == ""
        names = {path.name for path in (folder / "f" / source).glob("*.*")}
        assert names == {"toy-line-smoke-finding-1.svg", "toy-line-smoke-finding-1.png"}
    done = dudley("lab", "figures", "toy-line", "--results", "r", "--json").json()
    assert done["items"][0]["files"][0] == "dudley-lab/figures/toy-line-smoke-finding-1.svg"


def test_bare_figures_have_no_words_but_those_of_the_axes(dudley, folder: Path):
    dudley("lab", "run", "toy-line", "--scale", "smoke", "--out", "r")
    for flag in ((), ("--bare",)):
        command = ("lab", "figures", "toy-line", "--results", "r", "--out", "f", *flag)
        assert dudley(*command).code == 0
        text = (folder / "f" / "toy-line-smoke-finding-1.svg").read_text()
        assert ("Claim: y grows with x." in text) is (not flag) and "<!-- y -->" in text


def test_of_bare_figures_nothing_is_printed_but_their_files(dudley):
    dudley("lab", "run", "toy-line", "--scale", "smoke", "--out", "r")
    command = ("lab", "figures", "toy-line", "--results", "r", "--out", "f", "--bare")
    files = [f"f/toy-line-smoke-finding-1.{ending}" for ending in ("svg", "png")]
    assert dudley(*command).out.splitlines() == files
    assert dudley(*command, "--json").json()["items"] == [{"id": "finding-1", "files": files}]


REFUSED = {
    "unknown experiment": (["run", "toy-lime"], "did you mean toy-line"),
    "unknown scale": (["run", "toy-line", "--scale", "huge"], "smoke | laptop | paper"),
    "unknown device": (["run", "toy-line", "--device", "abacus"], "cpu or cuda"),
    "unknown design": (["run", "toy-line", "--design", "sequential"], "expected full"),
    "no workers": (["run", "toy-line", "--workers", "0"], "--workers"),
    "the experiment's own": (["run", "toy-line", "--workers", "9"], "at most 8"),
    "figures of nothing": (["figures", "toy-line"], "dudley lab run toy-line makes some"),
    "figures of no scale": (["figures", "toy-line", "--scale", "big"], "smoke | laptop | paper"),
    "figures of no folder": (["figures", "toy-line", "--results", "gone"], "gone"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_refused(dudley, case: str):
    words, says = REFUSED[case]
    assert says in dudley("lab", *words).refused()


def test_a_folder_of_something_else_is_refused(dudley, folder: Path):
    dudley("lab", "run", "toy-line", "--scale", "smoke", "--out", "here")
    command = ("lab", "run", "toy-line", "--scale", "laptop", "--again", "--out")
    assert "toy-line, smoke" in dudley(*command, "here").refused()
    (folder / "mine").mkdir()
    (folder / "mine" / "thesis.tex").write_text("years of work")
    assert "thesis.tex" in dudley(*command, "mine").refused()
    assert "the file" in dudley(*command, "mine/thesis.tex").refused()
    assert (folder / "mine" / "thesis.tex").read_text() == "years of work"
    wrong = ("lab", "figures", "toy-line", "--scale", "paper", "--results", "here")
    assert "toy-line, smoke" in dudley(*wrong).refused()


DISK = {"full": errno.ENOSPC, "read-only": errno.EROFS, "somebody else's": errno.EACCES}


@pytest.mark.parametrize("disk", DISK)
def test_a_disk_that_takes_nothing_is_told_in_one_line(dudley, monkeypatch, disk: str):
    def refuse(self: Path, *_, **__):
        raise OSError(DISK[disk], os.strerror(DISK[disk]), str(self))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", refuse)
        line = dudley("lab", "run", "toy-line", "--scale", "smoke", "--out", "here").refused()
    assert "here: " in line and os.strerror(DISK[disk]) in line and "place" in line
    assert dudley("lab", "run", "toy-line", "--scale", "smoke", "--out", "here").code == 0
    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", refuse)
        line = dudley("lab", "figures", "toy-line", "--results", "here", "--out", "new").refused()
    assert "new: " in line


def test_a_record_that_finds_no_room_is_told_and_not_half_written(dudley, folder, monkeypatch):
    whole = Path.write_text

    def refuse(self: Path, *args, **more):
        if self.suffix == ".json":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return whole(self, *args, **more)

    monkeypatch.setattr(Path, "write_text", refuse)
    line = dudley("lab", "run", "toy-line", "--scale", "smoke", "--out", "here").refused()
    assert "No space left" in line and "make room" in line
    assert [path.name for path in (folder / "here").iterdir()] == ["line.parquet"]


def test_without_a_gpu_cuda_is_refused(dudley, monkeypatch):
    from dudley.core.backend import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    done = dudley("lab", "run", "toy-line", "--device", "cuda")
    assert "use --device cpu" in done.refused()
