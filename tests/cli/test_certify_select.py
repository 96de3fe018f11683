"""The command that chooses one of a list: chosen, written, verified and refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dudley.certificates.methods.selection.candidates import CandidateFactor, CandidateList

GRID = tuple(f"{t:g}" for t in np.linspace(-1, 2, 13))


@pytest.fixture
def words(tmp_path):
    """The command on 250 examples with three scores each."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 250)
    scores = y[:, None] + rng.standard_normal((250, 3)) * [0.4, 1, 2]
    factors = CandidateFactor("template", ("a", "b", "c")), CandidateFactor("cut", GRID)
    CandidateList(factors).save(tmp_path / "list.json")
    np.savez(tmp_path / "data.npz", y=y, scores=scores)
    np.savez(tmp_path / "narrow.npz", y=y, scores=scores[:, :2])
    return "certify", "select", tmp_path / "data.npz", "--candidates", tmp_path / "list.json"


def test_it_chooses_writes_and_is_verified(dudley, words, tmp_path):
    done = dudley(*words, "--out", tmp_path / "out")
    assert done.code == 0 and "chosen" in done.out, done.err
    assert {file.name for file in (tmp_path / "out").iterdir()} == {
        "candidates.json",
        "outcomes.npz",
        "certificate.json",
    }
    assert dudley("verify", tmp_path / "out").code == 0
    item = dudley(*words, "--json").json()["items"][0]
    written = json.loads((tmp_path / "out" / "certificate.json").read_text(encoding="utf-8"))
    assert item["value"] == written["value"] and item["facts"]["chosen"]["template"] == "a"


def test_a_hold_out_stands_beside_with_the_price_of_a_choice(dudley, words):
    said = " ".join(dudley(*words).out.split())
    assert "beside it, hold-out: at most" in said and "examples held out" in said
    assert "chosen among two" in said and "(--declare selection.among, now 1)" in said
    paid = " ".join(dudley(*words, "--declare", "selection.among=2").out.split())
    assert "(--declare selection.among, now 2)" in paid


def test_a_label_that_was_changed_is_seen(dudley, words, tmp_path):
    dudley(*words, "--out", tmp_path / "out")
    with np.load(tmp_path / "out" / "outcomes.npz") as file:
        arrays = dict(file)
    arrays["y"][0] = 1 - arrays["y"][0]
    np.savez(tmp_path / "out" / "outcomes.npz", **arrays)
    done = dudley("verify", tmp_path / "out")
    assert done.code == 1 and "data.sha256" in done.out


def test_bad_input_is_one_line_and_writes_nothing(dudley, words, tmp_path):
    narrow = (*words[:2], tmp_path / "narrow.npz", *words[3:])
    for line, expected in (
        ((*narrow, "--out", tmp_path / "none"), "3 columns"),
        ((*words[:4], tmp_path / "data.npz"), "data.npz"),
        ((*words[:2], tmp_path / "list.json", *words[3:]), "a file .npz"),
        ((*words, "--declare", "occam.seed=3"), "selection.name=value"),
        ((*words, "--out", tmp_path / "list.json"), "a folder"),
    ):
        assert expected in dudley(*line).refused()
    assert not (tmp_path / "none").exists()
