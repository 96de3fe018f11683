"""Verify: what is computed again is compared, and any single change is seen."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dudley.certificates import verify as check
from dudley.certificates.base import method_named
from dudley.certificates.data import Dataset
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.methods.pac_bayes.posterior import Posterior
from dudley.certificates.methods.pac_bayes.prior import Zero
from dudley.core.errors import DudleyError, InputError

pytestmark = pytest.mark.usefixtures("certified_once")

T = 4
TABLES = {
    "schema": "dudley.net/1",
    "input": {"T": T + 1, "V": 2 * T + 1},
    "layer": [
        {"node": "head", "query": "fixed", "v": "free", "W_v": "free", "k": 1, "sigma": "identity"}
    ],
}
BITS = {"name": "bits", "T": T}


def made():
    """A head that reads the first bit, and data on which it errs now and then."""
    v, u = np.zeros((2 * T + 1, 1)), np.zeros((2 * T + 1, 1))
    v[[0, T]], u[0], u[T] = 4.0, -1.0, 1.0
    X = np.random.default_rng(0).integers(0, 2, (2000, T), dtype=np.uint8)
    y = X[:, 0].astype(np.int64)
    y[:7] = 1 - y[:7]
    return Hypothesis(TABLES, BITS, {"0.v": v, "0.W_v": u}), Dataset(X, y)


MODEL, DATA = made()
AROUND = Posterior(
    MODEL, {name: np.full(W.shape, 0.05) for name, W in MODEL.weights.items()}, Zero()
)
METHODS = {
    "hold-out": (MODEL, {}),
    "norm-cover": (MODEL, {}),
    "occam": (MODEL, {}),
    "pac-bayes": (AROUND, {"pairs": 2000}),
}
RECORDS = {
    name: method_named(name)(model, DATA, population="bits drawn at will", **declared).to_json()
    for name, (model, declared) in METHODS.items()
}


def leaves(value, path=()):
    """Every place of a JSON value that holds no object and no list, or an empty one."""
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in parts if isinstance(value, dict | list) else ():
        inner = isinstance(part, dict | list) and len(part) > 0
        yield from leaves(part, (*path, key)) if inner else [(*path, key)]


def changed(record, path, value):
    """The same with another value at one place."""
    other = copy.deepcopy(record)
    part = other
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    return other


PLACES = [
    (name, path)
    for name, told in RECORDS.items()
    for path in leaves(told)
    if path[0] not in check.UNVERIFIED
]


def refuted(name, record) -> bool:
    """Is the file refused, or found not to hold?"""
    try:
        return not check.verify(record, METHODS[name][0], DATA).holds
    except DudleyError:
        return True


@pytest.mark.parametrize("name", RECORDS)
def test_what_was_made_holds(name):
    record = json.loads(json.dumps(RECORDS[name]))
    verification = check.verify(record, METHODS[name][0], DATA)
    assert verification.holds, [str(d) for d in verification.differences]
    assert verification.value == record["value"] and verification.recomputed > 25
    assert any(words.startswith("delta = 0.05") for words in verification.declarations)
    assert "bits drawn at will" in " ".join(verification.declarations)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "path"), PLACES, ids=lambda p: p if isinstance(p, str) else ".".join(map(str, p))
)
def test_any_single_change_is_seen(name, path):
    old = RECORDS[name]
    for key in path:
        old = old[key]
    for value in others(old):
        assert refuted(name, changed(RECORDS[name], path, value)), value


def others(old):
    """Values near the old one and far from it, and of another kind."""
    if isinstance(old, bool):
        return [not old, None]
    if isinstance(old, int):
        return [old + 1, old - 1, 2 * old + 3, str(old)]
    if isinstance(old, float):
        return [old * (1 + 1e-9) + 1e-12, old / 2 if old else 0.5, None]
    if isinstance(old, str):
        return [old + "x", old[:-1] if old else "y", old.swapcase() + "?"]
    return [1, "x"]


@pytest.mark.parametrize("name", RECORDS)
@pytest.mark.parametrize("path", [("delta",), ("among",)], ids=lambda path: path[0])
def test_what_is_declared_enters_the_number(name, path):
    other = {"delta": 0.1, "among": 2}[path[0]]
    assert refuted(name, changed(RECORDS[name], ("declared", *path), other))


@pytest.mark.parametrize("name", RECORDS)
def test_what_is_declared_and_enters_no_number_is_listed(name):
    record = changed(RECORDS[name], ("declared", "population"), "another one")
    verification = check.verify(record, METHODS[name][0], DATA)
    assert verification.holds and "population = another one" in verification.declarations
    record = changed(RECORDS[name], ("declared", "unknown"), 1)
    assert not check.verify(record, METHODS[name][0], DATA).holds


@pytest.mark.slow
@given(st.sampled_from(PLACES), st.one_of(st.integers(), st.floats(allow_nan=False), st.text()))
def test_arbitrary_values_are_seen(place, value):
    name, path = place
    old = RECORDS[name]
    for key in path:
        old = old[key]
    if value != old:
        assert refuted(name, changed(RECORDS[name], path, value))


@pytest.mark.parametrize("name", RECORDS)
def test_other_weights_and_other_data_are_seen(name):
    record, (model, _) = RECORDS[name], METHODS[name]
    X = DATA.X.copy()
    X[0, 1] ^= 1
    assert "data.sha256" in [
        d.field for d in check.verify(record, model, Dataset(X, DATA.y)).differences
    ]
    fewer = DATA.part(slice(0, 1999))
    assert not check.verify(record, model, fewer).holds
    weights = {k: W.copy() for k, W in MODEL.weights.items()}
    weights["0.W_v"][T] = np.nextafter(1.0, 2.0)
    other = Hypothesis(TABLES, BITS, weights)
    moved = Posterior(other, AROUND.sigma, Zero()) if name == "pac-bayes" else other
    assert not check.verify(record, moved, DATA).holds


def test_a_field_too_many_and_one_too_few_are_refused():
    record = RECORDS["hold-out"]
    with pytest.raises(InputError, match="'extra' is off"):
        check.verify(record | {"extra": 1}, MODEL, DATA)
    with pytest.raises(InputError, match="'facts' is off"):
        check.verify({k: v for k, v in record.items() if k != "facts"}, MODEL, DATA)
    for value in (1, "nothing", None):
        nested = changed(record, ("facts", "more"), value)
        assert not check.verify(nested, MODEL, DATA).holds


def test_a_name_that_comes_twice_is_refused(tmp_path):
    """One reader takes the first value, another the last."""
    path = tmp_path / "certificate.json"
    text = json.dumps(RECORDS["hold-out"])
    path.write_text(text.replace('"value":', '"value": 1e-9, "value":', 1), encoding="utf-8")
    with pytest.raises(InputError, match="'value' twice"):
        check.read(path)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema": "dudley.certificate/2"}', "NaN", "[" * 10**5]
)
def test_files_that_are_no_certificates(text, tmp_path):
    path = tmp_path / "certificate.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError):
        check.read(path)


def test_a_file_goes_there_and_back(tmp_path):
    path = tmp_path / "certificate.json"
    made = method_named("occam")(MODEL, DATA)
    path.write_text(made.text(), encoding="utf-8")
    assert check.verify(check.read(path), MODEL, DATA).holds


@pytest.mark.parametrize("name", RECORDS)
def test_the_published_schema_fits(name):
    from importlib.resources import files

    from jsonschema import Draft202012Validator

    text = files("dudley").joinpath("schemas", "certificate.schema.json").read_text("utf-8")
    schema = Draft202012Validator(json.loads(text))
    assert list(schema.schema["properties"]) == list(check.SHAPE)
    schema.validate(RECORDS[name])
    assert not schema.is_valid(RECORDS[name] | {"extra": 1})
    assert not schema.is_valid(changed(RECORDS[name], ("nats",), -1))
