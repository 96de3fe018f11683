"""`dudley certify train --method pick-to-learn`: the folder, a kill, a budget, and refusals."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

SMALL = [
    "certify", "train", "and", "--method", "pick-to-learn", "--T", 6, "--s", 2, "--n", 300,
    "--seed", 0, "--set", "layers=1", "--set", "d=16", "--set", "heads=2", "--set", "hidden=16",
    "--set", "steps=[15]", "--declare", "pick-to-learn.rounds=[4]",
]  # fmt: skip
CERTIFICATE, STATE = "certificate.json", "picking.json"


def choices(folder: Path) -> dict:
    return json.loads((folder / CERTIFICATE).read_text(encoding="utf-8"))["choices"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """A folder that the command wrote, with the hold-out beside."""
    from dudley.cli import main

    folder = tmp_path_factory.mktemp("picks") / "out"
    words = [*SMALL, "--set", "initial_steps=20", "--out", folder]
    with pytest.raises(SystemExit) as done:
        main([str(word) for word in words])
    assert done.value.code == 0
    return folder


def test_the_folder_holds_all_and_is_verified_and_replayed(dudley, trained):
    names = {"beside.json", CERTIFICATE, "model.safetensors", "train.npz"}
    assert {file.name for file in trained.iterdir()} == names, "no state is left"
    record = json.loads((trained / CERTIFICATE).read_text(encoding="utf-8"))
    assert record["declared"]["learner"]["training"]["name"] == "encoder"
    assert record["declared"]["rounds"] == [4] and record["declared"]["batches"] == [3, 1]
    done = dudley("verify", trained)
    assert done.code == 0 and "trained by the declared learner" in " ".join(done.out.split())
    again = dudley("verify", trained, "--replay")
    assert again.code == 0 and "by the declared learner" not in " ".join(again.out.split())
    short = dudley("verify", trained, "--replay", "--budget", "1e-9").refused()
    assert "got an end of the 1e-09 s before it; a larger --budget" in short


def test_the_hold_out_stands_beside_with_its_learner(trained):
    beside = json.loads((trained / "beside.json").read_text(encoding="utf-8"))
    assert [split["share"] for split in beside["splits"]] == [0.1, 0.2, 0.4]
    assert beside["learner"]["training"]["initial_steps"] == 20
    words = beside["against"]
    assert "pick-to-learn" in words and "hold-out" in words and "30 examples held out" in words


def test_other_picks_or_another_learner_do_not_replay(dudley, trained, tmp_path):
    record = json.loads((trained / CERTIFICATE).read_text(encoding="utf-8"))
    file, data = tmp_path / "changed.json", ["--data", trained / "train.npz"]
    picks = record["choices"]["picks"]
    picks[0] = picks[0][::-1]
    file.write_text(json.dumps(record), encoding="utf-8")
    done = dudley("verify", file, "--replay", *data)
    assert done.code == 1 and "✗ choices: the file says" in done.out
    picks[0] = picks[0][::-1]
    record["declared"]["learner"]["training"]["steps"] = [14]
    file.write_text(json.dumps(record), encoding="utf-8")
    assert dudley("verify", file, "--replay", *data).code == 1
    record["declared"]["learner"] = {"name": "module", "seed": 0}
    file.write_text(json.dumps(record), encoding="utf-8")
    assert "du.verify_training" in dudley("verify", file, "--replay", *data).refused()


def test_the_model_of_the_folder_is_certified_on_fresh_examples(dudley, trained, tmp_path):
    """It is a file of ours, and no checkpoint whose tensors need roles."""
    from dudley.certificates.samples import draw_examples

    fresh = draw_examples({"name": "and", "T": 6, "s": 2}, 200, 0, "test")
    np.savez(tmp_path / "fresh.npz", X=fresh.X, y=fresh.y)
    for model in (trained, trained / "model.safetensors"):
        done = dudley("certify", "model", model, "--holdout", tmp_path / "fresh.npz")
        assert done.code == 0 and "hold-out" in done.out, done.err


def test_a_report_of_the_folder_says_what_was_counted(dudley, trained, tmp_path):
    done = dudley("report", trained, "--out", tmp_path / "page.html")
    assert done.code == 0, done.err
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Verified" in page and "picks" in page and "failures" in page


def test_a_budget_ends_the_run_and_the_same_command_goes_on(dudley, trained, tmp_path):
    words = [*SMALL, "--no-beside", "--out", tmp_path / "out"]
    line = dudley(*words, "--budget", 0.001).refused()
    assert "the same command with a larger --budget" in line
    assert [file.name for file in (tmp_path / "out").iterdir()] == [STATE]
    rounds = json.loads((tmp_path / "out" / STATE).read_text(encoding="utf-8"))["picks"]
    done = dudley(*words)
    assert done.code == 0 and (tmp_path / "out" / CERTIFICATE).is_file()
    assert choices(tmp_path / "out") == choices(trained)
    assert rounds == choices(trained)["picks"][: len(rounds)]


def test_the_state_of_another_training_is_not_gone_on_from(dudley, tmp_path):
    words = [*SMALL, "--no-beside", "--out", tmp_path / "out"]
    dudley(*words, "--budget", 0.001).refused()
    assert "the same declarations" in dudley(*words, "--seed", 1).refused()
    assert (tmp_path / "out" / STATE).is_file(), "the other state stays"


def test_a_run_without_a_seed_draws_one_and_goes_on_with_it(dudley, tmp_path, monkeypatch):
    numbers = itertools.count(41)
    monkeypatch.setattr("dudley.certificates.order.secrets.randbelow", lambda n: next(numbers))
    words = [*SMALL, "--no-beside", "--out", tmp_path / "out"]
    at = words.index("--seed")
    del words[at : at + 2]
    dudley(*words, "--budget", 0.001).refused()
    state = json.loads((tmp_path / "out" / STATE).read_text(encoding="utf-8"))
    assert state["seed"] == 41 and dudley(*words).code == 0
    record = json.loads((tmp_path / "out" / CERTIFICATE).read_text(encoding="utf-8"))
    assert record["declared"]["seed"] == record["declared"]["learner"]["seed"] == state["seed"]
    assert record["choices"]["picks"][: len(state["picks"])] == state["picks"]
    assert dudley("verify", tmp_path / "out", "--replay").code == 0


@pytest.mark.slow
def test_a_killed_run_goes_on_at_the_same_picks(dudley, trained, tmp_path):
    out = tmp_path / "out"
    words = [str(word) for word in (*SMALL, "--no-beside", "--out", out)]
    command = "import sys; from dudley.cli import main; main(sys.argv[1:])"
    process = subprocess.Popen([sys.executable, "-c", command, *words], env=os.environ)
    try:
        for _ in range(6000):
            if (out / STATE).is_file() or process.poll() is not None:
                break
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == -signal.SIGKILL, "it was killed before its end"
    assert not (out / CERTIFICATE).exists()
    first = json.loads((out / STATE).read_text(encoding="utf-8"))["picks"]
    assert dudley(*words).code == 0
    assert first == choices(out)["picks"][: len(first)] and choices(out) == choices(trained)


def test_data_of_ones_own_choose_the_model(dudley, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (200, 5))
    np.savez(tmp_path / "bits.npz", X=X, y=X[:, 0])
    images = rng.integers(0, 256, (120, 4, 4), dtype=np.uint8)
    np.savez(tmp_path / "images.npz", X=images, y=np.arange(120) % 2)
    size = ["--set", "layers=1", "--set", "d=8", "--set", "heads=2", "--set", "hidden=8"]
    rule = ["--declare", "pick-to-learn.rounds=2", "--declare", "pick-to-learn.batches=[5]"]
    for name, model, more in (("bits", "encoder", []), ("images", "vit", ["--set", "patch=2"])):
        done = dudley(
            "certify", "train", tmp_path / f"{name}.npz", "--method", "pick-to-learn", "--seed", 0,
            "--no-beside", *size, *more, *rule, "--set", "steps=[5]", "--json",
            "--out", tmp_path / name,
        )  # fmt: skip
        item = done.json()["items"][0]
        assert item["declared"]["learner"]["training"]["name"] == model
        assert item["facts"]["picks"] <= 10 and item["value"] <= 1
        assert dudley("verify", tmp_path / name).code == 0


REFUSED = {
    "never fits": (
        ["--set", "rate=0", "--set", "least_rate=0", "--declare", "pick-to-learn.batches=[150]"],
        "fewer than the 300 examples",
    ),
    "too few examples": (["--n", 4, "--declare", "pick-to-learn.batches=[9]"], "fewer than"),
    "unknown setting": (["--set", "stepz=[3]"], "unknown setting of encoder 'stepz'"),
    "unknown model": (["--model", "resnet"], "resnet"),
    "no image": (["--model", "vit"], "images"),
    "no folder": (["--model", "hf:no-such-folder"], "no config.json"),
    "unknown device": (["--device", "abacus"], "cpu or cuda"),
    "a text for a number": (["--set", "rate=fast"], "rate of encoder"),
    "twice": (["--set", "rate=1"] * 2, "once"),
    "no value": (["--set", "rate"], "name=value"),
    "an encoding": (["--encoding", '{"name": "bits", "T": 6}'], "leave it out"),
    "another method's": (["--declare", "occam.among=2"], "the method trained for"),
    "a learner": (["--declare", 'pick-to-learn.learner={"name": "x"}'], "--model"),
    "an unknown declaration": (["--declare", "pick-to-learn.stop=3"], "unknown declaration"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_work_is_one_sentence_and_nothing_is_written(dudley, tmp_path, case):
    words, says = REFUSED[case]
    line = dudley(*SMALL, *words, "--no-beside", "--out", tmp_path / "out").refused()
    assert says in line
    assert not (tmp_path / "out").exists()


def test_options_of_pick_to_learn_belong_to_it(dudley, tmp_path):
    line = dudley("certify", "train", "and", "--model", "vit", "--out", tmp_path / "o").refused()
    assert "--method pick-to-learn" in line
    assert "--replay" in dudley("verify", "sparse-and", "--start", tmp_path).refused()
    assert "--replay" in dudley("verify", "sparse-and", "--budget", "9").refused()
    assert "pick-to-learn" in dudley("verify", "sparse-and", "--replay").refused()
