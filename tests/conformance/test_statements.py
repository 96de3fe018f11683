"""Every published statement keeps the contract, and every refutation refutes."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest

from dudley.core.bound import Sense
from dudley.core.statement import MissingInputs, Statement
from dudley.core.verdict import Extent
from dudley.core.vocabulary import known
from dudley.theorems import registry
from dudley.theorems.witness.base import WITNESSES, family_against
from each import each

STATEMENTS = dict(registry.load().items())
CASES = [(w, s) for _, w in WITNESSES.items() for s in w.refutes]
IDS = (Path(__file__).parent.parent / "theorems" / "ids.txt").read_text().split()


def forms(statement: Statement) -> list[str]:
    return [f for f in ("printed", "derived", "best") if getattr(statement, f) is not None]


def check_refuted(statement: Statement, witness) -> None:
    """printed < what is provably true ≤ derived, on the same inputs."""
    inputs = witness.inputs(statement.id)
    printed = statement.evaluate_on(inputs, "printed")
    truth = witness.lower_bound()
    assert printed.value < truth, f"{statement.id}: printed {printed.value} is not below {truth}"
    for form in forms(statement)[1:]:
        value = statement.evaluate_on(inputs, form).value
        assert value >= truth * (1 - 1e-12), f"{statement.id}: {form} {value} is below {truth}"


def test_no_statement_has_vanished():
    assert sorted(STATEMENTS) == sorted(IDS)


@each("id", STATEMENTS)
def test_a_statement_is_complete(id):
    s = STATEMENTS[id]
    paper, _, rest = id.partition("/")
    assert paper in registry.PAPERS and rest.partition("-")[0] == s.kind
    assert s.says and s.quantity and s.example is not None
    assert s.erratum or s.verdict.stands
    for i in s.inputs:
        assert known(i.name), f"{i.name} is not in the vocabulary"
        assert i.text and i.text != i.name
    for name in forms(s):
        latex = getattr(s, name).latex
        assert latex and latex.count("{") == latex.count("}")
        assert latex.count(r"\left") == latex.count(r"\right")


@each("id", STATEMENTS)
def test_an_example_evaluates_in_every_form(id):
    s = STATEMENTS[id]
    for name in forms(s):
        bound = s.evaluate_on(s.example, name)
        assert not math.isnan(bound.value)
        assert bound.value >= 0 or bound.negative is not None
        if name != "printed":
            assert bound.negative is None and bound.sense is not Sense.CONSTANT
    if s.best is not None:
        best, derived = (s.evaluate_on(s.example, f).value for f in ("best", "derived"))
        assert best <= derived * (1 + 1e-9)


@each("id", STATEMENTS)
def test_a_hidden_constant_is_an_input_and_flagged(id):
    s = STATEMENTS[id]
    has_constant = any(i.name == "c" for i in s.inputs)
    assert has_constant == (s.printed.sense is Sense.CONSTANT)
    if has_constant:
        at_1 = s.evaluate_on({**s.example, "c": 1.0}, "printed").value
        at_2 = s.evaluate_on({**s.example, "c": 2.0}, "printed").value
        assert at_2 != at_1 or at_1 == 0


@each("id", [id for id, s in STATEMENTS.items() if any(i.default is None for i in s.inputs)])
def test_every_missing_input_is_named_at_once(id):
    s = STATEMENTS[id]
    needed = [i.name for i in s.inputs if i.default is None]
    with pytest.raises(MissingInputs) as error:
        s.evaluate_on({})
    assert all(name in str(error.value) for name in needed)


def test_a_doctest_shows_every_statement_at_work():
    modules = [m for name, m in sys.modules.items() if name.startswith("dudley.theorems.")]
    shown = "\n".join("".join((m.__doc__ or "").partition(">>>")[1:]) for m in modules)
    assert [id for id in STATEMENTS if id not in shown] == []


@each("id", [i for i, s in STATEMENTS.items() if s.verdict.is_false])
def test_a_false_statement_has_a_witness(id):
    """And one that refutes what the statement claims to exist, not only the paper's own weights."""
    against = [witness for _, witness in WITNESSES.items() if id in witness.refutes]
    assert any(not witness.own_weights for witness in against)


@each("id", [i for i, s in STATEMENTS.items() if s.verdict.fails is Extent.EMPTY])
def test_what_fails_only_where_nothing_is_said_is_refuted_only_there(id):
    for witness in [witness for _, witness in WITNESSES.items() if id in witness.refutes]:
        assert STATEMENTS[id].evaluate_on(witness().inputs(id), "derived").vacuous


@each("witness, id", CASES)
def test_a_witness_refutes_what_is_printed_and_spares_what_is_derived(witness, id):
    check_refuted(STATEMENTS[id], witness())


@each("witness, id", [(w, i) for w, i in CASES if STATEMENTS[i].printed.sense is Sense.CONSTANT])
def test_a_hidden_constant_is_refuted_by_a_family(witness, id):
    family = family_against(witness(), id)
    assert family is not None
    ratios = [t / p for t, p in zip(family.lower_bounds, family.printed, strict=True)]
    assert family.exponent > 0.1
    assert ratios[-1] > 2 * ratios[0]


def test_the_checks_can_fail():
    """A witness with a lower bound past the derived value must be caught."""
    witness, id = CASES[0]

    class TooStrong(witness):
        def lower_bound(self):
            inputs = self.inputs(id)
            return 2 * STATEMENTS[id].evaluate_on(inputs, "derived").value

    class TooWeak(witness):
        def lower_bound(self):
            return 0.0

    for broken in (TooStrong, TooWeak):
        with pytest.raises(AssertionError):
            check_refuted(STATEMENTS[id], broken())
