"""Texts in one pass: what is read, what is logged before the update, restarts, files, refusals."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from dudley.certificates import tensors
from dudley.certificates.methods.prequential.passlog import read_pass
from dudley.certificates.methods.prequential.smoothing import UnitSmoothing
from dudley.certificates.methods.prequential.units import UnitOrder
from dudley.certificates.texts import one_pass
from dudley.certificates.texts.base import model_of
from dudley.certificates.texts.beside import compared
from dudley.certificates.texts.documents import Documents
from dudley.certificates.texts.forms import TextPass
from dudley.certificates.texts.learner import TextDescent, TextLearner
from dudley.certificates.texts.one_pass import certify_texts
from dudley.certificates.texts.reading import texts_of
from dudley.certificates.verify import verify
from dudley.core.backend import torch
from dudley.core.errors import DudleyError, InputError

WORDS = ("the", "cat", "sat", "on", "a", "mat", "and", "saw", "two", "dogs", "run", "by", "old")


def sentences(n: int, seed: int = 0) -> list[bytes]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, rng.integers(2, 12))).encode() for _ in range(n)]


TEXTS = Documents.of(sentences(300), longest=40, shortest=6, distinct=True)
SMALL = {"gru": {"d": 8, "bits": 6, "orders": [2, 3]}, "gpt": {"d": 8, "heads": 2, "layers": 1}}
DESCENT = TextDescent(batch=16)


@pytest.mark.parametrize("name", SMALL)
def test_losses_are_those_of_the_model_before_the_update(tmp_path, name):
    """Each batch costs what the module says that has learnt from the batches before alone."""
    model = model_of(name, SMALL[name])
    certify_texts(model, TEXTS, tmp_path, TextPass(seed=5), DESCENT)
    order, learner = UnitOrder.of(TEXTS.texts, 5), TextLearner(model, DESCENT)
    smoothing, log = UnitSmoothing(256, 1 / 64, TEXTS.shortest), read_pass(tmp_path)
    texts = [TEXTS.texts[row] for row in order.rows]
    for step, first in enumerate(range(0, 64, 16)):
        some = texts[first : first + 16]
        with torch.no_grad():
            nats = model.nats(learner.module, model.read(some)).double().sum(1).numpy()
        sizes = np.array([len(text) for text in some])
        expected = smoothing.bits(nats, sizes)
        np.testing.assert_allclose(log.losses[first : first + 16], expected, rtol=1e-6)
        assert log.sizes is not None and (log.sizes[first : first + 16] == sizes).all()
        learner.predict(some)
        learner.update(step, first / len(texts))


@pytest.mark.parametrize("name", SMALL)
def test_no_symbol_depends_on_later_ones_nor_on_other_documents(name):
    model = model_of(name, SMALL[name])
    torch.manual_seed(1)
    module = model.make()
    for table in getattr(module, "tables", []):
        torch.nn.init.normal_(table.weight)
    texts = [b"the cat sat on a mat\0", b"the cat saw\0", b"a much longer document than these\0"]
    with torch.no_grad():
        together, alone = (model.nats(module, model.read(some)) for some in (texts, texts[1:2]))
    assert torch.allclose(together[0, :9], together[1, :9], atol=1e-5)
    assert torch.allclose(together[1, :12], alone[0], atol=1e-5)
    assert not together[1, 12:].any()


def test_long_documents_are_read_in_windows():
    """A symbol depends on its window alone, and on nothing that comes later."""
    settings = SMALL["gpt"] | {"context": 8, "windows": True}
    model = model_of("gpt", settings)
    model.expect(10**6)
    torch.manual_seed(1)
    module = model.make()
    text = b"the cat sat on a mat, and ran\0"
    with torch.no_grad():
        whole = model.nats(module, model.read([text, b"a cat\0"]))
        first = model.nats(module, model.read([text[:8]]))
        other = model.nats(module, model.read([b"THE CATT" + text[8:], b"a cat\0"]))
    assert whole.shape == (2, len(text)) and not whole[1, 6:].any()
    assert torch.allclose(whole[0, :8], first[0], atol=1e-5)
    assert torch.allclose(whole[0, 16:], other[0, 16:], atol=1e-5)
    assert not torch.allclose(whole[0, 8:16], other[0, 8:16], atol=1e-5)  # its byte before


def test_all_forms_hold_together_and_are_told_apart(tmp_path):
    made = certify_texts(
        model_of("gru", SMALL["gru"]),
        TEXTS,
        tmp_path,
        TextPass(tokens=True, start=100, seed=0),
        DESCENT,
    ).certificates
    mean, totals, tokens = made["mean"], made["totals"], made["tokens"]
    assert {c.declared.among for c in made.values()} == {3}
    assert "mean over units" in mean.quantity and "(totals)" in totals.quantity
    assert "sampled contexts" in tokens.quantity and "mixture" not in tokens.quantity
    assert "had not come before" in mean.quantity and "mixture" not in mean.quantity  # no copies
    order = UnitOrder.of(TEXTS.texts, 0)
    texts = [TEXTS.texts[row] for row in order.rows]
    sizes = np.array([len(text) for text in texts])
    log = read_pass(tmp_path)
    bits = log.losses[100:]
    assert mean.facts.mean_loss == pytest.approx((bits / sizes[100:]).mean())
    assert totals.facts.mean_loss == pytest.approx(bits.sum() / sizes[100:].sum())
    assert tokens.facts.counted == sizes[100:].sum()
    assert tokens.declared.start == sizes[:100].sum()
    assert verify(mean.to_json(), log, order).holds
    assert verify(totals.to_json(), read_pass(tmp_path / "totals"), order).holds
    assert verify(tokens.to_json(), read_pass(tmp_path / "tokens"), None).holds
    assert all(c.value > c.facts.mean_loss for c in made.values())


def test_a_certificate_says_what_a_document_is_and_how_bits_are_smoothed(tmp_path):
    documents = Documents.of(sentences(80), longest=40, shortest=6)
    declared = TextPass(population="sentences of a toy", unit="sentence", seed=0)
    made = certify_texts(model_of("gru", SMALL["gru"]), documents, tmp_path, declared, DESCENT)
    for certificate in made.certificates.values():
        words = certificate.declared.population
        assert words.startswith("sentences of a toy") and "6 to 40 bytes" in words
        assert "1/64" in words and "mixture" in certificate.quantity
        assert "a new sentence" in certificate.quantity


def test_a_folder_holds_one_pass_of_one_model(tmp_path, monkeypatch):
    """Another model must not go on with the losses of the first, nor claim its number."""
    model, other = model_of("gru", SMALL["gru"]), model_of("gpt", SMALL["gpt"])
    made = certify_texts(model, TEXTS, tmp_path / "done", TextPass(seed=0), DESCENT)
    again = certify_texts(model, TEXTS, tmp_path / "done", TextPass(seed=0), DESCENT)
    assert again.certificates["mean"].value == made.certificates["mean"].value
    with pytest.raises(InputError, match="another one"):
        certify_texts(other, TEXTS, tmp_path / "done", TextPass(seed=0), DESCENT)

    def failing(learner, step, share):
        raise KeyboardInterrupt

    monkeypatch.setattr(TextLearner, "update", failing)
    with pytest.raises(KeyboardInterrupt):
        certify_texts(model, TEXTS, tmp_path / "killed", TextPass(seed=0), DESCENT)
    monkeypatch.undo()
    with pytest.raises(InputError, match="another one"):
        certify_texts(other, TEXTS, tmp_path / "killed", TextPass(seed=0), DESCENT)


SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from certificates.test_texts import DESCENT, SMALL, TEXTS
from dudley.certificates.texts import one_pass
from dudley.certificates.texts.base import model_of
from dudley.certificates.texts.forms import TextPass
one_pass.SAVED = 0.0
plain = one_pass._Reading._step
def slowly(self):
    plain(self)
    Path({flag!r}).write_text(str(self.place.units))
    import time; time.sleep(0.02)
one_pass._Reading._step = slowly
one_pass.certify_texts(model_of("gru", SMALL["gru"]), TEXTS, {folder!r}, TextPass(seed=0), DESCENT)
"""


