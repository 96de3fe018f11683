"""Trials and grids: JSON alone, hashes that stand for ever."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dudley.core.canonical import canonical, digest, flat
from dudley.core.errors import InputError
from dudley.lab import Trial, TrialGrid

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)  # fmt: skip


@settings(max_examples=40)
@given(st.dictionaries(st.text(), JSON))
def test_order_of_keys_does_not_count_and_the_text_is_ascii(config):
    assert canonical(dict(reversed(config.items()))) == canonical(config)
    assert canonical(config).isascii()


def test_the_hash_is_the_sha256_of_a_text_anyone_can_write():
    trial = Trial({"task": {"m": 100, "T": (1, 2)}, "lr": 1e-3}, key=7)
    text = b'[{"lr":0.001,"task":{"T":[1,2],"m":100}},7]'
    assert trial.hash == hashlib.sha256(text).hexdigest()
    assert digest({"a": 1}) != digest({"a": 1.0}) != digest({"a": True})


@pytest.mark.parametrize(
    "value, message",
    [
        ({"task": {"m": math.nan}}, "config.task.m: expected a finite number"),
        ({"m": [0, np.int64(3)]}, r"config.m\[1\]: expected JSON"),
        ({"m": {1: 2}}, "a key of config.m: expected a string, got 1"),
        ({"grid": 1}, "no key 'grid'"),
        ([1], "expected a dict, got list"),
    ],
)
def test_what_is_not_json_is_refused_by_its_place(value, message):
    with pytest.raises(InputError, match=message):
        Trial(value, key=0)


@pytest.mark.parametrize("key", [-1, 2**64, 1.0, True])
def test_a_key_has_64_bits(key):
    with pytest.raises(InputError, match=r"\[0, 2\^64\)"):
        Trial({}, key)
    assert Trial({}, 2**64 - 1).key == 2**64 - 1


def test_a_trial_owns_its_config():
    config = {"task": {"m": 1}}
    trial = Trial(config, 0)
    config["task"]["m"] = 2
    assert trial.config == {"task": {"m": 1}} and trial == Trial({"task": {"m": 1}}, 0)
    assert len({trial, Trial({"task": {"m": 1}}, 0), Trial({"task": {"m": 1}}, 1)}) == 2


def test_a_grid_is_a_set_in_order():
    first, second = Trial({"m": 1}, 1), Trial({"m": 2}, 1)
    assert TrialGrid([first, second], "a", 0).hash != TrialGrid([second, first], "a", 0).hash
    with pytest.raises(InputError, match="trial 2 equal to trial 0; number repeats"):
        TrialGrid([first, second, first], "a", 0)
    for trials, name, seed in [([], "a", 0), ([first], "", 0), ([first], "a", 0.5)]:
        with pytest.raises(InputError):
            TrialGrid(trials, name, seed)


def test_flat_names():
    assert flat({"a": {"b": {"c": 1}}, "d": [1, {"e": 2}], "f": {}}) == {
        "a.b.c": 1,
        "d": [1, {"e": 2}],
        "f": {},
    }
