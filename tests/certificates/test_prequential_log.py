"""The journal and the context manager: restarts, several devices, damage, refusals."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from dudley.certificates.certificate import Certificate
from dudley.certificates.methods.prequential.form import upper
from dudley.certificates.methods.prequential.journal import UnitBlock
from dudley.certificates.methods.prequential.log import Prequential
from dudley.certificates.methods.prequential.method import PrequentialMethod
from dudley.certificates.methods.prequential.passlog import read_pass
from dudley.certificates.verify import verify
from dudley.core.errors import InputError
from dudley.show.as_text import text
from dudley.show.pages.certificate import document

ERRORS = np.random.default_rng(0).random(2000) < 0.05


def logged(folder: Path, losses=ERRORS, batch: int = 50, **declared) -> Certificate:
    with Prequential(folder, **declared) as log:
        for i in range(0, len(losses), batch):
            log.before(None, losses[i : i + batch])
        return log.certificate()


def test_the_number_is_that_of_the_stretch(tmp_path):
    certificate = logged(tmp_path, start=500)
    assert certificate.value == upper("mixture", ERRORS[500:].astype(float), -np.log(0.05))
    assert (certificate.facts.units, certificate.facts.counted) == (2000, 1500)
    assert "not of the final model" in certificate.quantity and not certificate.vacuous
    assert any(line.startswith("log only") for line in certificate.declarations)
    file = certificate.to_json()
    assert verify(file, read_pass(tmp_path), None).holds
    assert not verify(file | {"value": 0.04}, read_pass(tmp_path), None).holds
    assert PrequentialMethod().read_model(tmp_path).n == 2000


def test_the_number_so_far_is_that_of_the_certificate(tmp_path):
    with Prequential(tmp_path, start=10, loss="bounded", limit=3.0) as log:
        for x in np.array_split(np.random.default_rng(1).random(400) * 2, 30):
            log.before(None, x)
        assert log.bound == pytest.approx(log.certificate().value, rel=1e-9)
        assert log.certificate(end=200).facts.counted == 190
        assert "so far (390 units)" in log.line()


def test_the_number_so_far_pays_for_a_choice_among_methods(tmp_path):
    with Prequential(tmp_path, among=10) as log:
        log.before(None, np.zeros(500))
        assert log.bound == pytest.approx(log.certificate().value, rel=1e-12)


def test_totals_expect_the_ratio_before_the_start(tmp_path):
    rng = np.random.default_rng(2)
    sizes = rng.integers(20, 200, 3000)
    bits = sizes * rng.uniform(1.8, 2.2, 3000)
    declared = {"loss": "bits", "limit": 9.0, "totals": True, "longest": 200, "shortest": 20}
    values = {}
    for start, expected in ((1000, None), (1000, 2.0), (0, None), (0, 2.0)):
        more = {} if expected is None else {"expected": expected}
        with Prequential(tmp_path / f"{start} {expected}", start=start, **declared, **more) as log:
            for i in range(0, 3000, 70):
                log.before(None, bits[i : i + 70], sizes[i : i + 70])
            certificate = log.certificate()
            assert log.bound == pytest.approx(certificate.value, rel=1e-9)
            values[start, expected] = certificate.value
            if start and expected is None:
                early = bits[875:1000].sum() / sizes[875:1000].sum()
                assert certificate.facts.expected == pytest.approx(early)
    mean = bits[1000:].sum() / sizes[1000:].sum()
    assert mean < values[1000, None] < mean + 0.06 and values[0, 2.0] < values[0, None]


def test_what_was_logged_is_not_counted_again(tmp_path):
    logged(tmp_path, ERRORS[:600])
    with Prequential(tmp_path) as log:  # restored from an older checkpoint, at unit 400
        assert log.units == 600
        for i in range(400, 1000, 50):
            log.before(i, np.ones(50) if i < 600 else ERRORS[i : i + 50])
    read = read_pass(tmp_path)
    assert read.n == 1000 and (read.losses == ERRORS[:1000]).all()


def test_units_without_places_do_not_go_on_after_a_restart(tmp_path):
    """The model may be restored from unit 400 of 600: the next 200 would be logged twice."""
    logged(tmp_path, ERRORS[:600])
    with Prequential(tmp_path) as log:
        with pytest.raises(InputError, match="an earlier run goes on"):
            log.before(None, np.zeros(50))
        log.before(600, np.zeros(50))
        assert log.units == 650


def test_a_batch_that_is_known_in_part_is_logged_in_part(tmp_path):
    with Prequential(tmp_path) as log:
        log.before(None, np.zeros(70))
        log.before(50, np.ones(50))
        assert log.units == 100 and log.tally.m == 100
    assert read_pass(tmp_path).losses.sum() == 30


def test_units_that_are_skipped_are_refused_or_count_as_lost(tmp_path):
    with Prequential(tmp_path) as log:
        log.before(None, np.zeros(100))
        with pytest.raises(InputError, match="the next of the order"):
            log.before(120, np.zeros(10))
        log.resume(trained=120)
        log.before(120, np.zeros(10))
        certificate = log.certificate()
    assert certificate.facts.lost == 20 and certificate.facts.counted == 130
    assert certificate.facts.mean_loss == 20 / 130 and certificate.facts.largest_loss == 1
    x = np.zeros(130)
    x[100:120] = 1
    assert certificate.value == upper("mixture", x, -np.log(0.05)) == pytest.approx(log.bound)


def test_other_declarations_do_not_go_on(tmp_path):
    logged(tmp_path, start=10)
    for declared in ({"start": 20}, {"start": 10, "delta": 0.01}, {}):
        with pytest.raises(InputError, match="the same declarations"):
            Prequential(tmp_path, **declared)


def test_a_journal_has_one_writer(tmp_path):
    with (
        Prequential(tmp_path),
        pytest.raises(InputError, match="no one else writes"),
    ):
        Prequential(tmp_path)


def test_a_frame_that_is_cut_off_is_dropped_and_a_changed_one_refused(tmp_path):
    logged(tmp_path, ERRORS[:500])
    path = tmp_path / "rank-0.log"
    whole = path.read_bytes()
    path.write_bytes(whole[:-7])
    with Prequential(tmp_path) as log:
        assert log.units == 450
        log.before(450, ERRORS[450:500])
    assert path.read_bytes() == whole
    changed = bytearray(whole)
    changed[len(whole) // 2] ^= 1
    path.write_bytes(changed)
    for read in (read_pass, Prequential):
        with pytest.raises(InputError, match="a chain of hashes"):
            read(tmp_path)


def test_every_cut_of_a_journal_goes_on(tmp_path):
    logged(tmp_path, ERRORS[:60], batch=20)
    path = tmp_path / "rank-0.log"
    whole = path.read_bytes()
    for end in range(0, len(whole), 11):
        path.write_bytes(whole[:end])
        with Prequential(tmp_path) as log:
            while log.units < 60:
                log.before(log.units, ERRORS[log.units : log.units + 20])
        assert path.read_bytes() == whole, end


def test_journals_of_several_devices_are_one_pass(tmp_path):
    """Each step has 40 units: ten places for each rank; rank 2 is killed before the last step."""
    for rank in range(4):
        with Prequential(tmp_path, rank=rank, ranks=4, start=40) as log:
            for step in range(10 - (rank == 2)):
                places = 40 * step + 10 * rank + np.arange(10)
                log.before(places, ERRORS[places], step=step)
                log.before(places, np.ones(10), step=step)  # again: passed over
            assert "of this process" in log.line()
    read = read_pass(tmp_path)
    assert read.n == 360 and (read.losses == ERRORS[:360]).all()
    alone = tmp_path / "alone"
    assert (
        PrequentialMethod()(read, None, start=40).value
        == logged(alone, ERRORS[:360], start=40).value
    )
    (tmp_path / "rank-3.log").rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="rank 0 of 3"):
        read_pass(tmp_path)


def test_a_restart_on_several_devices_counts_the_units_of_all(tmp_path):
    """Process 0 has logged ten of the forty units that the restored model has learnt from."""
    for rank in range(4):
        with Prequential(tmp_path, rank=rank, ranks=4) as log:
            log.before(10 * rank, np.zeros(10), step=0)
    for rank in range(4):
        with Prequential(tmp_path, rank=rank, ranks=4) as log:
            log.resume(trained=40)
            with pytest.raises(InputError, match="at most the 40 units"):
                log.resume(trained=41)
            log.before(40 + 10 * rank, np.zeros(10), step=1)
    assert read_pass(tmp_path).n == 80


def test_units_that_devices_skip_are_refused(tmp_path):
    for rank in range(2):  # the first half and the second half of the data: no order of steps
        with Prequential(tmp_path, rank=rank, ranks=2) as log:
            for step in range(5):
                log.before(1000 * rank + 10 * step, np.zeros(10), step=step)
            with pytest.raises(InputError, match="step"):
                log.before(None, np.zeros(10))
    with pytest.raises(InputError, match="unit 50 of the order"):
        read_pass(tmp_path)


KILLED = textwrap.dedent("""
    import sys
    from dudley.certificates.methods.prequential.log import Prequential
    with Prequential(sys.argv[1]) as log:
        at = log.units // 30 * 30   # the checkpoint that is restored is older than the journal
        while at < 900:
            known = len(sys.argv[2]) * (at < log.units)  # the model is another one after a restart
            log.before(at, [(7 * i + known) % 5 == 0 for i in range(at, at + 10)])
            at += 10
            print(at, flush=True)