def test_a_pass_that_broke_off_goes_on_to_the_same_certificate(tmp_path, monkeypatch):
    model = model_of("gru", SMALL["gru"])
    expected = certify_texts(
        model, TEXTS, tmp_path / "whole", TextPass(seed=0), DESCENT
    ).certificates
    plain, steps = TextLearner.update, []

    def failing(learner, step, share):
        steps.append(step)
        if len(steps) in (3, 8, 12):
            raise KeyboardInterrupt
        plain(learner, step, share)

    monkeypatch.setattr(TextLearner, "update", failing)
    for saved in (0.0, 1e9, 0.0):
        monkeypatch.setattr(one_pass, "SAVED", saved)
        with pytest.raises(KeyboardInterrupt):
            certify_texts(model, TEXTS, tmp_path / "broken", TextPass(seed=0), DESCENT)
    made = certify_texts(model, TEXTS, tmp_path / "broken", TextPass(seed=0), DESCENT).certificates
    assert steps[:8] == [0, 1, 2, 2, 3, 4, 5, 6] and steps[8:12] == [2, 3, 4, 5]
    for form, certificate in made.items():
        assert certificate.value == expected[form].value
    logs = [read_pass(tmp_path / name).losses for name in ("whole", "broken")]
    np.testing.assert_array_equal(*logs)


