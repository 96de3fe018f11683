"""The hold-out: what is declared, paid, computed and refused."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from certificates.validity import NoisyCopies, reader
from dudley.calculus.inversion import binomial_upper
from dudley.certificates.base import METHODS
from dudley.certificates.certificate import RISK
from dudley.certificates.data import Dataset
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.methods.hold_out.declared import HoldOutChoices
from dudley.certificates.methods.hold_out.interval import upper
from dudley.certificates.methods.hold_out.losses import BoundedLoss, losses
from dudley.certificates.methods.hold_out.method import HoldOut
from dudley.certificates.order import seed_declared
from dudley.certificates.pool import hypergeometric_upper
from dudley.certificates.verify import verify
from dudley.core.errors import DudleyError, InputError
from each import each

REAL = ("hoeffding", "hoeffding-kl", "empirical-bernstein", "fixed-bets")
TOY = NoisyCopies((0.1, 0.2, 0.3), 200)
DATA = TOY(np.random.default_rng(5))
MODEL = reader(3, 0)
METHOD = HoldOut()


def errors(j: int = 0) -> int:
    return int(TOY.errors(DATA)[j])


def test_the_default_is_clopper_pearson_on_errors():
    certificate = METHODS["hold-out"](MODEL, DATA, delta=0.1)
    assert certificate.value == binomial_upper(errors(), 200, certificate.bill.log_confidence)
    assert certificate.bill.log_confidence == pytest.approx(math.log(10))
    assert (certificate.quantity, certificate.facts.errors, certificate.prices) == (
        RISK,
        errors(),
        (),
    )
    assert certificate.choices == HoldOutChoices("clopper-pearson")


def test_looks_intervals_and_methods_are_paid():
    declared = {"looks": 8, "interval": ["clopper-pearson", "hoeffding"], "among": 3}
    certificate = METHOD(MODEL, DATA, delta=0.1, **declared)
    assert certificate.bill.nats == pytest.approx(math.log(8 * 2 * 3))
    assert certificate.value == pytest.approx(binomial_upper(errors(), 200, math.log(480)))
    assert [price.name for price in certificate.prices] == ["looks", "interval", "method"]


@pytest.mark.parametrize("interval", REAL)
def test_a_declared_interval_is_used(interval):
    certificate = METHOD(MODEL, DATA, interval=interval, loss="ramp", margin=0.4)
    z = losses(MODEL.outputs(DATA.X), DATA.y, BoundedLoss("ramp", 0.4))
    assert certificate.value == upper(interval, z, certificate.bill.log_confidence)
    assert certificate.quantity != RISK and "ramp" in certificate.quantity
    assert "order" not in " ".join(certificate.declarations)


def test_the_smallest_of_several_is_chosen():
    certificate = METHOD(MODEL, DATA, loss="clipped cross-entropy", clip=3.0, interval=list(REAL))
    z = losses(MODEL.outputs(DATA.X), DATA.y, BoundedLoss("clipped cross-entropy", 3.0))
    bounds = [upper(name, z, certificate.bill.log_confidence) for name in REAL]
    assert certificate.value == min(bounds)
    assert certificate.bill.nats == pytest.approx(math.log(4))


def test_the_order_of_the_examples_is_for_nothing():
    """Right answers first would win a game of bets that learn, before the errors come."""
    z, c = losses(MODEL.outputs(DATA.X), DATA.y, BoundedLoss("error")), math.log(20)
    assert upper("betting", np.sort(z), c) < upper("betting", z, c)
    right_first = DATA.part(np.argsort(-MODEL.margins(DATA), kind="stable"))
    made, again = (METHOD(MODEL, data, interval="fixed-bets") for data in (DATA, right_first))
    assert made.to_json() == again.to_json()
    with pytest.raises(InputError, match="take fixed-bets"):
        METHOD(MODEL, DATA, interval="betting")


def test_a_split_is_declared_with_its_seed():
    held_out = METHOD(MODEL, DATA, split=17)
    assert seed_declared(17) in held_out.declarations
    assert METHOD(MODEL, DATA).declarations == tuple(
        line for line in held_out.declarations if line != seed_declared(17)
    )
    with pytest.raises(InputError, match="seed"):
        METHOD(MODEL, DATA, split=-1)


def test_the_certificate_is_a_function_of_its_arguments():
    declared = METHOD.read_declared({"interval": ["fixed-bets", "hoeffding"], "looks": 2})
    choices = METHOD.choose(MODEL, DATA, declared)
    first, second = (METHOD.certify(MODEL, DATA, declared, choices) for _ in range(2))
    assert first.to_json() == second.to_json()
    again = METHOD.certify(MODEL, DATA, first.declared, first.choices)
    assert again.to_json() == first.to_json()


@pytest.mark.parametrize(
    "declared",
    [
        {},
        {"looks": 3, "interval": ("clopper-pearson", "fixed-bets")},
        {"pool": 250},
        {"loss": "ramp", "margin": 0.2},
        {"loss": "clipped cross-entropy", "clip": 2.0, "interval": list(REAL)},
    ],
    ids=str,
)
def test_the_file_is_verified(declared):
    file = json.loads(METHOD(MODEL, DATA, **declared).text())
    assert verify(file, MODEL, DATA).differences == ()
    assert verify(file, MODEL, DATA.part(np.arange(200)[::-1])).holds
    turned = DATA.y.copy()
    turned[7] = 1 - turned[7]
    assert not verify(file, MODEL, Dataset(DATA.X, turned)).holds
    assert not verify(file, reader(3, 1), DATA).holds
    assert not verify(file | {"value": file["value"] * 0.99}, MODEL, DATA).holds


def test_ties_are_errors():
    W_v = np.zeros((7, 1))
    W_v[[0, 1]], W_v[[3, 4]] = -1.0, 1.0  # two bits vote
    voters = Hypothesis(MODEL.tables, MODEL.encoding_table, {"0.v": np.zeros((7, 1)), "0.W_v": W_v})
    agreed = (DATA.X[:, 0] == DATA.y) & (DATA.X[:, 1] == DATA.y)
    certificate = METHOD(voters, DATA)
    assert certificate.facts.errors == (~agreed).sum()
    assert certificate.facts.ties == (DATA.X[:, 0] != DATA.X[:, 1]).sum() > 0
    assert certificate.value == binomial_upper(
        int((~agreed).sum()), 200, certificate.bill.log_confidence
    )


def test_a_pool():
    certificate = METHOD(MODEL, DATA, pool=300, delta=0.1)
    most = hypergeometric_upper(errors(), 200, 300, certificate.bill.log_confidence)
    assert Fraction(certificate.value) >= Fraction(most, 300)
    assert (
        certificate.value == pytest.approx(most / 300)
        and certificate.facts.pool_errors_at_most == most
    )
    assert "the 300 examples of the pool" in certificate.quantity
    assert any("not about where it came from" in told for told in certificate.declarations)
    assert not any("independent draws" in told for told in certificate.declarations)
    whole = METHOD(MODEL, DATA, pool=200)
    assert whole.facts.pool_errors_at_most == errors()
    assert whole.facts.undrawn_error_at_most == 0


def test_advice_is_computed_and_the_best_comes_first():
    certificate = METHOD(MODEL, DATA, looks=4)
    c = certificate.bill.log_confidence
    expected = {
        "no errors": binomial_upper(0, 200, c),
        "twice the examples": binomial_upper(2 * errors(), 400, c),
        "nothing to pay": binomial_upper(errors(), 200, math.log(20)),
    }
    for text, number in expected.items():
        (shown,) = [line for line in certificate.advice if line.startswith(text)]
        assert f": {number:.3g} in place of {certificate.value:.3g}" in shown
    numbers = [float(line.rsplit(": ", 1)[1].split(" ")[0]) for line in certificate.advice]
    assert numbers == sorted(numbers)


def test_repeated_rows_of_floats_are_refused():
    encoding = {"name": "rows", "T": 1, "d": 2, "R": 1.0}
    layer = {"node": "head", "query": "fixed", "v": "free", "W_v": "free", "k": 1}
    inputs = {"T": 1, "d": 2, "X": {"row2inf": 1.0}}
    tables = {"schema": "dudley.net/1", "input": inputs, "layer": [layer | {"sigma": "identity"}]}
    weights = {"0.v": np.zeros((2, 1)), "0.W_v": np.ones((2, 1))}
    model = Hypothesis(tables, encoding, weights)
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = (X.sum(axis=1) > 0).astype(int)
    assert METHOD(model, Dataset(X, y)).facts.errors == 0
    twice = Dataset(np.concatenate([X, X]), np.concatenate([y, y]))
    with pytest.raises(InputError, match="40 that equal an earlier one"):
        METHOD(model, twice)
    with pytest.raises(InputError, match="too regular for chance"):
        METHOD(model, twice, repeats=True)
    few = Dataset(np.concatenate([X, X[:2]]), np.concatenate([y, y[:2]]))
    certificate = METHOD(model, few, repeats=True)
    assert certificate.data["repeated"] == 2
    assert any("2 rows that equal" in line for line in certificate.declarations)


@each(
    "declared",
    [
        {"loss": "hinge"},
        {"loss": None},
        {"loss": ["error"]},
        {"loss": "ramp"},
        {"loss": "ramp", "margin": 0.0},
        {"loss": "ramp", "margin": "1"},
        {"loss": "ramp", "margin": True},
        {"loss": "ramp", "margin": math.nan},
        {"loss": "ramp", "margin": 0.1, "clip": 2.0},
        {"loss": "ramp", "margin": 0.1, "interval": "clopper-pearson"},
        {"loss": "clipped cross-entropy"},
        {"loss": "clipped cross-entropy", "clip": -1.0},
        {"margin": 0.1},
        {"clip": 2.0},
        {"interval": "wald"},
        {"interval": []},
        {"interval": ["hoeffding", "betting"]},
        {"order": 0},
        {"interval": 3},
        {"interval": ["fixed-bets", "fixed-bets"]},
        {"interval": ["fixed-bets", 3]},
        {"looks": 0},
        {"looks": 2.0},
        {"looks": True},
        {"among": 0},
        {"among": "2"},
        {"pool": 199},
        {"pool": 1e6},
        {"pool": True},
        {"pool": 300, "interval": "fixed-bets"},
        {"pool": 300, "loss": "ramp", "margin": 0.1},
        {"delta": 0.0},
        {"delta": 1.0},
        {"delta": "0.05"},
        {"delta": math.nan},
        {"epsilon": 0.1},
    ],
    ids=str,
)
def test_other_declarations_are_refused(declared):
    with pytest.raises(DudleyError) as error:
        METHOD(MODEL, DATA, **declared)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "choices",
    [{}, {"interval": "hoeffding"}, {"interval": None}, {"interval": "fixed-bets", "x": 1}],
)
def test_a_choice_that_was_not_declared_is_refused(choices):
    with pytest.raises(DudleyError, match=r"choice|interval"):
        declared = METHOD.read_declared({"interval": "fixed-bets"})
        METHOD.certify(MODEL, DATA, declared, METHOD.read_choices(choices))


def test_what_is_no_hypothesis_is_refused():
    with pytest.raises(InputError, match="model for hold-out: expected one model"):
        METHOD(DATA, DATA, interval=["fixed-bets", "hoeffding"])  # pyright: ignore
