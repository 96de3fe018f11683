"""A pass evaluated again: blocks by the checkpoints before them, orders, parts, checkpoints."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dudley.certificates.certificate import Certificate
from dudley.certificates.methods.prequential.form import upper
from dudley.certificates.methods.prequential.journal import UnitBlock
from dudley.certificates.methods.prequential.log import Prequential
from dudley.certificates.methods.prequential.method import PrequentialMethod
from dudley.certificates.methods.prequential.passlog import read_pass
from dudley.certificates.methods.prequential.recheck import PassPart, recheck_pass
from dudley.certificates.methods.prequential.units import UnitOrder
from dudley.certificates.verify import verify
from dudley.core.errors import InputError

ERRORS = np.random.default_rng(0).random(2000) < 0.05


def logged(folder: Path, losses=ERRORS, batch: int = 50, **declared) -> Certificate:
    with Prequential(folder, **declared) as log:
        for i in range(0, len(losses), batch):
            log.before(None, losses[i : i + batch])
        return log.certificate()


TEXTS = [f"unit {i % 180}" for i in range(240)]


def loss_of(text: str, wrong: int) -> float:
    """A model is a number: it errs on the texts whose number it divides."""
    return float(int(text.split()[1]) % wrong == 0)


def evaluate(path: Path, rows: np.ndarray) -> list[float]:
    return [loss_of(TEXTS[row], int(path.read_text())) for row in rows]


@pytest.fixture
def checked(tmp_path):
    """A pass in four blocks: a checkpoint is saved, its block evaluated, and then learnt from."""
    order = UnitOrder.of(TEXTS, seed=5)
    declared = {"start": 60, "checkpoints": 4}
    with Prequential(tmp_path, order=order, **declared) as log:
        for k in range(4):
            path = log.checkpoint(lambda file, k=k: file.write_text(str(7 + k)))
            assert log.checkpoint(lambda file: 1 / 0) == path  # saved once
            log.before(None, evaluate(path, order.rows[60 * k : 60 * k + 60]))
        return log.certificate(seed=5).to_json(), tmp_path, order


def test_blocks_are_evaluated_again(checked):
    file, folder, order = checked
    assert file["facts"]["checkpoints"] == 4
    assert recheck_pass(file, folder, order, evaluate).holds

    def worse(path, rows):
        made = evaluate(path, rows)
        return [1.0, *made[1:]]

    odd = recheck_pass(file, folder, order, worse)
    assert not odd.holds and "loss of unit" in odd.differences[0].field


def test_a_random_part_has_its_price(checked):
    file, folder, order = checked
    part = recheck_pass(file, folder, order, evaluate, PassPart(100, seed=1))
    assert part.holds and file["value"] < part.value <= 1
    assert "100 of 180 units" in part.remarks[0] and "0.05 + 0.05" in part.remarks[0]
    whole = recheck_pass(file, folder, order, evaluate, PassPart(180, seed=1))
    assert whole.holds and whole.value == file["value"]


def test_a_log_with_false_losses_is_caught_or_paid_for(checked):
    """However many losses are false, the value with its price covers the true ones."""
    file, folder, order = checked
    log, caught = read_pass(folder), 0
    for false in (3, 10, 40):
        bad = np.random.default_rng(false).choice(np.arange(60, 240), false, replace=False)
        names = {int(order.rows[place]) for place in bad}

        def truth(path, rows, names=names):
            made = evaluate(path, rows)
            return [1.0 if int(row) in names else x for row, x in zip(rows, made, strict=True)]

        part = recheck_pass(file, folder, order, truth, PassPart(90, seed=false))
        x = log.losses[60:].copy()
        x[bad - 60] = 1
        caught += not part.holds
        assert not part.holds or upper("mixture", x, -np.log(0.05)) <= part.value
    assert caught >= 2


def test_another_order_or_checkpoint_is_seen(checked):
    file, folder, order = checked
    other = recheck_pass(file, folder, UnitOrder.of(TEXTS, seed=6), evaluate)
    assert not other.holds and "order" in str(other.differences[0])
    (folder / "checkpoint-2").write_text("100")
    odd = recheck_pass(file, folder, order, evaluate)
    assert [d.field for d in odd.differences] == ["checkpoint-2.sha256"]


def test_hashes_of_the_units_are_enough_for_their_order(checked):
    file, folder, order = checked
    order.write(folder / "units.txt")
    method = PrequentialMethod()
    assert verify(file, method.read_model(folder), method.read_data(folder / "units.txt")).holds
    lines = (folder / "units.txt").read_bytes().splitlines(keepends=True)
    for damaged in (b"", b"".join(lines)[:-1], b"Z" + b"".join(lines)[1:]):
        (folder / "units.txt").write_bytes(damaged)
        with pytest.raises(InputError, match="hashes of units"):
            method.read_data(folder / "units.txt")
    (folder / "units.txt").write_bytes(b"".join(lines[1:]))
    check = verify(file, method.read_model(folder), method.read_data(folder / "units.txt"))
    assert not check.holds and "order" in str(check.differences[0])


def test_an_order_ends_with_its_last_unit(tmp_path):
    """A second epoch is no test, and a verifier who has the units sees that there was one."""
    order = UnitOrder.of(TEXTS, seed=5)
    with Prequential(tmp_path / "first", order=order) as log:
        log.before(None, np.ones(240))
        for units in (None, 240, range(200, 260)):
            with pytest.raises(InputError, match="a second epoch is no test"):
                log.before(units, np.zeros(60))
    with Prequential(tmp_path / "second", order=order) as log:
        log.order = None  # a log of one's own making
        for _ in range(4):
            log.before(None, np.zeros(240))
    file = {**log.certificate().to_json()}
    file["declared"] |= {"seed": 5}
    check = verify(file, read_pass(tmp_path / "second"), order)
    assert not check.holds and "at most 240" in str(check.differences[0])


def test_the_seed_that_is_told_is_that_of_the_order(checked):
    file, folder, order = checked
    assert verify(file, read_pass(folder), order).holds
    other = file | {"declared": file["declared"] | {"seed": 6}}
    assert not verify(other, read_pass(folder), order).holds
    with (
        Prequential(folder, order=order, start=60, checkpoints=4) as log,
        pytest.raises(InputError, match="that of the journal"),
    ):
        log.certificate(seed=6)


def test_a_log_alone_cannot_be_evaluated(tmp_path):
    order = UnitOrder.of(TEXTS, seed=5)
    with Prequential(tmp_path, order=order) as log:
        log.before(order.names[:10], np.zeros(10))
        file = log.certificate(seed=5).to_json()
    with pytest.raises(InputError, match="a log of losses alone"):
        recheck_pass(file, tmp_path, order, evaluate)


def test_a_checkpoint_has_a_number_of_its_own(tmp_path):
    """At δ/K, on its own block and on later ones that it was evaluated on again."""
    with Prequential(tmp_path, about="checkpoint", checkpoints=2) as log:
        log.checkpoint(lambda file: file.write_text("a"))
        log.before(None, ERRORS[:400])
        log.checkpoint(lambda file: file.write_text("b"))
        log.before(None, np.zeros(300))
        with pytest.raises(InputError, match="about all its models"):
            log.line()
        first = log.certificate(checkpoint=0, end=400)
        best = log.certificate()
        log.again(1, 700, np.zeros(200))
        more = log.certificate()
    nats = best.bill.log_confidence
    assert nats == pytest.approx(np.log(2 / 0.05))
    assert best.choices.checkpoint == 1 and "checkpoint 1" in best.quantity
    assert first.value == upper("mixture", ERRORS[:400].astype(float), nats)
    assert more.value == upper("mixture", np.zeros(500), nats) < best.value
    assert verify(more.to_json(), read_pass(tmp_path), None).holds


def test_a_checkpoint_before_the_start_is_not_certified(tmp_path):
    """Its units may have served for tuning: only what comes from the start on counts."""
    with Prequential(tmp_path, about="checkpoint", checkpoints=3, start=200) as log:
        for k, losses in enumerate((np.zeros(200), ERRORS[:200], ERRORS[200:400])):
            log.checkpoint(lambda file, k=k: file.write_text(str(k)))
            log.before(None, losses)
        log.again(0, 200, np.zeros(400))
        best = log.certificate()
        with pytest.raises(InputError, match="from unit 200 on"):
            log.certificate(checkpoint=0, end=600)
    assert best.choices.checkpoint in (1, 2) and best.facts.counted == 200


def test_a_checkpoint_after_a_restart_says_where_its_model_is(tmp_path):
    """The journal is at unit 300, the restored model at 100: it is no checkpoint of 300."""
    declared = {"checkpoints": 9}
    with Prequential(tmp_path, **declared) as log:
        first = log.checkpoint(lambda file: file.write_text("a"))
        for _ in range(3):
            log.before(None, np.zeros(100))
    with Prequential(tmp_path, **declared) as log:
        with pytest.raises(InputError, match="units that the model has read"):
            log.checkpoint(lambda file: file.write_text("b"))
        for units in (100, 310):
            with pytest.raises(InputError, match="checkpoint"):
                log.checkpoint(lambda file: file.write_text("b"), units=units)
        assert log.checkpoint(lambda file: 1 / 0, units=0) == first
        log.checkpoint(lambda file: file.write_text("c"), units=300)
    assert [c.units for c in read_pass(tmp_path).checkpoints] == [0, 300]


def test_a_checkpoint_of_several_devices_stands_between_steps(tmp_path):
    """Process 0 has seen ten units of a step, and the model has learnt from twenty."""
    for rank in (0, 1):
        with Prequential(tmp_path, rank=rank, ranks=2, checkpoints=3) as log:
            for step in range(3):
                if rank == 0:
                    with pytest.raises(InputError, match="units that the model has read"):
                        log.checkpoint(lambda file: file.write_text("x"))
                    log.checkpoint(lambda file: file.write_text("x"), units=20 * step)
                log.before(20 * step + 10 * rank, np.zeros(10), step=step)
    assert [c.units for c in read_pass(tmp_path).checkpoints] == [0, 20, 40]
    for rank in (0, 1):
        with Prequential(tmp_path / "off", rank=rank, ranks=2, checkpoints=3) as log:
            for step in range(3):
                if rank == 0:
                    log.checkpoint(
                        lambda file: file.write_text("x"), units=10 * (step + (step > 0))
                    )
                log.before(20 * step + 10 * rank, np.zeros(10), step=step)
    with pytest.raises(InputError, match="between two steps"):
        read_pass(tmp_path / "off")


def test_a_checkpoint_that_the_journal_has_after_its_block_is_refused(tmp_path):
    """The chain says that the losses were there before the file."""
    with Prequential(tmp_path, checkpoints=2) as log:
        log.checkpoint(lambda file: file.write_text("a"))
        log.before(None, np.zeros(100))
        entry = {"number": 1, "file": "checkpoint-1", "sha256": "0" * 64, "units": 50}
        log.journal.append(b"C", json.dumps(entry).encode())
    with pytest.raises(InputError, match="before its block"):
        read_pass(tmp_path)


def test_a_checkpoint_beyond_the_log_has_no_units(tmp_path):
    """Losses again on units that it had learnt from would stand in for those after it."""
    with Prequential(tmp_path, about="checkpoint", checkpoints=2) as log:
        log.checkpoint(lambda file: file.write_text("a"))
        log.before(None, ERRORS[:50])
        entry = {"number": 1, "file": "checkpoint-1", "sha256": "0" * 64, "units": 100}
        log.journal.append(b"C", json.dumps(entry).encode())
        block = UnitBlock(0, np.arange(50, 400), np.zeros(350), None)
        log.journal.append(b"A", (1).to_bytes(4, "little") + block.to_bytes())
        with pytest.raises(InputError, match="that all processes have logged"):
            log.certificate(checkpoint=1, end=300)


def test_a_seed_without_its_order_is_refused(tmp_path):
    """A file must not say that a seed gave the order when no order was committed to."""
    with Prequential(tmp_path) as log:
        log.before(None, np.zeros(10))
        file = log.certificate().to_json()
        with pytest.raises(InputError, match="seed"):
            log.certificate(seed=5)
    file["declared"] |= {"seed": 5}
    assert not verify(file, read_pass(tmp_path), None).holds


def test_a_certificate_says_who_predicted_and_in_which_order(tmp_path):
    with Prequential(tmp_path / "plain") as log:
        log.before(None, np.zeros(10))
        lines = log.certificate().declarations
    assert any("no order was committed to" in line for line in lines)
    with Prequential(tmp_path / "blocks", order=UnitOrder.of(TEXTS, 5), checkpoints=1) as log:
        log.checkpoint(lambda file: file.write_text("a"))
        log.before(None, np.zeros(10))
        lines = log.certificate(seed=5).declarations
    assert any("losses of a block are those of the checkpoint before it" in line for line in lines)
    assert not any("no order was committed to" in line for line in lines)


def test_units_that_are_declared_different_are(tmp_path):
    """And then new means not read before, and nothing is said of a mixture."""
    with Prequential(tmp_path / "a", order=UnitOrder.of(TEXTS, 5), distinct=True) as log:
        log.before(None, np.zeros(10))
        with pytest.raises(InputError, match="different"):
            log.certificate(seed=5)
    texts = [f"text {i}" for i in range(40)]
    with Prequential(tmp_path / "b", order=UnitOrder.of(texts, 5), distinct=True) as log:
        log.before(None, np.zeros(10))
        certificate = log.certificate(seed=5)
    assert "on an example that had not come before" in certificate.quantity
    assert not any("independent draw" in line for line in certificate.declarations)


def test_an_order_depends_on_the_seed_and_not_on_the_file():
    order, turned = UnitOrder.of(TEXTS, 3), UnitOrder.of(TEXTS[::-1], 3)
    assert order.names == turned.names and order.sha256 == turned.sha256
    assert UnitOrder.of(TEXTS, 4).sha256 != order.sha256
    assert sorted(order.rows.tolist()) == list(range(240)) and len(set(order.names)) == 240
    with pytest.raises(InputError, match="copies"):
        UnitOrder.of([f"unit {i % 40}" for i in range(4000)], 0)