@pytest.mark.slow
def test_a_pass_that_was_killed_goes_on_to_the_same_certificate(tmp_path):
    whole, folder, flag = (tmp_path / name for name in ("whole", "killed", "flag"))
    model = model_of("gru", SMALL["gru"])
    expected = certify_texts(model, TEXTS, whole, TextPass(seed=0), DESCENT).certificates
    tests = str(Path(__file__).parents[1])
    script = SCRIPT.format(tests=tests, flag=str(flag), folder=str(folder))
    child = subprocess.Popen([sys.executable, "-c", script])
    until = time.monotonic() + 60
    while time.monotonic() < until and child.poll() is None:
        if flag.exists() and (flag.read_text() or "0") >= "64":
            break
        time.sleep(0.005)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert 0 < read_pass(folder).n < TEXTS.n and (folder / one_pass.NAME).exists()
    made = certify_texts(model, TEXTS, folder, TextPass(seed=0), DESCENT).certificates
    for form, certificate in made.items():
        assert certificate.value == expected[form].value
    np.testing.assert_array_equal(read_pass(folder).losses, read_pass(whole).losses)
    last = [tensors.read(place / one_pass.LAST)[1] for place in (whole, folder)]
    assert all((last[0][name] == last[1][name]).all() for name in last[0])
    assert not (folder / one_pass.NAME).exists()


def test_a_state_of_another_pass_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(one_pass, "SAVED", 0.0)
    monkeypatch.setattr(one_pass, "LAST", "no/such/folder")
    model = model_of("gru", SMALL["gru"])
    with pytest.raises(InputError):
        certify_texts(model, TEXTS, tmp_path, TextPass(seed=0), DESCENT)
    monkeypatch.undo()
    for changed, descent in (
        (TextPass(seed=1), DESCENT), (TextPass(start=3, seed=0), DESCENT),
        (TextPass(seed=0), TextDescent(rate=0.1)),
    ):  # fmt: skip
        with pytest.raises(InputError):
            certify_texts(model, TEXTS, tmp_path, changed, descent)


def test_documents_are_cut_at_whole_characters_and_end_once():
    made = Documents.of(["aüöa".encode(), b"abcdef", "ü€€".encode()], longest=4, shortest=2)
    assert made.texts == ("aü".encode(), b"abcd", "ü".encode())
    assert made.cut == 3
    whole = Documents.of([b"abc", b"abcd"], longest=4, shortest=4)
    assert whole.texts == (b"abc\0", b"abcd")
    invalid = Documents.of([b"\x80" * 9, b"ok"], longest=4, shortest=1)
    assert invalid.texts[0] == b"\x80" * 4


@pytest.mark.parametrize(
    ("raw", "words"),
    [([b"a\0b", b"c"], "no byte 0"), ([b"abc"], "at least 2"), ([b"a", b"b"], "shorter ones")],
)
def test_texts_that_are_no_documents_are_refused(raw, words):
    with pytest.raises(InputError, match=words):
        Documents.of(raw, longest=8, shortest=3)


