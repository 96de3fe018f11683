"""The certificate: vacuity, the baseline's lower end, the file."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from certificates.validity import NoisyCopies, reader
from dudley.certificates.base import METHODS, Method, method
from dudley.certificates.certificate import (
    SCHEMA,
    Certificate,
    baseline,
    data_facts,
)
from dudley.certificates.data import Dataset
from dudley.certificates.methods.hold_out.declared import HoldOutDeclared
from dudley.certificates.methods.hold_out.method import HoldOut
from dudley.certificates.price import Bill, one_of
from dudley.core.errors import DudleyError, InputError

MODEL = reader(2, 0)
DATA = NoisyCopies((0.1, 0.2), 300)(np.random.default_rng(0))


def made(value: float, least: float = 0.4) -> Certificate:
    bill = Bill(0.05, (one_of("method", 3),))
    known = {"class": 0, "errors": 1, "error_at_least": least}
    facts = MODEL.facts(), data_facts(DATA), known
    return Certificate("hold-out", value, bill, {}, {}, {}, *facts, made={})


@given(st.floats(1e-12, 1.0))
def test_a_number_for_a_page_is_not_below_its_file(value):
    certificate = made(value)
    file = certificate.to_json()["value"]
    assert value <= file <= float(certificate.at_most) <= 1.001 * file
    assert len(certificate.at_most.replace(".", "").partition("e")[0].lstrip("0")) <= 4


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.sampled_from([0.05, 0.3]))
def test_the_baseline_is_the_lower_end_for_the_most_frequent_class(labels, delta):
    data = Dataset(np.zeros((len(labels), 1), int), np.array(labels))
    least = baseline(data, delta)
    counts = [labels.count(c) for c in range(4)]
    n, k = len(labels), len(labels) - max(counts)
    expected = stats.beta.ppf(delta, k, n - k + 1) if k else 0.0
    assert least["class"] == counts.index(max(counts)) and least["errors"] == k
    assert least["error_at_least"] == pytest.approx(min(expected, k / n), rel=1e-9, abs=1e-15)
    assert least["error_at_least"] <= k / n


def test_labels_of_any_size_have_a_baseline():
    y = np.array([2**63, 5, 5], np.uint64)
    assert baseline(Dataset(np.zeros((3, 1), int), y), 0.05)["class"] == 5
    assert baseline(Dataset(np.zeros((3, 1), int), y == 5), 0.05)["class"] == 1


def test_a_number_that_a_constant_reaches_is_vacuous():
    assert made(0.4).vacuous and made(0.5).vacuous and made(1.0, 1.0).vacuous
    assert not made(0.399).vacuous
    assert made(0.0, 0.0).vacuous


@pytest.mark.parametrize("odd", [math.nan, math.inf, -0.1])
def test_odd_numbers_are_refused(odd):
    with pytest.raises(InputError, match="certificate"):
        made(odd)


@given(st.floats(0, 1))
def test_the_file_says_at_least_the_number(value):
    record = json.loads(made(value).text())
    assert record["value"] >= value and record["value"] <= value * (1 + 1e-9) + 1e-300
    assert record["nats"] >= math.log(3)
    assert record["schema"] == SCHEMA


def test_the_file_holds_all_that_the_number_rests_on():
    certificate = HoldOut()(MODEL, DATA, delta=0.1, looks=5, population="coins")
    record = json.loads(certificate.text())
    assert record["model"] == {
        "sha256": MODEL.sha256,
        "weights": 10,
        "encoding": {"name": "bits", "T": 2},
    }
    assert record["data"]["sha256"] == DATA.sha256
    assert (record["data"]["n"], record["delta"], record["method"]) == (300, 0.1, "hold-out")
    assert record["declared"]["population"] == "coins"
    assert [price["name"] for price in record["prices"]] == ["looks"]
    assert len(record["declarations"]) >= 4 and record["advice"]


def test_declarations_have_defaults_and_no_other_names():
    unit = METHODS["hold-out"]
    assert unit.read_declared({}) == HoldOutDeclared()
    with pytest.raises(DudleyError, match="did you mean looks"):
        unit.read_declared({"lookz": 3})
    for odd in (0, -1, 1.5, "2", None):
        with pytest.raises(InputError, match="among"):
            unit.read_declared({"among": odd})


def test_a_method_is_registered_once():
    class Twin(HoldOut):
        pass

    with pytest.raises(ValueError, match="registered twice"):
        method(Twin)
    assert issubclass(HoldOut, Method)
