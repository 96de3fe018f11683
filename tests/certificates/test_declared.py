"""What methods declare and choose: records with types, the same in the file and back."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, dataclass, fields, is_dataclass, replace

import numpy as np
import pytest

from certificates.parts import Part, PartDeclared
from certificates.validity import NoisyCopies, reader
from dudley.certificates.base import METHODS, MethodDeclared, method_named
from dudley.certificates.certify import certify
from dudley.certificates.codes.interval import CodeWord
from dudley.certificates.records import called, from_json, omitted, to_json
from dudley.certificates.verify import verify
from dudley.core.errors import DudleyError, InputError, UnknownName

NAMES = ["hold-out", "norm-cover", "occam", "pac-bayes", "language"]


@dataclass(frozen=True)
class Inner:
    size: int


@dataclass(frozen=True)
class Everything:
    number: float
    whole: int
    yes: bool
    text: str
    levels: tuple[int, ...]
    names: str | tuple[str, ...] | None
    scales: dict[str, int]
    inner: Inner
    word: CodeWord
    dotted: int = called("a.b", 3)
    pool: int | None = omitted()


TABLE = {
    "number": 2, "whole": 7, "yes": True, "text": "t", "levels": [3, 5], "names": ["x", "y"],
    "scales": {"0.v": -2}, "inner": {"size": 4}, "word": CodeWord(5, 4).to_json(), "a.b": 9,
}  # fmt: skip


def test_a_table_is_a_record_and_the_same_table_again():
    record = from_json(Everything, TABLE, "choice", "toy")
    assert record.levels == (3, 5) and record.inner == Inner(4) and record.word == CodeWord(5, 4)
    assert record.dotted == 9 and record.pool is None
    assert json.dumps(to_json(record)) == json.dumps(TABLE)  # the order of the keys too
    assert to_json(replace(record, pool=1)) == TABLE | {"pool": 1}
    with pytest.raises(FrozenInstanceError):
        record.whole = 8  # pyright: ignore


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("number", [None, "2", True, float("nan"), float("inf"), 1e301, [2]]),
        ("whole", [None, 7.0, True, "7", 2**53]),
        ("yes", [None, 1, "true"]),
        ("text", [None, 3, "\ud800", ["t"]]),
        ("levels", [None, 3, [3.0], [True], ["3"], [3] * 257]),
        ("names", [3, [3], {"x": 1}]),
        ("scales", [None, [], {"0.v": 0.5}, {"0.v": True}]),
        ("inner", [None, 4, {}, {"size": 4, "more": 1}, {"size": "4"}]),
        ("word", [None, "0101", {"bits": 4}]),
        ("a.b", [None, "9"]),
    ],
)
def test_values_of_another_kind_are_refused(name, values):
    for value in values:
        with pytest.raises(DudleyError):
            from_json(Everything, TABLE | {name: value}, "choice", "toy")


def test_names_that_are_unknown_or_missing_are_said():
    with pytest.raises(UnknownName, match="unknown choice of toy 'whale'; did you mean whole"):
        from_json(Everything, TABLE | {"whale": 1}, "choice", "toy")
    with pytest.raises(InputError, match=r"choices of toy: expected number, whole, .*, got text"):
        from_json(Everything, {"text": "t"}, "choice", "toy")


@pytest.mark.parametrize("name", NAMES)
def test_every_method_has_records_of_its_own(name):
    unit = method_named(name)
    assert issubclass(unit.declares, MethodDeclared) and is_dataclass(unit.chooses)
    table = to_json(unit.read_declared({}))
    assert list(table)[:4] == ["delta", "population", "among", "repeats"]
    assert unit.read_declared(json.loads(json.dumps(table))) == unit.declares()
    with pytest.raises(
        InputError, match=f"choices of {name}: expected {fields(unit.chooses)[0].name}"
    ):
        unit.read_choices({})
    with pytest.raises(InputError, match="among"):
        unit.read_declared({"among": 0})


def test_a_method_from_outside_is_looked_up_certified_and_verified(monkeypatch):
    monkeypatch.setitem(METHODS._units, "part-0", Part(0))
    model, data = reader(12, 0), NoisyCopies((0.1,) * 12, 160)(np.random.default_rng(3))
    best = certify(model, data, method="part-0", declared={"part-0": {"about": "a part"}}).best
    assert best.declared == PartDeclared(about="a part")
    file = json.loads(best.text())
    assert verify(file, model, data).holds
    assert not verify(file | {"declared": file["declared"] | {"about": ""}}, model, data).holds
