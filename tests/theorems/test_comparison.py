"""Comparisons: every value is the statement's own, and a sweep changes no digit."""

from __future__ import annotations

import functools
import json
import math

import pytest

from dudley.calculus import hull
from dudley.core.bound import Bound
from dudley.core.errors import DudleyError, InputError, UnknownName
from dudley.core.situation import RANKS, SHAPES, Situation, canonical
from dudley.core.statement import MEASURES
from dudley.core.sweep import Sweep
from dudley.theorems import registry
from dudley.theorems.comparison import FORMS, compare, inputs_of
from each import each

STATEMENTS = dict(registry.load().items())
NORMS = {"W_QK.l11": 2.0, "W_v.l11": 1.0, "W_c.l11": 1.0, "w.l1": 1.0, "X.row2inf": 1.0}
SIZES = {"n": 1e6, "T": 32, "d": 16, "k": 8, "L": 2, "H": 2}
HERE = NORMS | SIZES | {"sigma.lipschitz": 1.0, "epsilon": 0.5, "kappa": 1.0, "target.bound": 1.0}


@functools.cache
def here():
    """The comparison of all statements in one situation; no test changes it."""
    return compare(HERE)


def values(outcomes) -> list:
    """What a curve says, to the last digit."""
    return [o if isinstance(o, str) else (o.log_value, o.exact, o.trivial) for o in outcomes]


@pytest.mark.slow
@pytest.mark.parametrize("axis", ["n=1e3:1e9:log3", "W_QK.l11=0.1:50:log3", "T=2:300:log3"])
def test_a_swept_value_is_the_single_one_to_the_last_digit(axis: str):
    sweep = Sweep.parse(axis)
    hull.forget()
    swept = compare(HERE, sweep)
    assert len(swept.rows) > 20
    for i, x in enumerate(sweep.values):
        hull.forget()
        alone = compare({**HERE, sweep.name: x})
        assert [row.id for row in alone.rows] == [row.id for row in swept.rows]
        for alone_row, many in zip(alone.rows, swept.rows, strict=True):
            for form, outcomes in alone_row.curves.items():
                assert values(outcomes) == values(many.curves[form][i : i + 1]), (
                    alone_row.id,
                    form,
                    x,
                )


@pytest.mark.slow
@each("id", STATEMENTS)
def test_its_own_example_gives_a_statement_its_own_value_or_less(id: str):
    """What else follows from the example may only help."""
    s = STATEMENTS[id]
    inputs = inputs_of(s, Situation(s.example))
    assert set(inputs) >= {i.name for i in s.inputs if i.default is None}
    for form in s.forms:
        plain, derived = s.evaluate_on(s.example, form), s.evaluate_on(inputs, form)
        if all(inputs.get(name) == value for name, value in s.example.items()):
            assert derived.log_value <= plain.log_value + 1e-9, form


def derivable(name: str) -> bool:
    """Can a situation derive this name from others?"""
    owner, dot, norm = canonical(name).partition(".")
    is_matrix = owner in SHAPES or owner == "W" or owner.startswith("W_")
    return name in RANKS or name == "query.norm2" or (bool(dot) and is_matrix and norm != "moved")


@pytest.mark.slow
@each("id", STATEMENTS)
def test_bounds_grow_with_every_input_that_may_be_derived(id: str):
    """A derived input is an upper bound: it must not make a derived form smaller than the truth."""
    s = STATEMENTS[id]
    inputs = [i for i in s.inputs if derivable(i.name) and i.name in s.example]
    forms = [form for form in ("derived", "best") if inputs and form in s.forms]
    plain = {form: s.evaluate_on(s.example, form).log_value for form in forms}
    for i in inputs:
        larger = {**s.example, i.name: s.example[i.name] * 2}
        for form in forms:
            try:
                more = s.evaluate_on(larger, form)
            except DudleyError:
                continue  # a hypothesis ends there
            assert more.log_value >= plain[form] - 1e-9, (i.name, form)


def test_rows_are_grouped_and_complete():
    comparison = here()
    ids = [row.id for row in comparison.rows]
    assert len(ids) == len(set(ids)) and not set(ids) & set(comparison.missing)
    assert set(ids) | set(comparison.missing) == set(STATEMENTS)
    measures = [rows[0].statement.measure for rows in comparison.groups.values()]
    assert measures == sorted(measures, key=MEASURES.index)
    for heading, rows in comparison.groups.items():
        assert {row.statement.heading for row in rows} == {heading}
        assert len({(row.statement.measure, row.statement.subject) for row in rows}) == 1
    assert sum(map(len, comparison.groups.values())) == len(ids)


