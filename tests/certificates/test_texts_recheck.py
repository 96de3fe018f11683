"""Blocks of texts: predicted by the checkpoint before them, and evaluated again by a stranger."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from certificates.test_texts import DESCENT, SMALL, TEXTS
from dudley.certificates.methods.prequential.passlog import read_pass
from dudley.certificates.methods.prequential.recheck import PassPart
from dudley.certificates.methods.prequential.units import UnitOrder
from dudley.certificates.texts import one_pass
from dudley.certificates.texts.base import model_of
from dudley.certificates.texts.blocks import block_starts
from dudley.certificates.texts.documents import Documents
from dudley.certificates.texts.forms import TextPass
from dudley.certificates.texts.learner import TextLearner
from dudley.certificates.texts.one_pass import certify_texts
from dudley.certificates.texts.recheck import recheck_texts
from dudley.certificates.texts.state import load_weights
from dudley.core.errors import InputError

DECLARED = TextPass(checkpoints=4, tokens=True, seed=0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("blocks")
    certify_texts(model_of("gru", SMALL["gru"]), TEXTS, place, DECLARED, DESCENT)
    return place


def certificate(folder):
    return json.loads((folder / "certificate.json").read_text(encoding="utf-8"))


def test_blocks_have_starts_and_a_checkpoint_for_each(folder):
    n = TEXTS.n
    log, starts = read_pass(folder), block_starts(n // 2, n, 4)
    assert tuple(c.units for c in log.checkpoints) == starts and starts[0] == n // 2
    for bad in (-1, n):
        with pytest.raises(InputError, match="checkpoints"):
            block_starts(n // 2, n, bad)
    plain = read_pass(folder / "totals")
    np.testing.assert_array_equal(plain.losses, log.losses)
    assert [c.sha256 for c in plain.checkpoints] == [c.sha256 for c in log.checkpoints]
    tokens = read_pass(folder / "tokens")
    assert len(tokens.losses) == TEXTS.sizes.sum() and not tokens.checkpoints


@pytest.mark.parametrize("form", ["", "totals"])
def test_all_documents_or_a_part_are_evaluated_again(folder, form):
    place = folder / form
    file = certificate(place)
    whole = recheck_texts(file, place, TEXTS)
    assert whole.holds and whole.value == file["value"]
    part = recheck_texts(file, place, TEXTS, PassPart(100, seed=1))
    assert part.holds and part.value > file["value"] and "100 of" in part.remarks[0]


def test_other_documents_models_and_losses_are_seen(folder, tmp_path, monkeypatch):
    file = certificate(folder)
    fewer = Documents(TEXTS.texts[:-1], TEXTS.longest, TEXTS.shortest, distinct=True)
    assert not recheck_texts(file, folder, fewer).holds
    plain = TextLearner.look

    def lower(learner, documents):
        nats, lengths = plain(learner, documents)
        return nats * 0.9, lengths

    monkeypatch.setattr(TextLearner, "look", lower)  # a log of losses that no checkpoint has
    certify_texts(model_of("gru", SMALL["gru"]), TEXTS, tmp_path, DECLARED, DESCENT)
    monkeypatch.undo()
    odd = recheck_texts(certificate(tmp_path), tmp_path, TEXTS)
    assert not odd.holds and "loss of unit" in odd.differences[0].field


def test_a_table_that_does_not_fit_is_refused(folder, tmp_path):
    path = folder / "pass.json"
    before = path.read_text(encoding="utf-8")
    table = json.loads(before)
    changes = (
        ({"smoothing": 0.5}, "smoothing"), ({"model": {"name": "hf"}}, "--start"),
        ({"model": table["of"]["model"] | {"d": 4096}}, "weights"), ({"model": 3}, "a table of"),
        ({"model": table["of"]["model"] | {"d": 7}}, "as the checkpoint says"),
    )  # fmt: skip
    for change, words in changes:
        path.write_text(json.dumps(table | {"of": table["of"] | change}), encoding="utf-8")
        with pytest.raises(InputError, match=words):
            recheck_texts(certificate(folder), folder, TEXTS)
    descent = {"descent": table["of"]["descent"] | {"half": True}}  # it computes in another way
    path.write_text(json.dumps(table | {"of": table["of"] | descent}), encoding="utf-8")
    with pytest.raises(InputError, match="as the checkpoint says"):
        recheck_texts(certificate(folder), folder, TEXTS)
    path.write_text(before, encoding="utf-8")
    with pytest.raises(InputError, match="certify language"):
        recheck_texts(certificate(folder), tmp_path / "none", TEXTS)


def test_no_model_is_built_that_no_checkpoint_could_hold(folder, tmp_path, monkeypatch):
    for name in ("pass.json", "rank-0.log"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    monkeypatch.delattr(TextLearner, "__init__")
    with pytest.raises(InputError, match="checkpoint-0: expected a readable file"):
        recheck_texts(certificate(folder), tmp_path, TEXTS)


def test_a_pass_that_broke_off_in_a_block_goes_on_to_the_same_certificate(
    folder, tmp_path, monkeypatch
):
    """In the losses of a block, while it is learnt from, and with an older state."""
    model = model_of("gru", SMALL["gru"])
    calls: list[str] = []

    def breaking(name):
        plain = getattr(TextLearner, name)

        def call(*arguments):
            calls.append(name)
            if len(calls) in (5, 13, 17, 30, 40):
                raise KeyboardInterrupt
            return plain(*arguments)

        monkeypatch.setattr(TextLearner, name, call)

    breaking("look")
    breaking("update")
    where = []
    for saved in (0.0, 0.0, 1e9, 0.0, 0.0, 0.0):
        monkeypatch.setattr(one_pass, "SAVED", saved)
        try:
            certify_texts(model, TEXTS, tmp_path, DECLARED, DESCENT)
        except KeyboardInterrupt:
            where.append(calls[-1])
    assert len(where) == 5 and set(where) == {"look", "update"}
    for form in ("", "totals", "tokens"):
        assert certificate(tmp_path / form)["value"] == certificate(folder / form)["value"]
        np.testing.assert_array_equal(
            read_pass(tmp_path / form).losses, read_pass(folder / form).losses
        )
    assert recheck_texts(certificate(tmp_path), tmp_path, TEXTS).holds


def test_losses_of_a_block_are_those_of_its_checkpoint(folder):
    order = UnitOrder.of(TEXTS.texts, 0)
    log, texts = read_pass(folder), [TEXTS.texts[row] for row in order.rows]
    learner = TextLearner(model_of("gru", SMALL["gru"]), DESCENT)
    table = json.loads((folder / "pass.json").read_text(encoding="utf-8"))["of"]
    load_weights(folder / "checkpoint-2", table, learner.module)
    first, last = log.checkpoints[2].units, log.checkpoints[3].units
    assert log.sizes is not None
    nats = learner.look(texts[first:last])[0].sum(1)
    expected = -np.log2(63 / 64 * np.exp(-nats) + 256.0 ** -log.sizes[first:last] / 64)
    np.testing.assert_allclose(log.losses[first:last], expected, rtol=1e-5)


KILLED = """
import os, random, signal, sys, time
sys.path.insert(0, {tests!r})
from certificates.test_texts import DESCENT, SMALL, TEXTS
from dudley.certificates.methods.prequential.passlog import read_pass
from dudley.certificates.texts import one_pass
from dudley.certificates.texts.base import model_of
from dudley.certificates.texts.forms import TextPass
from dudley.certificates.texts.learner import TextLearner
one_pass.SAVED = 0.0
declared, model = TextPass(checkpoints=4, tokens=True, seed=0), model_of("gru", SMALL["gru"])
TextLearner(model, DESCENT).look(TEXTS.texts[:2])  # what is imported late, once for all children

