"""Findings: no claim without readings, one verdict over all of them, smoke decides nothing."""

from __future__ import annotations

import itertools
import json

import pytest

from dudley.core.errors import InputError
from dudley.lab.finding import FORMER, OUTCOMES, SMOKE, Finding, PaperReading, verdict_of


def reading(outcome: str, chosen: str = "a", choice: str = "c") -> PaperReading:
    return PaperReading(choice, chosen, "is silent", outcome)


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
    ],
)
def test_one_verdict_over_all_readings(outcomes: str, verdict: str):
    words = {word[0]: word for word in OUTCOMES}
    for order in itertools.permutations(enumerate(outcomes)):
        readings = [reading(words[letter], str(i)) for i, letter in sorted(order)]
        assert verdict_of(readings) == verdict
    assert Finding.of_claim("x", readings, "y").verdict == verdict


def test_what_it_depends_on_is_the_choice_that_splits():
    same = [reading("holds", "1", "tokens"), reading("holds", "2", "tokens")]
    split = [reading("holds", "3", "pixels"), reading("fails", "4", "pixels")]
    assert verdict_of(same + split) == "depends on pixels"
    assert verdict_of([same[0], split[1]]) == "depends on tokens; pixels"


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
        PaperReading("c", "a", " ", "holds")


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
