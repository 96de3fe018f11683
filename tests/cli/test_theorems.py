"""``dudley theorems`` and ``dudley evaluate`` as a user meets them, and the shipped JSON schema."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from importlib import resources

import pytest
from jsonschema import Draft202012Validator, ValidationError

from dudley.show.as_text import text
from dudley.show.pages.statement import summary
from dudley.theorems import registry
from dudley.theorems.witness.base import WITNESSES
from each import each

STATEMENTS = dict(registry.load().items())
REFUTING = {n: w for n, w in WITNESSES.items() if set(w.refutes) <= set(STATEMENTS)}
REFUTED = {
    id: names for id in STATEMENTS if (names := [n for n, w in REFUTING.items() if id in w.refutes])
}
LEMMA = ["evaluate", "trauger2024/lemma-3.6"]
GOOD = ["d=64", "k=64", "W.l11=1", "X.row2inf=1", "epsilon=0.5"]
KINDS = {
    "theorems": ["theorems", "--paper", "edelman2021"],
    "theorem": ["theorems", "show", "edelman2021/lemma-2.2"],
    "evaluate": [*LEMMA, *GOOD],
    "construct": ["construct", "and", "--T", "5", "--s", "2"],
}


def words(id: str) -> list[str]:
    return [f"{name}={value}" for name, value in STATEMENTS[id].example.items()]


@pytest.fixture(scope="module")
def pages() -> dict:
    """What `theorems show` printed of each statement, for all tests that read it."""
    return {}


@pytest.fixture
def page(dudley, monkeypatch, pages: dict) -> Callable:
    """`page(id)` is what `theorems show ID` prints on a terminal of 80 columns."""

    def shown(id: str):
        monkeypatch.setenv("COLUMNS", "80")
        if id not in pages:
            pages[id] = dudley("theorems", "show", id)
        return pages[id]

    return shown


def expect_within(columns: int, done) -> None:
    assert done.code == 0 and done.err == ""
    assert not [line for line in done.out.splitlines() if len(line) > columns]


@pytest.mark.slow
@each("id", STATEMENTS)
def test_a_statement_fits_the_terminal(page, id: str):
    expect_within(80, page(id))


@pytest.mark.slow
@each("id", list(STATEMENTS)[::8])
def test_a_statement_fits_a_wide_terminal(dudley, monkeypatch, id: str):
    monkeypatch.setenv("COLUMNS", "120")
    expect_within(120, dudley("theorems", "show", id))


@each("columns", [80, 120])
def test_lists_and_values_fit_the_terminal(dudley, monkeypatch, columns: int):
    monkeypatch.setenv("COLUMNS", str(columns))
    expect_within(columns, dudley("theorems"))
    for id in ("edelman2021/lemma-B.2", "trauger2024/theorem-4.1", "trauger2024/lemma-3.1"):
        expect_within(columns, dudley("evaluate", id, *words(id)))


@each("id", STATEMENTS)
def test_show_says_all_there_is(page, id: str):
    s, shown = STATEMENTS[id], " ".join(page(id).out.split())
    assert s.standing in shown and s.verdict.repair.value in shown + "nothing"
    assert s.says in shown and " ".join(s.erratum.split()) in shown
    unbroken = shown.replace(" ", "")
    for form in s.forms.values():
        assert form.latex.replace(" ", "") in unbroken
    for i in s.inputs:
        assert all(name in shown for name in (i.name, *i.aliases))


@pytest.mark.slow
@each("id", REFUTED)
def test_show_tells_the_numbers_of_a_counterexample(dudley, page, id: str):
    s, shown = STATEMENTS[id], " ".join(page(id).out.split())
    (item,) = dudley("theorems", "show", id, "--json").json()["items"]
    records = {record["name"]: record for record in item["counterexamples"]}
    for name in REFUTED[id]:
        witness = REFUTING[name]()
        inputs, truth = witness.inputs(id), witness.lower_bound()
        kind = "counterexample" if s.verdict.claims else "instance outside"
        part = shown[shown.index(f"{kind} {name}: ") :]
        assert " ".join(witness.story.split()) in part
        assert all(f" {n}=" in part for n in inputs)
        assert f" printed {s.evaluate_on(inputs, 'printed').value:.6g} " in part
        assert f" at least {truth:.6g} (proved)" in part
        assert f" derived {s.evaluate_on(inputs).value:.6g}" in part
        record = records[name]
        assert record["inputs"] == inputs and record["lower_bound"] == truth
        assert record["forms"]["printed"] < record["lower_bound"]


def test_show_tells_the_rates():
    s = replace(STATEMENTS["trauger2024/lemma-3.6"], rates={"printed": -1.0, "derived": -0.5})
    assert "rates, up to logarithms: printed n^(-1), derived n^(-1/2)" in text(summary(s, []))
    assert s.to_json()["rates"] == {"printed": -1.0, "derived": -0.5}
    assert "rates" not in text(summary(replace(s, rates={}), []))


def test_the_list_is_filtered(dudley):
    (count,) = dudley("theorems", "--verdict", "false").out.splitlines()[-1:]
    false = [s for s in STATEMENTS.values() if s.verdict.is_false]
    assert count == f"{len(false)} statements"
    (count,) = dudley("theorems", "--repair", "a symbol").out.splitlines()[-1:]
    symbols = [s for s in STATEMENTS.values() if s.verdict.repair.value == "a symbol"]
    assert count == f"{len(symbols)} statements"
    items = dudley("theorems", "--paper", "trauger2024", "--json").json()["items"]
    assert {i["id"] for i in items} == {i for i in STATEMENTS if i.startswith("trauger2024")}


@pytest.mark.slow
@pytest.mark.parametrize("id", STATEMENTS)
def test_every_form_of_every_example_speaks_json(dudley, id: str):
    items = dudley("evaluate", id, *words(id), "--json").json()["items"]
    assert [item["form"] for item in items] == list(STATEMENTS[id].forms)
    assert all(item["value"] is not None or item["log_value"] is not None for item in items)


def test_every_problem_is_named_at_once(dudley):
    line = dudley(*LEMMA, "d=1.5", "k=two", "W.l11=-1", "X.row2inf=nan").refused()
    for name in ("d: expected", "k: expected", "W.l11: expected", "X.row2inf: expected"):
        assert name in line
    assert "epsilon: missing" in line


BAD = {
    "no such statement": (["evaluate", "trauger2024/lemma-3.7"], "did you mean"),
    "no such input": ([*LEMMA, *GOOD, "T=4"], "unknown input of trauger2024/lemma-3.6 'T'"),
    "no such form": ([*LEMMA, *GOOD, "--form", "exact"], "known: best, derived, printed"),
    "two values": ([*LEMMA, *GOOD, "d=3"], "d: expected one value"),
    "two names of one input": ([*LEMMA, *GOOD, "B_x=2"], "X.row2inf: expected one value"),
    "past the floats": ([*LEMMA, *GOOD[:-1], "epsilon=1e-200"], "below 1e308"),
    "no number": ([*LEMMA, *GOOD[:-1], "epsilon"], "name=value"),
    "delta of 1": (["evaluate", "edelman2021/theorem-A.4", "n=9", "delta=1"], "delta: expected"),
    "no such paper": (["theorems", "--paper", "zhang"], "known: edelman2021, li2026"),
    "no such verdict": (["theorems", "--verdict", "wrong"], "known: claims nothing, false, true"),
    "no such repair": (["theorems", "--repair", "glue"], "known: a constant, a hypothesis"),
    "nothing to show": (["theorems", "show"], "id"),
}


@each("case", BAD)
def test_bad_input_is_refused(dudley, case: str):
    run, says = BAD[case]
    assert says in dudley(*run).refused()


def test_an_unknown_statement_is_not_answered_with_a_wall(dudley):
    assert len(dudley("theorems", "show", "x").refused()) < 500


def test_a_negative_formula_says_so(dudley):
    run = ["evaluate", "edelman2021/corollary-A.3", "n=4", "class.C=400", "class.radius=1"]
    assert "the formula is negative here" in " ".join(dudley(*run).out.split())
    items = dudley(*run, "--json").json()["items"]
    assert [item["negative"] for item in items] == [True, False, False]


@pytest.mark.parametrize("kind", KINDS)
def test_the_schema_knows_the_kind_and_can_refuse(dudley, kind: str):
    document = dudley(*KINDS[kind], "--json").json()
    assert document["kind"] == kind
    schema = resources.files("dudley") / "schemas" / "envelope.schema.json"
    validator = Draft202012Validator(json.loads(schema.read_text(encoding="utf-8")))
    for spoil in ("id", "verdict", "right"):
        if spoil in document["items"][0]:
            spoilt = copy.deepcopy(document)
            del spoilt["items"][0][spoil]
            with pytest.raises(ValidationError):
                validator.validate(spoilt)


@pytest.mark.parametrize("form", ["repaired", "printed"])
@pytest.mark.parametrize("mapping", ["positions", "trainable", "bag"])
def test_constructions_obey_the_schema(dudley, mapping: str, form: str):
    run = ["construct", "majority", "--T", "6", "--s", "3", "--mapping", mapping, "--form", form]
    done = dudley(*run, "--json")
    (item,) = done.json()["items"]
    assert done.code == (0 if item["right"] else 1)
