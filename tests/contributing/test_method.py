"""A method of certificates that a file adds certifies, is verified, and competes in a ranking."""

from __future__ import annotations

import json

import numpy as np
import pytest

from certificates.validity import NoisyCopies, reader
from dudley.certificates.base import METHODS
from dudley.certificates.certify import certify
from dudley.certificates.verify import verify
from dudley.core.errors import UnknownName

SOURCE = '''
from dataclasses import dataclass

import math

from dudley.certificates.base import Method, MethodDeclared, method
from dudley.certificates.certificate import Certificate, baseline, data_facts
from dudley.certificates.price import Bill, one_of
from dudley.core.rounding import up


@dataclass(frozen=True)
class HoeffdingChoices:
    """Nothing is chosen."""


@dataclass(frozen=True)
class HoeffdingFacts:
    errors: int


@method
class Hoeffding(Method[MethodDeclared, HoeffdingChoices]):
    """P[error] ≤ k/n + √(nats/(2n)): Hoeffding's inequality on examples that no choice saw."""

    name = "hoeffding"
    declares = MethodDeclared
    chooses = HoeffdingChoices

    def choose(self, model, data, declared):
        return HoeffdingChoices()

    def certify(self, model, data, declared, choices):
        errors = int((model.margins(data) <= 0).sum())
        bill = Bill(declared.delta, (one_of("method", declared.among),))
        value = up(errors / data.n + math.sqrt(bill.log_confidence / (2 * data.n)), 4)
        of = model.facts(), data_facts(data), baseline(data, declared.delta)
        facts = HoeffdingFacts(errors)
        return Certificate(self.name, float(value), bill, declared, choices, facts, *of)
'''


@pytest.fixture
def hoeffding(add):
    yield add("hoeffding", SOURCE).Hoeffding
    METHODS.remove("hoeffding")


@pytest.fixture(scope="module")
def parts():
    """A model of twelve bits, and 160 examples."""
    return reader(12, 0), NoisyCopies((0.1,) * 12, 160)(np.random.default_rng(3))


def test_it_is_certified_by_its_name_and_verified(hoeffding, parts):
    model, data = parts
    best = certify(model, data, method="hoeffding").best
    errors = int((model.margins(data) <= 0).sum())
    assert best.method == "hoeffding" and best.facts.errors == errors
    assert best.value == pytest.approx(errors / 160 + (np.log(20) / 320) ** 0.5)
    file = json.loads(best.text())
    assert verify(file, model, data).holds
    assert not verify(file | {"value": file["value"] / 2}, model, data).holds


def test_it_pays_for_being_of_two(hoeffding, parts):
    model, data = parts
    ranking = certify(model, data, method="hoeffding,norm-cover")
    (certificate,) = (c for c in ranking.certificates if c.method == "hoeffding")
    assert sum(price.nats for price in certificate.prices) >= np.log(2)


def test_it_is_gone_afterwards(parts):
    with pytest.raises(UnknownName, match="hoeffding"):
        certify(*parts, method="hoeffding")
