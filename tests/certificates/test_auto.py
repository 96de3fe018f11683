"""The best of several methods: each pays its share, whoever wins, and whoever refuses."""

import math

import numpy as np
import pytest

from certificates.parts import Part
from certificates.validity import NoisyCopies, reader
from dudley.calculus.inversion import binomial_upper
from dudley.certificates import auto
from dudley.certificates.auto import best_of
from dudley.certificates.base import METHODS, method_named
from dudley.certificates.data import Dataset
from dudley.certificates.methods.hold_out.method import HoldOut
from dudley.core.errors import DudleyError, InputError, UnknownName
from each import each

TRAIN, HOLDOUT = (NoisyCopies((0.1,) * 12, 160)(np.random.default_rng(seed)) for seed in (3, 4))
MODEL = reader(12, 0)


@pytest.fixture
def parts(monkeypatch) -> list[Part]:
    units = [Part(i) for i in range(4)]
    for unit in units:
        monkeypatch.setitem(METHODS._units, unit.name, unit)
    return units


NAMES = [f"part-{i}" for i in range(4)]


def test_the_smallest_wins_at_its_share(parts):
    ranking = best_of(MODEL, TRAIN, None, NAMES, 0.1)
    wrong = MODEL.margins(TRAIN) <= 0
    bounds = [binomial_upper(int(wrong[i::4].sum()), 40, math.log(40)) for i in range(4)]
    assert ranking.best.value == pytest.approx(min(bounds))
    values = [certificate.value for certificate in ranking.certificates]
    assert values == sorted(values) and len(values) == 4
    assert all(c.declared.among == 4 and c.delta == 0.1 for c in ranking.certificates)
    assert ranking.refused == {}


def test_one_method_is_that_method():
    alone = HoldOut()(MODEL, HOLDOUT, delta=0.1, looks=3)
    (ranking,) = best_of(
        MODEL, None, HOLDOUT, ["hold-out"], 0.1, {"hold-out": {"looks": 3}}
    ).certificates
    assert ranking.to_json() == alone.to_json()


def test_who_refuses_keeps_its_share(parts):
    declared = {"part-1": {"refuse": True}}
    ranking = best_of(MODEL, TRAIN, None, NAMES[:2], 0.1, declared)
    assert ranking.refused == {"part-1": "part: expected another day, got today"}
    assert [c.method for c in ranking.certificates] == ["part-0"]
    assert ranking.best.bill.nats == pytest.approx(math.log(2))
    with pytest.raises(InputError, match=r"^part: expected another day, got today$"):
        best_of(MODEL, TRAIN, None, NAMES[1:2], 0.1, declared)


def test_refusals_of_all_are_told_whole(parts):
    """They end with what to do, which must not be cut."""
    declared = {name: {"refuse": True} for name in NAMES[:2]}
    with pytest.raises(InputError) as refusal:
        best_of(MODEL, TRAIN, None, NAMES[:2], 0.1, declared)
    said = "part: expected another day, got today"
    assert str(refusal.value) == (
        "methods: expected one that does not refuse, got refusals of part-0 and part-1; "
        f"part-0: {said}; part-1: {said}"
    )


def test_an_unknown_method_is_told_all_names_the_nearest_first():
    with pytest.raises(UnknownName) as refusal:
        method_named("ocam")
    said = str(refusal.value)
    assert said.startswith("unknown method 'ocam'; did you mean occam or ")
    assert {"hold-out", "norm-cover", "occam", "pac-bayes"} <= set(
        said.partition("known: ")[2].split(", ")
    )


def test_what_was_tried_before_is_paid_as_well(parts):
    ranking = best_of(MODEL, TRAIN, None, NAMES[:2], 0.1, {"part-0": {"among": 3}})
    paid = {c.method: (c.declared.among, c.bill.nats) for c in ranking.certificates}
    assert paid["part-0"] == (6, pytest.approx(math.log(6)))
    assert paid["part-1"] == (2, pytest.approx(math.log(2)))
    free = {"part-0": {"among": 3, "free": True}}
    with pytest.raises(RuntimeError, match="a price of ln 6"):
        best_of(MODEL, TRAIN, None, NAMES[:2], 0.1, free)


