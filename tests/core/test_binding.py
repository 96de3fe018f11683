"""Inputs reach a program by the names of its arguments; a wrong name is refused at once."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import pytest

from dudley.core.binding import arguments, bundled
from dudley.core.errors import InputError
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Verdict
from dudley.theorems import registry


@dataclass(frozen=True)
class Sample:
    n: float
    delta: float


def statement(**forms) -> Statement:
    fine = Form("", lambda n, W_QK_l11: W_QK_l11 / n)
    return Statement(
        id="li2026/lemma-99",
        kind="lemma",
        says="",
        quantity="",
        inputs=(Input("n"), Input("W_QK.l11"), Input("delta")),
        verdict=Verdict.true(),
        erratum="",
        example={},
        **{"printed": fine, "derived": fine} | forms,
    )


@pytest.fixture
def register():
    yield registry.register
    if "li2026/lemma-99" in registry.STATEMENTS:
        registry.STATEMENTS.remove("li2026/lemma-99")


@pytest.mark.parametrize(
    "form, program, says",
    [
        ("printed", lambda n, W_QK_l1: n, "got W_QK_l1; did you mean W_QK.l11?"),
        ("derived", lambda n, X_row2inf: n, r"got X_row2inf; declare Input\('X.row2inf'\)"),
        ("best", lambda n, zzzz: n, "got zzzz; declare it as an Input"),
        ("best", bundled(Sample)(lambda sample, epsilom: 1.0), "got epsilom; did you mean epsilon"),
        ("best", lambda **inputs: 1.0, "got inputs"),
    ],
)
def test_a_form_that_takes_no_input_is_refused_when_it_is_registered(register, form, program, says):
    with pytest.raises(InputError, match=rf"li2026/lemma-99, {form}: .*{says}"):
        register(statement(**{form: Form("", program)}))
    assert "li2026/lemma-99" not in registry.STATEMENTS


def test_inputs_arrive_by_name_and_defaults_hold_where_no_input_has_the_name(register):
    best = bundled(Sample, delta=0.5)(lambda sample, W_QK_l11, c=2.0: c * W_QK_l11 * sample.delta)
    optional = Form("", lambda n, delta=7.0: n * delta)
    it = register(statement(best=Form("", best), derived=optional))
    values = {"n": 4, "W_QK.l11": 3.0, "delta": 0.25}
    assert it.evaluate_on(values, "printed").value == pytest.approx(0.75)
    assert it.evaluate_on(values, "derived").value == pytest.approx(1.0)
    assert it.evaluate_on(values, "best").value == pytest.approx(3.0)


def test_fixed_fields_are_no_arguments():
    program = bundled(Sample, delta=0.5)(lambda sample, c=1.0: sample.n)
    assert arguments(program) == {"n": True, "c": False}


def test_a_decorated_program_takes_what_it_took():
    program = bundled(Sample)(lambda sample, c=1.0: sample.n)

    @functools.wraps(program)
    def halved(**inputs):
        return program(**inputs) / 2

    assert arguments(halved) == arguments(program) == {"n": True, "delta": True, "c": False}


def test_every_statement_takes_only_what_it_declares():
    for _, each in registry.load().items():
        each.check_arguments()
    broken = replace(each, inputs=())
    with pytest.raises(InputError, match=each.id):
        broken.check_arguments()
