"""Occam: the number against its formula, and what must be refused."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats

from certificates.validity import NoisyCopies, reader
from dudley.certificates.base import METHODS
from dudley.certificates.codes.base import frame_of, write
from dudley.certificates.codes.interval import CodeWord
from dudley.certificates.codes.kinds.sparse import SparsePart
from dudley.certificates.data import Dataset
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.methods.occam.declared import OccamChoices
from dudley.certificates.methods.occam.method import Occam, network_sha256
from dudley.certificates.verify import verify
from dudley.core.errors import DudleyError, InputError

OCCAM = Occam()
DATA = NoisyCopies((0.0, 0.1, 0.3), 400)(np.random.default_rng(0))


def test_the_number_is_the_binomial_tail_at_δ_2_to_minus_bits():
    for j, δ in ((0, 0.05), (1, 0.1)):
        model = reader(3, j)
        certificate = OCCAM(model, DATA, delta=δ)
        k, ℓ = certificate.facts.errors, certificate.facts.bits
        assert k == (DATA.X[:, j] != DATA.y).sum()
        assert ℓ == certificate.choices.code.length
        exact = stats.beta.isf(δ * 2.0**-ℓ, k + 1, DATA.n - k)
        assert certificate.value == pytest.approx(
            exact, rel=1e-9
        ) and certificate.value >= exact * (1 - 1e-12)
    assert certificate.facts.errors > 0
    zero = OCCAM(reader(3, 0), DATA)
    assert zero.value == pytest.approx(1 - (0.05 * 2.0**-zero.facts.bits) ** (1 / DATA.n))


def test_the_cheapest_code_of_a_reader():
    """kind 2, no v 1, one nonzero 3, fold log₂ 3, step 2, q 1, place log₂ 4, sign 1."""
    exact = 2 + 1 + 3 + math.log2(3) + 2 + 1 + 2 + 1
    assert exact <= OCCAM(reader(3, 2), DATA).facts.bits <= math.ceil(exact) + 1


def test_choices_and_networks_are_paid():
    model = reader(3, 1)
    alone = OCCAM(model, DATA)
    listed = OCCAM(model, DATA, networks=[network_sha256(model), network_sha256(reader(4, 1))])
    assert listed.bill.nats == pytest.approx(alone.bill.nats + math.log(2))
    among = OCCAM(model, DATA, among=4)
    assert among.bill.nats == pytest.approx(alone.bill.nats + math.log(4))
    assert alone.value < listed.value < among.value


def refused(model, data=DATA, choices=None, **declared):
    with pytest.raises(DudleyError) as caught:
        declaration = OCCAM.read_declared(declared)
        if isinstance(choices, dict):
            choices = OCCAM.read_choices(choices)
        OCCAM.certify(model, data, declaration, choices or OCCAM.choose(model, data, declaration))
    return str(caught.value)


def test_refusals():
    model = reader(3, 0)
    assert "declared networks" in refused(model, networks=[network_sha256(reader(4, 1))])
    assert "compress" in refused(_changed(model, np.pi / 7))
    good = OCCAM.choose(model, DATA, OCCAM.read_declared({}))
    assert "other weights" in refused(reader(3, 1), choices=good)
    assert "other weights" in refused(_changed(model, 1.0 + 2**-52), choices=good)
    assert "other weights" in refused(_changed(model, 1.0, zero=-0.0), choices=good)
    assert "code" in refused(model, choices={"code": good.code.to_json(), "step": 1.0})
    longer = CodeWord(good.code.value << 1, good.code.length + 1)
    assert "encoder" in refused(model, choices={"code": longer.to_json()})
    for name, value in (("seed", -1), ("seed", 1.0), ("levels", [4]), ("dimensions", [0])):
        assert name in refused(model, **{name: value})
    with pytest.raises(DudleyError):
        OCCAM(model, DATA, hidden=3)


def _changed(model: Hypothesis, to: float, zero: float = 0.0) -> Hypothesis:
    W = model.weights["0.W_v"].copy()
    W[W == 1.0] = to
    W[-1] = zero
    return Hypothesis(model.tables, model.encoding_table, model.weights | {"0.W_v": W})


def test_the_shortest_of_several_words_is_chosen_and_any_of_them_is_valid():
    model = reader(3, 0)
    declared = OCCAM.read_declared({})
    frame = frame_of(model, declared)
    levels = (2 * model.weights["0.W_v"]).astype(int)
    parts = tuple(
        SparsePart("plain", 0.5, levels if name == "0.W_v" else 0 * levels)
        for name, _ in frame.shapes
    )
    longer = OccamChoices(write("sparse", parts, frame))
    best = OCCAM(model, DATA)
    assert OCCAM.certify(model, DATA, declared, longer).value > best.value


def test_ties_and_near_ties_are_errors():
    model = reader(3, 0)
    silent = Hypothesis(
        model.tables, model.encoding_table, {n: np.zeros_like(W) for n, W in model.weights.items()}
    )
    certificate = OCCAM(silent, DATA)
    assert certificate.facts.errors == DATA.n and certificate.value == 1.0 and certificate.vacuous
    W = np.zeros((7, 1))
    W[3], W[4], W[0], W[1] = 1.0, -1.0, -1.0, 1.0  # x₀ − x₁: half of the sums are exact ties
    tied = Hypothesis(model.tables, model.encoding_table, model.weights | {"0.W_v": W})
    ties = (DATA.X[:, 0] == DATA.X[:, 1]).sum()
    assert OCCAM(tied, DATA).facts.errors >= ties > 0
    assert OCCAM(tied, DATA).facts.nearest_margin == 0


def test_a_file_is_verified_and_every_changed_field_is_seen():
    model = reader(3, 1)
    certificate = json.loads(OCCAM(model, DATA).text())
    assert verify(certificate, model, DATA).holds
    assert not verify(certificate, reader(3, 0), DATA).holds
    assert not verify(certificate, model, Dataset(DATA.X[1:], DATA.y[1:])).holds
    for change in (
        {"value": certificate["value"] * 0.999},
        {"delta": 0.06},
        {"facts": certificate["facts"] | {"bits": certificate["facts"]["bits"] - 1}},
        {"facts": certificate["facts"] | {"errors": 0}},
        {"choices": {"code": certificate["choices"]["code"] | {"bits": 3}}},
        {"prices": []},
    ):
        assert not verify(certificate | change, model, DATA).holds


def test_advice_is_computed():
    advice = OCCAM(reader(3, 1), DATA).advice
    assert len(advice) == 4 and "bits" in advice[0]
    numbers = [float(line.rsplit(": ", 1)[1]) for line in advice]
    assert numbers[1:] == sorted(numbers[1:]) and numbers[-1] < numbers[0]


def test_registered_and_other_names_are_refused():
    assert "occam" in METHODS
    with pytest.raises(InputError):
        OCCAM.read_choices({})