def test_who_does_not_pay_is_not_shown(parts):
    with pytest.raises(RuntimeError, match="a price of ln 2"):
        best_of(MODEL, TRAIN, None, NAMES[:2], 0.1, {"part-0": {"free": True}})


def test_hold_out_sees_the_hold_out_and_the_others_the_training_set(parts):
    ranking = best_of(MODEL, TRAIN, HOLDOUT, ["hold-out", "part-2"], 0.1)
    hashes = {c.method: c.data["sha256"] for c in ranking.certificates}
    assert hashes == {"hold-out": HOLDOUT.sha256, "part-2": TRAIN.sha256}
    assert all(data is TRAIN for data in parts[2].seen)


def test_numbers_about_something_else_stand_behind(parts):
    values = [c.value for c in best_of(MODEL, TRAIN, None, NAMES[:2], 0.1).certificates]
    first = best_of(MODEL, TRAIN, None, NAMES[:2], 0.1).best.method
    declared = {first: {"about": "error of a randomised predictor"}}
    ranking = best_of(MODEL, TRAIN, None, NAMES[:2], 0.1, declared)
    assert [c.value for c in ranking.certificates] == values[::-1]


@each(
    ("methods", "declared"),
    [
        ([], {}),
        ("hold-out", {}),
        (["hold-out", "hold-out"], {}),
        (["hold-in"], {}),
        (["hold-out"], {"occam": {}}),
        (["hold-out"], {"hold-out": {"delta": 0.5}}),
        (["hold-out"], {"hold-out": {"among": 0}}),
        (["hold-out"], {"hold-out": {"among": "2"}}),
        (["hold-out"], {"hold-out": {"among": None}}),
        (["hold-out"], {"hold-out": {"look": 1}}),
    ],
    ids=str,
)
def test_other_requests_are_refused(methods, declared):
    with pytest.raises(DudleyError):
        best_of(MODEL, TRAIN, HOLDOUT, methods, 0.1, declared)


def test_missing_data_are_named(parts):
    with pytest.raises(InputError, match="a hold-out set"):
        best_of(MODEL, TRAIN, None, ["hold-out"], 0.1)
    with pytest.raises(InputError, match="a training set"):
        best_of(MODEL, None, HOLDOUT, ["part-0"], 0.1)


def test_a_hold_out_that_training_saw_is_refused(parts):
    with pytest.raises(InputError, match="training did not see"):
        best_of(MODEL, TRAIN, TRAIN, ["hold-out"], 0.1)
    X = np.random.default_rng(0).integers(0, 2, (260, 30))
    y, reads = np.arange(260) % 2, reader(30, 0)
    train, leaked = Dataset(X[:160], y[:160]), Dataset(X[155:255], y[155:255])
    with pytest.raises(InputError, match="5 of 100 that are in the training set"):
        best_of(reads, train, leaked, ["hold-out"], 0.1)
    best_of(reads, train, Dataset(X[160:], y[160:]), ["hold-out"], 0.1)


def test_rows_may_meet_by_chance_only_where_they_are_few():
    few, rng = NoisyCopies((0.1,) * 3, 100), np.random.default_rng(0)
    auto.expect_apart(few(rng), few(rng))
    X = rng.normal(size=(100, 3))
    y = np.zeros(100, int)
    auto.expect_apart(Dataset(X[:50], y[:50]), Dataset(X[50:], y[50:]))
    with pytest.raises(InputError, match="2 of 50"):
        auto.expect_apart(
            Dataset(X[:52].astype(np.float32), y[:52]),
            Dataset(X[50:].astype(np.float32).astype(np.float64), y[50:]),
        )
    with pytest.raises(InputError, match="1 of 51"):
        auto.expect_apart(Dataset(X[:50], y[:50]), Dataset(X[49:], y[49:]))


def test_every_module_registers_its_method():
    """A name is looked up in the module that is called by it."""
    for name in ("hold-out", "norm-cover", "occam", "pac-bayes", "language"):
        assert method_named(name).name == name
