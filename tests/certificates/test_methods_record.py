"""The record of methods side by side: numbers follow from counts, and keep limits set before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dudley.calculus.inversion import binomial_upper
from dudley.certificates import side_by_side
from dudley.certificates.methods.pick_to_learn.bound import risk_upper
from dudley.certificates.methods.pick_to_learn.capped import capped_upper
from dudley.certificates.price import Bill, bits, one_of
from dudley.core.errors import InputError
from dudley.core.rounding import ceiling

RECORD = Path(__file__).parents[2] / "results/certificates/methods.json"
ALONE = {"and": 0.0003, "majority": 0.0007, "mnist01": 0.009, "mnist": 0.045, "spam": 0.07,
         "imdb": 0.18}  # fmt: skip
SHARED = {"mnist01": 0.005, "mnist": 0.025, "spam": 0.035, "imdb": 0.125}


@pytest.fixture(scope="module")
def rows():
    return json.loads(RECORD.read_text(encoding="utf-8"))["rows"]


def test_every_number_of_pick_to_learn_follows_from_its_counts(rows):
    picked = [row for row in rows if row["method"].startswith("pick-to-learn")]
    assert len(picked) >= 30
    for row in picked:
        counts, declared = row["counts"], row["declared"]
        prices = [("stop", len(declared["rounds"])), ("method", declared["among"])]
        bill = Bill(declared["delta"], tuple(one_of(n, k) for n, k in prices if k > 1))
        picks, left, N = counts["picks"], counts["failures"], counts["examples counted"]
        assert row["n"] - declared["initial"] == N, row
        if "most" in declared:
            value = capped_upper(picks, left, N, declared["most"], bill.log_confidence)
        else:
            value = risk_upper(picks + left, N, bill.log_confidence)
        assert row["value"] == value, (row["task"], row["n"], row["seed"])


def test_every_hold_out_is_the_best_of_three_at_a_third_of_delta(rows):
    held_out = [row for row in rows if row["method"] == "hold-out"]
    assert {row["task"] for row in held_out} >= {*ALONE, "threads"}
    c = Bill(0.05, (one_of("look", 3),)).log_confidence
    for row in held_out:
        values = [binomial_upper(s["errors"], s["held out"], c) for s in row["splits"]]
        assert [s["value"] for s in row["splits"]] == values, (row["task"], row["n"])
        assert row["value"] == min(values)
        assert len(values) == 3


def test_a_pass_that_pays_for_nothing_has_its_own_number():
    record = side_by_side.read(RECORD, RECORD.with_name("one-pass.json"))
    passes = [row for row in record.rows if row.method == "one pass"]
    assert {row.task for row in passes} == {"and", "majority", "mnist01"}
    plain = json.loads(RECORD.with_name("one-pass.json").read_text(encoding="utf-8"))["rows"]
    values = {(row["task"], row["seed"]): row["value"] for row in plain}
    for row in passes:
        value = values[row.task, row.seed]
        assert side_by_side.pass_that_pays(row, 1, 0.05) == pytest.approx(value, rel=1e-12)
        assert row.value > value if row.among > 1 else row.value == value
        assert row.among == (20 if row.task == "mnist01" else 1)


def test_of_passes_over_the_same_sample_the_one_that_pays_for_more_is_shown():
    """Settings were changed after the first passes over IMDB; those rows stay in their record."""
    file = RECORD.with_name("one-pass-pools.json")
    raw = json.loads(file.read_text(encoding="utf-8"))["rows"]
    runs = [(row["task"], row["n"], row["seed"]) for row in raw]
    assert len(set(runs)) < len(runs)
    shown = side_by_side.read(RECORD, file).of("imdb", "one pass", 40_000)
    (last,) = (row for row in raw if (row["n"], row["among"]) == (40_000, 2))
    assert [row.counts["errors before updates"] for row in shown] == [last["errors"]]
    assert shown[0].value > last["value"], "it pays for as many recipes as the rows beside it"


def test_words_pay_for_their_bits(rows):
    words = [row for row in rows if row["method"] == "occam"]
    assert words
    for row in words:
        counts = row["counts"]
        c = Bill(0.05, (bits("word", counts["bits"]),)).log_confidence
        least = binomial_upper(counts["failures"], counts["examples counted"], c)
        assert row["value"] >= least, (row["task"], row["n"])


def test_single_seeds_above_their_limit_are_those_that_are_known():
    """Limits are kept by the median of three seeds; these two rows miss them."""
    record = side_by_side.read(RECORD)
    above = [(task, row.seed) for task, limit in ALONE.items()
             for row in record.of(task, "pick-to-learn", record.sizes(task)[-1])
             if row.value > limit]  # fmt: skip
    assert above == [("majority", 2), ("mnist01", 2)]


def test_the_limits_that_were_set_before():
    record = side_by_side.read(RECORD)
    for method, limits in (("pick-to-learn", ALONE), ("pick-to-learn after a share", SHARED)):
        for task, limit in limits.items():
            rows = record.of(task, method, record.sizes(task)[-1])
            assert len(rows) >= 2, (task, method)
            assert side_by_side.spread(rows)[1] <= limit, (task, method)
    picks = [row.counts["picks"] for row in record.rows if row.method.startswith("pick")]
    assert min(picks) > 0, "with no picks it would be a hold-out"


def test_the_error_on_fresh_examples_is_below_the_certificate():
    """Each number fails with probability at most δ: most of the rows must hold."""
    record = side_by_side.read(RECORD)
    above = [row for row in record.rows if (row.test_error or 0) > row.value]
    assert len(above) <= 0.05 * len(record.rows), above


def test_what_units_cost_stands_on_the_page_of_data():
    page = RECORD.parents[2].joinpath("docs/howto/data.md").read_text(encoding="utf-8")
    record = side_by_side.read(RECORD)
    mails, threads = (
        record.of(task, "hold-out", n) for task, n in (("spam", 5000), ("threads", 2900))
    )
    for row in (*mails, *threads):
        assert row.test_error is not None
        assert f" {ceiling(row.value, 3)}".replace(" 0.", " .") in page, row
        assert f" {row.test_error:.4f}".replace(" 0.", " .") in page, row


def test_another_method_or_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="method of a row"):
        side_by_side.MethodRow("and", "magic", 10, 0, 0.1, 0.0, {})
    file = tmp_path / "record.json"
    file.write_text('{"schema": "another"}', encoding="utf-8")
    with pytest.raises(InputError, match="schema"):
        side_by_side.read(file)
