"""Experiments: committed results, figures, and the runs of this machine."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dudley.lab.experiment import EXPERIMENTS
from dudley.lab.grid.batch import Batch, Cost
from dudley.lab.grid.trial import Trial, TrialGrid
from dudley.lab.pages.results import committed, committed_folder
from dudley.lab.store.store import Store
from dudley.web.app import create_app
from dudley.web.check import ask
from dudley.web.safety import Settings

NAME, SCALE = "edelman2021-parity", "laptop"
PLACE = f"{NAME}/{SCALE}"


def test_every_experiment_is_listed_with_its_verdicts(fetch):
    answer = fetch("/api/experiments").json()["experiments"]
    assert {entry["name"] for entry in answer} == set(EXPERIMENTS)
    (entry,) = [entry for entry in answer if entry["name"] == NAME]
    assert set(entry["scales"]) == set(committed(NAME))


def test_a_page_has_findings_and_figures(fetch):
    answer = fetch(f"/api/experiments/committed/{PLACE}").json()
    for finding in committed(NAME)[SCALE].findings:
        assert finding.verdict in answer["html"]
    assert answer["figures"]
    for figure in answer["figures"]:
        drawn = fetch(figure["address"])
        assert drawn.headers["content-type"] == "image/svg+xml" and b"<svg" in drawn.body
        assert "default-src 'none'" in drawn.headers["content-security-policy"]
        assert "script" not in drawn.headers["content-security-policy"]


@pytest.mark.parametrize(
    "place",
    ["committed/nobody/laptop", f"committed/{NAME}/huge", "committed/../laptop", "runs/../results",
     f"runs/{PLACE}", "committed/%2e%2e/laptop"],
)  # fmt: skip
def test_what_is_not_listed_is_not_found(fetch, place: str):
    assert fetch(f"/api/experiments/{place}").status == 404


def test_an_unknown_source_or_figure_is_refused(fetch):
    assert fetch("/api/experiments/elsewhere/x").status == 400
    assert fetch(f"/api/figures/committed/{PLACE}/nobody.svg").status == 404


def test_runs_are_listed_with_their_state(tmp_path: Path):
    shutil.copytree(committed_folder() / NAME / SCALE, tmp_path / NAME / SCALE)
    trials = [Trial({"a": i}, i) for i in range(3)]
    batches = [Batch(0, tuple(trials[:2]), Cost(1, 1.0)), Batch(1, (trials[2],), Cost(1, 1.0))]
    Store.prepare(tmp_path / "begun", TrialGrid(trials, "a grid", 0), batches, False).close()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "store.sqlite").write_bytes(b"")
    app = create_app(Settings(runs=tmp_path))
    runs = {one["place"]: one for one in ask(app, "/api/experiments").json()["runs"]}
    assert set(runs) == {PLACE, "begun", "broken"}
    assert runs[PLACE]["state"] == "finished"
    assert runs["begun"]["state"] == "not finished"
    assert runs["begun"]["found"] == "0 of 3 trials done"
    assert runs["broken"]["state"] == "unreadable"
    answer = ask(app, f"/api/experiments/runs/{PLACE}").json()
    assert answer["figures"] and NAME in answer["title"]
    assert ask(app, answer["figures"][0]["address"]).status == 200
