"""`dudley verify` for language models: the documents and the model, from files."""

from __future__ import annotations

import json

import numpy as np
import pytest

from certificates.language_toys import frequencies, sentences
from dudley.certificates.methods.language import files
from dudley.certificates.methods.language.certificate import certify
from dudley.networks.files import EXAMPLES

CORPUS = sentences(400)
MODEL = frequencies(CORPUS)
MADE = certify(MODEL, CORPUS, population="sentences")


@pytest.fixture
def folder(tmp_path):
    """A certificate, its model and its documents."""
    (tmp_path / "certificate.json").write_text(MADE.text(), encoding="utf-8")
    files.save(MODEL, tmp_path / "model.safetensors")
    files.save_documents(CORPUS, tmp_path / "documents.npz")
    return tmp_path


def test_it_holds_and_a_change_does_not(dudley, folder):
    done = dudley("verify", folder)
    assert done.code == 0 and done.out.startswith("holds: expected bits per symbol")
    assert "declared: population = sentences" in done.out
    path, parts = folder / "certificate.json", [folder / "model.safetensors", "--data"]
    item = dudley(
        "verify", path, "--model", *parts, folder / "documents.npz", "--json"
    ).json()["items"][0]  # fmt: skip
    assert item["holds"] and item["value"] == MADE.to_json()["value"]
    path.write_text(json.dumps(MADE.to_json() | {"value": 4.0}), encoding="utf-8")
    done = dudley("verify", folder)
    assert done.code == 1 and "✗ value: the file says 4.0" in done.out


def test_other_documents_and_another_model_do_not(dudley, folder):
    files.save_documents(CORPUS.part(np.arange(300)), folder / "documents.npz")
    done = dudley("verify", folder)
    assert done.code == 1 and "data.sha256" in done.out
    files.save_documents(CORPUS, folder / "documents.npz")
    files.save(frequencies(CORPUS, -1.0), folder / "model.safetensors")
    done = dudley("verify", folder)
    assert done.code == 1 and "model.sha256" in done.out


def test_what_is_missing_or_of_another_kind_is_refused(dudley, folder):
    path, model = folder / "certificate.json", folder / "model.safetensors"
    assert "--model and --data" in dudley("verify", path, "--model", model).refused()
    examples = EXAMPLES / "sparse-and" / "train.npz"
    assert "codes" in dudley("verify", path, "--model", model, "--data", examples).refused()
    (folder / "model.safetensors").write_bytes(b"no such thing")
    assert "safetensors" in dudley("verify", folder).refused()