def test_more_copies_than_chance_explains_are_refused_unless_left_out(tmp_path):
    twice = sentences(400) * 2
    model = model_of("gru", SMALL["gru"])
    documents = Documents.of(twice, longest=40, shortest=6)
    with pytest.raises(InputError, match="copies"):
        certify_texts(model, documents, tmp_path / "a")
    assert not (tmp_path / "a").exists()
    assert Documents.of(twice, longest=40, shortest=6, distinct=True).copies > 300


def test_folders_jsonl_and_separators(tmp_path):
    (tmp_path / "texts" / "deep").mkdir(parents=True)
    (tmp_path / "texts" / "b.txt").write_bytes(b"second\nfile")
    (tmp_path / "texts" / "deep" / "a.md").write_bytes(b"third, and long")
    (tmp_path / "texts" / ".hidden").write_bytes(b"no")
    (tmp_path / "texts" / "link").symlink_to("/etc/passwd")
    assert list(texts_of(tmp_path / "texts", longest=5)) == [b"second\nf", b"third, a"]
    lines = tmp_path / "t.jsonl"
    lines.write_text('{"text": "one", "id": 3}\n\n"two"\n{"body": "x", "text": "3"}\n', "utf-8")
    assert list(texts_of(lines)) == [b"one", b"two", b"3"]
    plain = tmp_path / "t.txt"
    plain.write_bytes(b"one\r\n\r\ntwo\n")
    assert list(texts_of(plain)) == [b"one", b"two"]
    plain.write_bytes(b"one\nmore<|end|>two<|end|>")
    assert list(texts_of(plain, "<|end|>")) == [b"one\nmore", b"two"]


@pytest.mark.parametrize("line", ["{", "[1]", '{"txt": "x"}', "[" * 100_000, '{"text": 3}', "NaN"])
def test_broken_lines_are_refused_in_one_sentence(tmp_path, line):
    path = tmp_path / "t.jsonl"
    path.write_text('{"text": "fine"}\n' + line + "\n", "utf-8")
    with pytest.raises(InputError, match="line 2"):
        list(texts_of(path))


def test_what_cannot_be_trained_is_refused():
    for spec, settings in (
        ("gru", {"d": 0}), ("gru", {"orders": [3, 2]}), ("gru", {"bits": 40}),
        ("gpt", {"heads": 3}), ("gtp", {}), ("gru:folder", {}), ("gpt", {"context": 0}),
        ("gru", {"d": "8"}),
    ):  # fmt: skip
        with pytest.raises(DudleyError):
            model_of(spec, settings)
    with pytest.raises(InputError, match="context"):
        model_of("gpt", {"context": 32}).expect(33)
    with pytest.raises(InputError, match="device"):
        TextLearner(model_of("gru", SMALL["gru"]), DESCENT, "abacus")
    with pytest.raises(InputError):
        certify_texts(model_of("gru", {}), TEXTS, "unused", TextPass(n=10**6, seed=0))


def test_compressors_are_measured_on_the_same_bytes():
    rows = {row.name: row for row in compared(TEXTS.texts)}
    whole = json.dumps([row.totals for row in rows.values()])
    assert len(rows) == 6 and "NaN" not in whole
    assert rows["guessing"].totals == 8
    assert rows["xz -9, one file"].totals < rows["xz -9, each document"].totals
    fixed = rows["best fixed distribution"]
    shares = np.bincount(np.frombuffer(b"".join(TEXTS.texts), np.uint8)) / TEXTS.sizes.sum()
    shares = shares[shares > 0]
    assert fixed.totals == pytest.approx(-(shares * np.log2(shares)).sum())


def test_settings_that_were_tried_are_paid_for(tmp_path):
    """The choice among three costs as much as δ/3."""
    numbers = {}
    for name, words in (("three", {"tried": 3}), ("third", {"delta": 0.05 / 3}), ("one", {})):
        declared = TextPass(seed=0, **words)
        model = model_of("gru", SMALL["gru"])
        made = certify_texts(model, TEXTS, tmp_path / name, declared, DESCENT).certificates
        numbers[name] = [made[form].value for form in ("mean", "totals")]
    assert numbers["three"] == pytest.approx(numbers["third"], rel=1e-12)
    assert min(np.subtract(numbers["three"], numbers["one"])) > 0
