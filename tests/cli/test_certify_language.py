"""``dudley certify language``: from texts to a folder that `dudley verify` checks, or a refusal."""

from __future__ import annotations

import json

import pytest

from certificates.test_texts import sentences

SMALL = (
    "--seed",
    0,
    "--set",
    "d=8",
    "--set",
    "bits=6",
    "--set",
    "batch=16",
    "--longest",
    40,
    "--distinct",
)


@pytest.fixture
def texts(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_bytes(b"\n".join(sentences(200)) + b"\n")
    return path


def test_texts_become_a_folder_that_is_verified(dudley, texts, tmp_path):
    out = tmp_path / "pass"
    done = dudley("certify", "language", texts, *SMALL, "--tokens", "--out", out)
    assert done.code == 0 and "not for the last model" in " ".join(done.out.split())
    assert "xz -9, one file" in done.out
    for place in (out, out / "totals", out / "tokens"):
        checked = dudley("verify", place)
        assert checked.code == 0 and checked.out.startswith("holds")
    beside = json.loads((out / "beside.json").read_text(encoding="utf-8"))
    assert len(beside["bits_per_byte"]) == 6 and beside["documents"]["cut"] > 0
    certificate = out / "certificate.json"
    record = json.loads(certificate.read_text(encoding="utf-8"))
    certificate.write_text(json.dumps(record | {"value": 1.0}), encoding="utf-8")
    assert dudley("verify", out).code == 1
    (out / "units.txt").unlink()
    assert "no --data" in dudley("verify", out).refused()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--model", "gtp"), "gtp"), (("--set", "widht=3"), "widht"),
        (("--n", "9999"), "start < n"), (("--smoothing", "1.5"), "smoothing"),
        (("--separator", ""), "empty text"), (("--device", "abacus"), "device"),
        (("--model", "gpt", "--set", "context=8"), "context"),
    ],
)  # fmt: skip
def test_what_cannot_be_certified_is_refused_and_leaves_nothing(
    dudley, texts, tmp_path, words, reason
):
    out = tmp_path / "pass"
    settings = SMALL if "gpt" not in words else SMALL[4:]
    done = dudley("certify", "language", texts, *settings, *words, "--out", out)
    assert reason in done.refused()
    assert not out.exists()
