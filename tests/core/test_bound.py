"""Bounds: values past the floats, vacuity, the table and the JSON form."""

import json
import math

import pytest

from dudley.core.assumption import Assumption, Status
from dudley.core.bound import Bound, Sense, Term
from dudley.core.errors import InputError


def made(value, **facts):
    return Bound.of(value, quantity="risk", sense=Sense.CONFIDENCE, **facts)


def test_values_and_vacuity():
    assert float(made(0.25, trivial=1.0)) == pytest.approx(0.25)
    assert not made(0.25, trivial=1.0).vacuous
    assert made(1.0, trivial=1.0).vacuous
    assert made(1.0, trivial=1.0 + 1e-15).vacuous and not made(0.999999, trivial=1.0).vacuous
    assert made(0.0).value == 0.0
    assert not made(1e300).vacuous  # nothing trivial is known
    huge = Bound(1e5, "risk", Sense.SURELY, trivial=1.0)
    assert huge.value == math.inf
    assert huge.vacuous


def test_a_negative_formula_bounds_nothing():
    assert made(-0.5, trivial=1.0).vacuous
    assert made(-0.5).value == -0.5
    assert "negative" in str(made(-0.5))
    with pytest.raises(InputError):
        made(math.nan)


def test_table_and_json():
    bound = made(
        0.3,
        trivial=1.0,
        terms=(Term("complexity", 0.2, "of the class"), Term("deviation", math.inf)),
        assumptions=(Assumption("sample", "independent", Status.UNCHECKABLE),),
        details={"n": 10},
    )
    text = str(bound)
    for part in ("risk ≤ 0.3", "complexity", "of the class", "sample: independent [not checkable]"):
        assert part in text
    data = json.loads(json.dumps(bound.to_json(), allow_nan=False))
    assert data["value"] == pytest.approx(0.3)
    assert data["terms"][1]["value"] is None
    assert data["assumptions"][0]["status"] == "not checkable"
    assert data["vacuous"] is False
    assert data["n"] == 10
    huge = json.loads(json.dumps(Bound(1e5, "risk", Sense.SURELY).to_json(), allow_nan=False))
    assert huge["value"] is None
    assert huge["log_value"] == 1e5
    assert huge["trivial"] is None
    json.dumps(made(0.0).to_json(), allow_nan=False)
