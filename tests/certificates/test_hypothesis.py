"""Hypotheses: the function by a second program, margins, the file and what is not one."""

import itertools
import json
import math
import pickle
import struct

import numpy as np
import pytest
from hypothesis import given, strategies as st
from safetensors.numpy import save_file

from certificates.validity import reader
from dudley.certificates import hypothesis
from dudley.certificates.data import Dataset
from dudley.certificates.hypothesis import Hypothesis, load
from dudley.certificates.predictor import margins
from dudley.core.errors import DudleyError, InputError
from each import each

ENCODING = {"name": "bits", "T": 3}
LAYER = {"node": "head", "query": "fixed", "v": "free", "W_v": "free", "k": 2, "sigma": "relu"}
TABLES = {
    "schema": "dudley.net/1",
    "input": {"T": 4, "V": 7},
    "layer": [LAYER],
    "output": {"w": "free"},
}
EVERY = np.array(list(itertools.product([0, 1], repeat=3)), np.uint8)


def some(seed: int = 0, size: float = 1.0) -> Hypothesis:
    rng = np.random.default_rng(seed)
    shapes = {"0.W_v": (7, 2), "0.v": (7, 1), "1.w": (2, 1)}
    weights = {name: size * rng.normal(size=shape) for name, shape in shapes.items()}
    return Hypothesis(TABLES, ENCODING, weights)


def by_hand(model: Hypothesis, bits) -> float:
    """wᵀσ(W_vᵀ Σ softmax(v·x_t) x_t) in loops over plain floats."""
    v, W, w = (model.weights[name] for name in ("0.v", "0.W_v", "1.w"))
    tokens = [int(bit) * 3 + t for t, bit in enumerate(bits)] + [6]
    shares = [math.exp(v[code, 0]) for code in tokens]
    out = 0.0
    for k in range(2):
        h = sum(s * W[code, k] for s, code in zip(shares, tokens, strict=True)) / sum(shares)
        out += max(h, 0.0) * w[k, 0]
    return out


@given(st.integers(0, 10**6))
def test_outputs_are_those_of_a_second_program(seed):
    model = some(seed)
    expected = [by_hand(model, bits) for bits in EVERY]
    assert model.outputs(EVERY)[:, 0] == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_an_output_does_not_depend_on_its_neighbours(monkeypatch):
    model = some(1)
    whole = model.outputs(EVERY)
    for i in range(len(EVERY)):
        assert model.outputs(EVERY[i : i + 1])[0] == whole[i]
    monkeypatch.setattr(hypothesis, "TOGETHER", 3 * 28)
    assert np.array_equal(model.outputs(EVERY), whole)
    assert model.outputs(EVERY[:0]).shape[0] == 0


def test_ties_and_undefined_margins_are_errors():
    y = np.array([1, 0, 1])
    assert (margins(np.zeros((3, 1)), y) <= 0).all()
    assert (margins(np.ones((3, 2)), y) <= 0).all()
    assert (margins(np.full((3, 1), np.nan), y) == -np.inf).all()
    assert (margins(np.full((3, 2), np.inf), y) == -np.inf).all()
    assert (margins(np.array([[np.nan, 1.0]]), np.array([1])) == -np.inf).all()


def test_outputs_that_overflow_are_errors():
    model = some(2, size=1e200)
    with np.errstate(all="ignore"):
        margins = model.margins(Dataset(EVERY, np.arange(8) % 2))
    assert not np.isnan(margins).any()