""")


@pytest.mark.slow
def test_a_pass_that_is_killed_twenty_times_is_one_pass(tmp_path):
    """Each run is killed at a random moment; the replayed units come with other losses."""
    rng, environment = np.random.default_rng(0), os.environ | {"OMP_NUM_THREADS": "1"}
    for run in range(21):
        command = [sys.executable, "-c", KILLED, str(tmp_path), "x" * run]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
        assert process.stdout is not None
        if run < 20:
            for _ in range(int(rng.integers(0, 12))):
                process.stdout.readline()
            process.kill()
        process.communicate()
    assert process.returncode == 0
    read = read_pass(tmp_path)
    assert read.n == 900 and (read.losses == ((7 * np.arange(900)) % 5 == 0)).all()


@pytest.mark.parametrize(
    ("losses", "declared", "words"),
    [
        ([0.5], {}, "0 or 1"),
        ([2.0], {"loss": "bounded"}, "0 to the limit"),
        ([np.nan], {"loss": "bounded"}, "finite numbers"),
        ([[1.0]], {}, "one for every unit"),
        ([1.0], {"loss": "bits", "limit": 8.0}, "sizes"),
        (([1.0, 2.0], [1, 1.5]), {"loss": "bits", "limit": 8.0}, "whole numbers"),
    ],
)
def test_losses_of_another_kind_are_refused_and_nothing_is_written(
    tmp_path, losses, declared, words
):
    with Prequential(tmp_path, **declared) as log:
        size = (tmp_path / "rank-0.log").stat().st_size
        with pytest.raises(InputError, match=words):
            log.before(None, *(losses if isinstance(losses, tuple) else (losses,)))
        assert (tmp_path / "rank-0.log").stat().st_size == size


@pytest.mark.parametrize(
    "declared",
    [
        {"about": "mixture"}, {"about": "final"}, {"loss": "clipped"}, {"limit": 2.0}, 
        {"start": -1},
        {"totals": True}, {"about": "checkpoint"}, {"tolerance": 0.1}, {"mode": "both"},
        {"loss": "bits", "limit": 9.0, "longest": 9}, {"unit": "x" * 50}, {"unit": "Tokens"},
        {"form": "adaptive"},
        {"loss": "bits", "limit": 9.0, "about": "mixture", "unit": "token"},
        {"loss": "bits", "limit": 9.0, "about": "mixture", "distinct": True},
        {"seed": 3}, {"loss": "bounded", "limit": 2.0, "tolerance": 3.0}, {"guess": 2.0},
    ],
)  # fmt: skip
def test_declarations_that_mean_nothing_are_refused(tmp_path, declared):
    with pytest.raises(InputError):
        Prequential(tmp_path, **declared)
    assert not list(tmp_path.iterdir())


def test_quantities_are_named_apart(tmp_path):
    bits = {"loss": "bits", "limit": 9.0}
    many = [
        {}, {"loss": "bounded"}, bits, bits | {"about": "mixture"}, bits | {"unit": "token"},
        bits | {"totals": True, "longest": 100, "shortest": 10}, {"unit": "package"},
    ]  # fmt: skip
    quantities = []
    for i, declared in enumerate(many):
        with Prequential(tmp_path / str(i), **declared) as log:
            x = np.full(40, 20.0) if "limit" in declared else np.zeros(40)
            log.before(None, x, np.full(40, 10) if "limit" in declared else None)
            certificate = log.certificate()
            quantities.append(certificate.quantity)
            page = text(document([certificate.to_json()]))
            assert certificate.quantity[:40] in " ".join(page.split())
    assert len(set(quantities)) == len(many)
    assert all("not of the final model" in quantity for quantity in quantities)
    assert "drawn anew" not in quantities[4] and "at its place in the pass" in quantities[4]
    assert "sampled contexts" in quantities[4] and "totals" in quantities[5]


# -- order, checkpoints, verification by evaluation -----------------------------------------------


def test_a_journal_of_a_stranger_is_refused_where_its_losses_are_none(tmp_path):
    """Frames that are whole and chained, with a loss above the limit, or half an error."""
    for i, loss in enumerate((0.5, 3.0)):
        with Prequential(tmp_path / str(i)) as log:
            block = UnitBlock(0, np.arange(2), np.array([0.0, loss]), None)
            log.journal.append(b"L", block.to_bytes())
        with pytest.raises(InputError, match="losses"):
            read_pass(tmp_path / str(i))


def test_frames_that_do_not_fit_are_refused(tmp_path):
    good = UnitBlock(0, np.arange(3), np.zeros(3), np.ones(3, np.int64)).to_bytes()
    for i, content in enumerate((b"", good[:-1], good + b"1", good[:12] + b"\7" + good[13:])):
        with Prequential(tmp_path / str(i)) as log:
            log.journal.append(b"L", content)
        with pytest.raises(InputError, match="a frame of losses"):
            read_pass(tmp_path / str(i))
    for kind, words in ((b"D", "first and once"), (b"Z", "a kind of frame"), (b"C", "JSON")):
        with Prequential(tmp_path / words) as log:
            log.journal.append(kind, b"[")
        with pytest.raises(InputError, match=words):
            read_pass(tmp_path / words)
