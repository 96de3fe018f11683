"""Findings: no claim without readings, one verdict over all of them, smoke decides nothing."""

from __future__ import annotations

import itertools
import json

import pytest

from dudley.core.errors import InputError
from dudley.lab.finding import (
    FORMER,
    OUTCOMES,
    SMOKE,
    Finding,
    PaperReading,
    answer_of,
    counts,
    verdict_of,
)


def reading(outcome: str, chosen: str = "a", choice: str = "c") -> PaperReading:
    return PaperReading({choice: chosen}, "is silent", outcome)


@pytest.mark.parametrize(
    ("outcomes", "verdict"),
    [
        ("hh", "reproduced"),
        ("ff", "not reproduced under any reading tried"),
        ("uu", "undecided"),
        ("fu", "undecided"),
        ("hu", "reproduced under 0"),
        ("uhh", "reproduced under 1; 2"),
        ("hf", "depends on c"),
        ("hfu", "depends on c"),
        ("nn", "not contradicted"),
        ("nu", "not contradicted with 0"),
        ("nh", "reproduced under 1"),
        ("nf", "depends on c"),
    ],
)
def test_one_verdict_over_all_readings(outcomes: str, verdict: str):
    words = {word[0]: word for word in OUTCOMES}
    for order in itertools.permutations(enumerate(outcomes)):
        readings = [reading(words[letter], str(i)) for i, letter in sorted(order)]
        assert verdict_of(readings) == verdict
    assert Finding.of_claim("x", readings, "y").verdict == verdict


@pytest.mark.parametrize(
    ("answers", "verdict"),
    [
        ("cc", "confirmed"),
        ("rr", "refuted"),
        ("uu", "undecided"),
        ("cu", "confirmed under 0"),
        ("ru", "refuted under 0"),
        ("cr", "depends on margin"),
        ("cru", "depends on margin"),
    ],
)
def test_the_answer_to_a_hypothesis_of_ours_is_one_over_all_readings(answers: str, verdict: str):
    words = {word[0]: word for word in ("confirmed", "refuted", "undecided")}
    readings = [PaperReading.ours({"margin": str(i)}, words[a]) for i, a in enumerate(answers)]
    finding = Finding.under_readings("x", readings, "y")
    assert answer_of(readings) == finding.verdict == verdict
    assert Finding.read(json.loads(json.dumps(finding.as_json()))) == finding
    assert finding.at_scale("smoke").verdict == SMOKE
    with pytest.raises(InputError, match="verdict of a finding"):
        Finding.read(finding.as_json() | {"verdict": "reproduced"})


def test_a_hypothesis_has_an_answer_or_readings():
    two = [PaperReading.ours({"margin": text}, "confirmed") for text in ("1", "2")]
    with pytest.raises(InputError, match="readings of a hypothesis: expected at least two"):
        Finding.under_readings("x", [], "y")
    with pytest.raises(InputError, match="readings of a hypothesis: expected two of an open"):
        Finding.under_readings("x", two[:1], "y")
    with pytest.raises(InputError, match="answer to a hypothesis with readings"):
        Finding("x", "hypothesis", "y", readings=tuple(two), answer="confirmed")
    with pytest.raises(InputError, match="answer of a reading"):
        PaperReading.ours({"margin": "1"}, "holds")


def test_what_it_depends_on_is_the_choice_that_splits():
    same = [reading("holds", "1", "tokens"), reading("holds", "2", "tokens")]
    split = [reading("holds", "3", "pixels"), reading("fails", "4", "pixels")]
    assert verdict_of(same + split) == "depends on pixels"
    assert verdict_of([same[0], split[1]]) == "depends on tokens, pixels"


def of(outcome: str, **choices: str) -> PaperReading:
    return PaperReading(choices, "is silent", outcome)


def test_a_choice_that_was_never_varied_is_not_named():
    short = of("fails", pixels="x/255", epochs="600", batches="full")
    longer = of("holds", pixels="x/255", epochs="6,000", batches="full")
    mini = of("holds", pixels="x/255", epochs="300", batches="32")
    assert verdict_of([short, longer]) == "depends on epochs"
    assert verdict_of([short, mini]) == "depends on epochs, batches"
    # That both changed says nothing of the batches, since the epochs alone decide elsewhere.
    assert verdict_of([short, longer, mini]) == "depends on epochs"
    signed = of("holds", pixels="2x/255 − 1", epochs="600", batches="full")
    assert verdict_of([short, longer, signed]) == "depends on pixels, epochs"