@given(st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_margins_are_the_least_advantage(classes, seed):
    rng = np.random.default_rng(seed)
    logits, y = rng.integers(-3, 4, (6, classes)) / 2.0, rng.integers(0, classes, 6)
    expected = [
        min(row[c] - other for j, other in enumerate(row) if j != c)
        for row, c in zip(logits.tolist(), y, strict=True)
    ]
    assert margins(logits, y).tolist() == expected


def test_labels_of_any_integer_type_mean_the_same():
    logits = np.array([[0.0, 1.0], [2.0, 0.5], [0.0, 1.0]])
    expected = margins(logits, np.array([1, 0, 1])).tolist()
    for kind in (bool, np.uint8, np.int16, np.uint64):
        assert margins(logits, np.array([1, 0, 1]).astype(kind)).tolist() == expected
        assert margins(logits[:, 1:] - 0.75, np.array([1, 0, 1]).astype(kind)).tolist() == [
            0.25,
            0.25,
            0.25,
        ]


@pytest.mark.parametrize("width", [1, 2])
def test_a_label_the_model_does_not_know_is_refused(width):
    with pytest.raises(InputError, match="labels below 2"):
        margins(np.zeros((1, width)), np.array([2]))


def test_the_hash_knows_every_part():
    model = some()
    moved = {**model.weights, "1.w": np.nextafter(model.weights["1.w"], 9)}
    other_layer = {**TABLES, "layer": [LAYER | {"sigma": "identity"}]}
    outputs = {
        model.sha256,
        Hypothesis(TABLES, ENCODING, moved).sha256,
        Hypothesis(other_layer, ENCODING, model.weights).sha256,
        Hypothesis(TABLES | {"title": "x"}, ENCODING, model.weights).sha256,
    }
    assert len(outputs) == 4
    assert some().sha256 == model.sha256


@pytest.mark.parametrize(
    "change",
    [
        {"0.v": np.zeros((7, 2))},
        {"0.v": np.zeros((7, 1), np.float32)},
        {"0.v": np.full((7, 1), np.nan)},
        {"0.v": np.full((7, 1), np.inf)},
        {"2.v": np.zeros((7, 1))},
    ],
)
def test_other_weights_are_refused(change):
    with pytest.raises(InputError, match="weights"):
        Hypothesis(TABLES, ENCODING, some().weights | change)
    with pytest.raises(InputError, match=r"0\.v is missing"):
        weights = {name: W for name, W in some().weights.items() if name != "0.v"}
        Hypothesis(TABLES, ENCODING, weights)


def test_an_encoding_that_does_not_fit_the_network_is_refused():
    with pytest.raises(InputError, match=r"\[input\]"):
        Hypothesis(TABLES, {"name": "rows", "T": 3, "d": 7, "R": 1.0}, some().weights)
    with pytest.raises(InputError, match=r"\[input\]"):
        Hypothesis(TABLES, {"name": "bits", "T": 300}, some().weights)
    with pytest.raises(InputError, match=r"\[input\]"):
        Hypothesis(TABLES, {"name": "bits", "T": 10**12}, some().weights)


# -- the file ---------------------------------------------------------------------------------


@given(st.integers(0, 10**6))
def test_the_file_comes_back(tmp_path_factory, seed):
    path = tmp_path_factory.mktemp("model") / "m.safetensors"
    model = some(seed)
    model.save(path)
    again = load(path)
    assert again.sha256 == model.sha256
    assert np.array_equal(again.outputs(EVERY), model.outputs(EVERY))


def refused(path) -> str:
    with pytest.raises(DudleyError) as error:
        load(path)
    message = str(error.value)
    assert "\n" not in message and len(message) < 400
    return message


def written(path, metadata, weights=None):
    arrays = {n: np.ascontiguousarray(W) for n, W in (weights or some().weights).items()}
    save_file(
        arrays,
        str(path),
        {"dudley": metadata if isinstance(metadata, str) else json.dumps(metadata)},
    )
    return path


def header(**changes):
    whole = {"schema": "dudley.model/1", "network": TABLES, "encoding": ENCODING}
    return whole | changes


def test_truncated_files_are_refused(tmp_path):
    some().save(tmp_path / "m.safetensors")
    whole = (tmp_path / "m.safetensors").read_bytes()
    for share in (0, 4, 8, 100, len(whole) // 2, len(whole) - 1):
        (tmp_path / "part.safetensors").write_bytes(whole[:share])
        refused(tmp_path / "part.safetensors")
    refused(tmp_path / "absent.safetensors")
    refused(tmp_path)


def test_foreign_files_are_refused(tmp_path):
    path = tmp_path / "m.safetensors"
    save_file(some().weights, str(path))
    assert "header dudley.model/1" in refused(path)
    path.write_bytes(pickle.dumps({"0.v": 1}))
    refused(path)
    path.write_bytes(struct.pack("<Q", 2**62) + b"{}")  # a header longer than any file
    refused(path)
    path.write_text("import os")
    refused(path)


@each(
    "metadata",
    [
        "not json",
        "[" * 100_000,
        "null",
        [],
        {"schema": "dudley.model/1"},
        header(schema="dudley.model/2"),
        header(network=None),
        header(network=[]),
        header(encoding=None),
        header(encoding=7),
        header(encoding={"name": "bits", "T": 1e3}),
        header(network=TABLES | {"layer": {}}),
        header(network=TABLES | {"layer": [5]}),
        header(network=TABLES | {"layer": [LAYER | {"repeat": 10**9}]}),
        header(network=TABLES | {"layer": [LAYER | {"repeat": "x"}]}),
        header(network=TABLES | {"layer": [LAYER | {"node": "__import__('os')"}]}),
        header(network=TABLES | {"layer": [LAYER | {"sigma": [1, {}]}]}),
        header(network=TABLES | {"layer": [LAYER | {"k": 10**15}]}),
        header(network=TABLES | {"layer": [LAYER | {"unknown": 1}]}),
        header(network=TABLES | {"input": {"T": 4, "V": 9}}),
    ],
)
def test_hostile_headers_are_refused(tmp_path, metadata):
    refused(written(tmp_path / "m.safetensors", metadata))


def test_hostile_weights_are_refused(tmp_path):
    for change in ({"0.v": np.full((7, 1), np.nan)}, {"extra": np.zeros(3)}):
        refused(written(tmp_path / "m.safetensors", header(), some().weights | change))


def test_readers_say_what_their_bit_says():
    for j in range(3):
        y = EVERY[:, j]
        assert (reader(3, j).margins(Dataset(EVERY, y)) > 0).all()
        assert (reader(3, j).margins(Dataset(EVERY, 1 - y)) < 0).all()
