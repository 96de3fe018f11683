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


def test_a_coded_model_stands_beside_and_holds_together_with_the_others(dudley, texts, tmp_path):
    out = tmp_path / "pass"
    done = dudley("certify", "language", texts, *SMALL, "--coded", 12, "--out", out)
    assert done.code == 0 and "bits per symbol of 32" in done.out, done.err
    for place in (out, out / "totals", out / "coded"):
        assert dudley("verify", place).code == 0
        certificate = json.loads((place / "certificate.json").read_text(encoding="utf-8"))
        assert certificate["declared"]["among"] == 3
    assert "different texts, in 32 symbols" in certificate["declared"]["population"]


def test_checkpoints_are_evaluated_again_by_whoever_has_the_texts(dudley, texts, tmp_path):
    out = tmp_path / "pass"
    dudley("certify", "language", texts, *SMALL, "--checkpoints", 3, "--out", out)
    for place in (out, out / "totals"):
        done = dudley("verify", place, "--texts", texts)
        assert done.code == 0 and done.out.startswith("holds"), done.err
    part = dudley("verify", out, "--texts", texts, "--part", 50)
    assert part.code == 0 and "50 of" in part.out
    (out / "checkpoint-1").write_bytes((out / "checkpoint-0").read_bytes())
    done = dudley("verify", out, "--texts", texts)
    assert done.code == 1 and "checkpoint-1.sha256" in done.out
    assert "--texts" in dudley("verify", out, "--part", 3).refused()
    (out / "beside.json").unlink()
    assert "beside.json" in dudley("verify", out, "--texts", texts).refused()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--model", "gtp"), "gtp"), (("--set", "widht=3"), "widht"),
        (("--model", "bpe:TEXTS"), "other texts"),
        (("--n", "9999"), "start < n"), (("--smoothing", "1.5"), "smoothing"),
        (("--separator", ""), "empty text"), (("--device", "abacus"), "device"),
        (("--model", "gpt", "--set", "context=8"), "context"),
    ],
)  # fmt: skip
def test_what_cannot_be_certified_is_refused_and_leaves_nothing(
    dudley, texts, tmp_path, words, reason
):
    out = tmp_path / "pass"
    words = [word.replace("TEXTS", str(texts)) for word in words]
    settings = SMALL if "gpt" not in words else SMALL[4:]
    done = dudley("certify", "language", texts, *settings, *words, "--out", out)
    assert reason in done.refused()
    assert not out.exists()