def begin(folder):
    child = os.fork()
    if child == 0:
        one_pass.certify_texts(model, TEXTS, folder, declared, DESCENT)
        os._exit(0)
    return child

began = time.monotonic()
os.waitpid(begin({folder!r} + "/whole"), 0)
whole, moments, units = time.monotonic() - began, random.Random(0), []
for kill in range(20):
    child = begin({folder!r})
    time.sleep(moments.uniform(0.02, 0.2) * whole)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    journal = {folder!r} + "/rank-0.log"
    if os.path.exists(journal) and os.path.getsize(journal) > 999:
        units.append(read_pass({folder!r}).n)
print(units == sorted(units) and 0 < units[0], units)
"""


@pytest.mark.slow
def test_a_pass_that_was_killed_at_twenty_moments_counts_nothing_twice(folder, tmp_path):
    """The log never gets shorter, and the last run ends as one that was not broken off."""
    script = KILLED.format(tests=str(Path(__file__).parents[1]), folder=str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("True"), done.stdout
    certify_texts(model_of("gru", SMALL["gru"]), TEXTS, tmp_path, DECLARED, DESCENT)
    for form in ("", "totals", "tokens"):
        assert certificate(tmp_path / form)["value"] == certificate(folder / form)["value"]
        np.testing.assert_array_equal(
            read_pass(tmp_path / form).losses, read_pass(folder / form).losses
        )
    assert recheck_texts(certificate(tmp_path), tmp_path, TEXTS).holds