def test_what_is_missing_is_named_and_suffices():
    comparison = here()
    assert (
        "L"
        in compare({k: v for k, v in HERE.items() if k != "L"}).missing[
            "trauger2024/corollary-4.2.1"
        ]
    )
    for id, names in comparison.missing.items():
        more = Situation({**STATEMENTS[id].example})
        filled = {**HERE, **{name: more.find(name) for name in names}}
        wanted = inputs_of(STATEMENTS[id], Situation(filled))
        assert {i.name for i in STATEMENTS[id].inputs if i.default is None} <= set(wanted)


def test_what_was_derived_is_told():
    comparison = here()
    assert str(comparison.derived["W_v.op"]) == "W_v.op ≤ 1 from W_v.l11"
    assert comparison.derived["X.op"].value >= math.sqrt(32)
    assert not set(comparison.derived) & set(HERE)
    assert compare({**HERE, "W_9.op": 2.0}).unused == ("W_9.op",)


def test_an_optional_norm_is_passed_on_only_where_it_helps():
    s = STATEMENTS["trauger2024/corollary-4.1.1"]
    norms = {"n": 1e6, "d": 8, "k": 8, "w.l1": 1.0, "sigma.lipschitz": 1.0, "X.row2inf": 1.0}
    norms |= {"W_QK.l11": 1.0, "W_c.row1inf": 1.0, "W_v.row1inf": 1.0}
    assert "W_v.col1inf" not in inputs_of(s, Situation(norms))
    assert inputs_of(s, Situation(norms | {"W_v.l11": 2.0}))["W_v.col1inf"] == 2.0
    assert inputs_of(s, Situation(norms | {"W_v.col1inf": 3.0}))["W_v.col1inf"] == 3.0
    assert "W_v.col1inf" not in inputs_of(
        s, Situation(norms | {"W_v.col1inf": 30.0})
    )  # 8·1 is less


def test_a_statement_with_square_weights_is_not_asked_about_wider_ones():
    wide = compare({**HERE, "k": 64, "W_v.op": 1.0})
    for outcome in wide.row("edelman2021/corollary-4.4").curves["derived"]:
        assert outcome == "takes k = d, and k = 64 is more"
    assert isinstance(here().row("edelman2021/corollary-4.4").curves["derived"][0], Bound)


def test_parameter_counting_and_norms_cross_where_the_printed_formulas_say():
    norms = {"d": 8, "k": 8, "n": 1e7, "X.row2inf": 1.0}
    comparison = compare(norms, "W.l11=1.5:1e4:log60")
    (crossing,) = [c for c in comparison.crossings if c.form == "printed"]
    assert crossing.id == "trauger2024/section-2.5"
    assert crossing.kinds == ("norm_based", "parameter_counting")
    assert crossing.at == pytest.approx(64, rel=0.01)  # √(dk log B) = √(B log dk) at B = dk


def test_where_a_bound_begins_to_tell():
    comparison = compare(HERE, "n=1e2:1e9:log15", papers=("trauger2024",), forms=("derived",))
    row = comparison.row("trauger2024/section-2.5")
    i = row.informative_from("derived")
    bounds = row.bounds("derived")
    assert i and bounds[i].value < bounds[i].trivial <= bounds[i - 1].value
    assert here().row("trauger2024/lemma-3.6").informative_from("derived") is None


def test_papers_and_forms_narrow():
    comparison = compare(HERE, papers=("trauger2024",), forms=("printed",))
    assert {row.statement.paper for row in comparison.rows} == {"trauger2024"}
    assert all(set(row.curves) == {"printed"} for row in comparison.rows)
    with pytest.raises(UnknownName, match="trauger2024"):
        compare(HERE, papers=("trauger",))
    with pytest.raises(UnknownName, match="form"):
        compare(HERE, forms=("nice",))
    with pytest.raises(InputError, match="sweep"):
        compare(HERE, "n")


@pytest.mark.parametrize("sweep", [None, "n=10:1e12:log3"])
def test_json_is_strict(sweep):
    text = json.dumps(compare({**HERE, "L": 96, "W_QK.l11": 1e6}, sweep).to_json(), allow_nan=False)
    rows = json.loads(text)["rows"]
    assert {form for row in rows for form in row["forms"]} == set(FORMS)