def test_a_verdict_names_readings_in_few_words():
    rows = [
        of(
            "holds" if begin == "T ≥ 100" and runs == "all runs" else "undecided",
            a=begin,
            b=runs,
            c="x",
        )
        for begin in ("T ≥ 100", "T ≥ 150")
        for runs in ("all runs", "the largest of the runs")
    ]
    assert verdict_of(rows) == "reproduced under T ≥ 100, all runs"
    long = [of("holds", a=f"{i} and so many more words"[:-i]) for i in (1, 2, 3)]
    assert verdict_of([*long, of("undecided", a="x")]) == "reproduced under 3 of 4 readings"


def test_what_the_paper_excludes_is_listed_and_decides_nothing():
    ours = PaperReading({"check": "the last"}, "takes the best", "fails", contrary=True)
    theirs = PaperReading({"check": "the best"}, "takes the best", "holds")
    finding = Finding.of_claim("x", [theirs, ours], "y")
    assert finding.verdict == "reproduced"
    assert Finding.read(json.loads(json.dumps(finding.as_json()))) == finding
    with pytest.raises(InputError, match="readings of a claim: expected at least one"):
        Finding.of_claim("x", [ours, ours], "y")


def test_an_older_reading_had_one_choice():
    older = {"choice": "c", "chosen": "a", "paper": "is silent", "outcome": "holds", "numbers": {}}
    assert PaperReading.read(older) == reading("holds")


def test_several_depend():
    split = Finding.of_claim("x", [reading("holds", "1"), reading("fails", "2")], "y")
    assert counts([split]) == "the paper's claims: 1 depends on the reading"
    assert counts([split, split]) == "the paper's claims: 2 depend on the reading"


def test_a_claim_without_readings_is_refused():
    with pytest.raises(InputError, match="readings of a claim: expected at least one"):
        Finding.of_claim("x", [], "y")
    with pytest.raises(InputError, match="two of an open choice"):
        Finding.of_claim("x", [reading("holds")], "y")
    assert Finding.of_claim("x", [PaperReading.printed("holds")], "y").verdict == "reproduced"
    with pytest.raises(InputError, match="readings of a question"):
        Finding("x", "question", "y", readings=(reading("holds"), reading("fails")))
    with pytest.raises(InputError, match="answer to a hypothesis"):
        Finding.of_hypothesis("x", "reproduced", "y")
    with pytest.raises(InputError, match="outcome of a reading"):
        reading("reproduced")
    with pytest.raises(InputError, match="paper of a reading"):
        PaperReading({"c": "a"}, " ", "holds")


def test_smoke_decides_nothing():
    findings = [
        Finding.of_claim("x", [PaperReading.printed("holds")], "y"),
        Finding.of_hypothesis("x", "refuted", "y"),
        Finding.of_question("x", "y"),
    ]
    assert {finding.at_scale("smoke").verdict for finding in findings} == {SMOKE}
    assert [finding.at_scale("laptop") for finding in findings] == findings
    assert [finding.word for finding in findings] == ["reproduced", "refuted", "measured"]
    assert findings[0].at_scale("smoke").word == "undecided"


def test_files_hold_all_and_no_verdict_of_their_own():
    findings = [
        Finding.of_claim("x", [reading("holds"), reading("fails", "b")], "y", {"n": 1}),
        Finding.of_hypothesis("x", "refuted", "y").at_scale("smoke"),
        Finding.of_question("x", "y"),
    ]
    for finding in findings:
        record = json.loads(json.dumps(finding.as_json()))
        assert Finding.read(record) == finding
        with pytest.raises(InputError, match="verdict of a finding"):
            Finding.read(record | {"verdict": "reproduced"})


def test_a_record_from_before_readings_repeats_no_verdict():
    record = {"claim": "x", "verdict": "not reproduced", "found": "y", "numbers": {}}
    assert Finding.read(record).verdict == "measured"
    with pytest.raises(InputError, match="verdict of a finding"):
        Finding.read(record | {"verdict": "proved"})
    assert "reproduced" in FORMER
