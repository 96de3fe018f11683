"""Damaged and hostile files: one line each, nothing executed, nothing left behind."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from safetensors.torch import save, save_file

from dudley.core.errors import DudleyError, InputError
from dudley.weights.named_tensors import open_weights
from each import each
from weight_files import entry, matrix, raw_tensors, refused, sharded

EIGHT = bytes(8)
W = {"W": matrix(3, 2), "v": matrix(4)}
DEEP = b'{"W": ' + b"[" * 10**6
TWICE = b'{"W": %s, "W": %s}' % ((json.dumps(entry([2], 0, 8)).encode(),) * 2)

# case ↦ header, data, stated length (None: the true one), and what the refusal must say.
HEADERS = {
    "length beyond the file": ({"W": entry([2], 0, 8)}, EIGHT, 10**15, "header length"),
    "length of 2⁶⁴−1": ({}, b"", 2**64 - 1, "header length"),
    "length too short": ({"W": entry([2], 0, 8)}, EIGHT, 9, "JSON"),
    "length zero": (b"", b"", 0, "starts with"),
    "truncated data": ({"W": entry([2], 0, 8)}, EIGHT[:5], None, "'W'.*truncated"),
    "data beyond the header": ({"W": entry([2], 0, 8)}, EIGHT + b"x", None, "8 bytes of data"),
    "overlap": ({"W": entry([2], 0, 8), "v": entry([1], 4, 8)}, EIGHT, None, "'v'.*overlap"),
    "same bytes twice": ({"W": entry([2], 0, 8), "v": entry([2], 0, 8)}, EIGHT, None, "overlap"),
    "a gap": ({"W": entry([1], 0, 4), "v": entry([1], 8, 12)}, bytes(12), None, "'v'.*gap"),
    "begin after end": ({"W": entry([2], 8, 0)}, EIGHT, None, "'W'.*begin ≤ end"),
    "negative offset": ({"W": entry([2], -8, 0)}, EIGHT, None, "'W'.*begin ≤ end"),
    "shape too large": ({"W": entry([2**40, 2**40], 0, 8)}, EIGHT, None, "'W'.*fits its bytes"),
    "shape wraps to 8 bytes": ({"W": entry([2**62, 4, 2], 0, 8)}, EIGHT, None, "'W'.*fits"),
    "shape negative": ({"W": entry([-1, -2], 0, 8)}, EIGHT, None, "'W'.*shape"),
    "shape of floats": ({"W": entry([2.0], 0, 8)}, EIGHT, None, "'W'.*shape"),
    "shape of booleans": ({"W": entry([True, 2], 0, 8)}, EIGHT, None, "'W'.*shape"),
    "shape of 10⁵ ones": ({"W": entry([1] * 10**5, 0, 4)}, EIGHT[:4], None, "'W'.*shape"),
    "unknown dtype": ({"W": entry([2], 0, 8, "F31")}, EIGHT, None, "'W'.*dtype"),
    "dtype is a list": ({"W": {**entry([2], 0, 8), "dtype": []}}, EIGHT, None, "'W'.*dtype"),
    "an extra key": ({"W": {**entry([2], 0, 8), "x": 1}}, EIGHT, None, "'W'.*alone"),
    "a key is missing": ({"W": {"dtype": "F32"}}, EIGHT, None, "'W'"),
    "no object": (b"[1]", b"", None, "starts with"),
    "metadata of numbers": ({"__metadata__": {"a": 1}}, b"", None, "__metadata__"),
    "a key twice": (TWICE, EIGHT, None, "'W' twice"),
    "nested a million deep": (DEEP, b"", None, "deep"),
    "not UTF-8": (b'{"\xff": 1}', b"", None, "UTF-8"),
    "a NaN": (b'{"W": NaN}', b"", None, "finite numbers"),
    "digits without end": (b'{"W": ' + b"9" * 10**5 + b"}", b"", None, "JSON"),
    "quotes without end": (b'{"' + b'\\"' * 10**6, b"", None, "JSON"),
}


@each("case", HEADERS)
def test_headers(case: str, tmp_path: Path):
    header, data, length, message = HEADERS[case]
    refused(raw_tensors(tmp_path / "m.safetensors", header, data, length), message)


@pytest.mark.parametrize("size", [0, 3, 7, 8])
def test_short_files(size: int, tmp_path: Path):
    path = tmp_path / "m.safetensors"
    path.write_bytes(bytes(size))
    refused(path, "header")


def test_a_header_larger_than_the_limit(tmp_path: Path):
    path = tmp_path / "m.safetensors"
    with path.open("wb") as file:
        file.write((2**31).to_bytes(8, "little"))
        file.truncate(2**31 + 8)  # sparse: takes no room
    refused(path, "at most")


def test_every_truncation_is_refused(tmp_path: Path):
    whole = save(W)
    for size in range(len(whole)):
        path = tmp_path / "m.safetensors"
        path.write_bytes(whole[:size])
        with pytest.raises(InputError, match=r"m\.safetensors"):
            open_weights(path)


def test_names_are_printed_escaped(tmp_path: Path):
    name = "W\n\x1b[31m" + "x" * 3000
    refused(raw_tensors(tmp_path / "m.safetensors", {name: entry([3], 0, 8)}, EIGHT), r"W\\n")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=6),
       cut=st.none() | st.integers(0, 400))  # fmt: skip
def test_changed_bytes_never_crash(tmp_path: Path, edits, cut):
    raw = bytearray(save(W))
    for at, byte in edits:
        raw[at % len(raw)] = byte
    path = tmp_path / "m.safetensors"
    path.write_bytes(bytes(raw[:cut]))
    try:
        with open_weights(path) as weights:
            for name in weights.names():
                assert tuple(weights.load(name).shape) == weights.info(name).shape
    except DudleyError as error:
        assert str(error).isprintable()


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=3)
    | st.sampled_from(["F32", "I8"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["W", "dtype", "shape", "data_offsets"]), inner)
    ),
    max_leaves=12,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(header=JSON, data=st.binary(max_size=16))
def test_any_json_header_never_crashes(tmp_path: Path, header, data: bytes):
    path = raw_tensors(tmp_path / "m.safetensors", header, data)
    try:
        with open_weights(path) as weights:
            assert all(weights.load(name) is not None for name in weights.names())
    except DudleyError as error:
        assert str(error).isprintable()


# Index files.


def with_index(folder: Path, weight_map: object) -> Path:
    index = sharded(folder, {"a.safetensors": {"W": W["W"]}, "b.safetensors": {"v": W["v"]}})
    index.write_text(json.dumps({"weight_map": weight_map}))
    return index


GOOD = {"W": "a.safetensors", "v": "b.safetensors"}
INDEXES = {
    "a path upwards": ({**GOOD, "x": "../secret.safetensors"}, "'x'.*plain file name"),
    "an absolute path": ({**GOOD, "x": "/etc/passwd"}, "'x'.*plain file name"),
    "a backslash": ({**GOOD, "x": "..\\secret.safetensors"}, "'x'.*plain file name"),
    "a folder": ({**GOOD, "x": ".."}, "'x'.*plain file name"),
    "a NUL": ({**GOOD, "x": "a\0.safetensors"}, "'x'.*plain file name"),
    "an empty name": ({**GOOD, "x": ""}, "'x'.*plain file name"),
    "a missing shard": ({**GOOD, "x": "c.safetensors"}, "c.safetensors.*'x'"),
    "a tensor in no shard": ({**GOOD, "x": "a.safetensors"}, "'x'.*without it"),
    "a tensor not listed": ({"W": "a.safetensors", "x": "b.safetensors"}, "'v'.*in the index"),
    "a tensor in another shard": ({"W": "b.safetensors", "v": "a.safetensors"}, "one file"),
    "a number": ({**GOOD, "x": 3}, "'x'.*name of a file"),
    "no map": ([], "weight_map"),
    "an empty map": ({}, "weight_map"),
    "another ending": ({**GOOD, "x": "config.json"}, "config.json"),
}


@each("case", INDEXES)
def test_indexes(case: str, tmp_path: Path):
    weight_map, message = INDEXES[case]
    save_file({"x": W["W"]}, tmp_path / "secret.safetensors")
    index = with_index(tmp_path / "m", weight_map)
    (tmp_path / "m" / "config.json").write_text("{}")
    with pytest.raises(InputError, match=message) as caught:
        open_weights(index)
    assert str(caught.value).isprintable() and str(tmp_path / "m") in str(caught.value)


def test_a_tensor_in_two_shards(tmp_path: Path):
    index = with_index(tmp_path / "m", GOOD)
    save_file({"v": W["v"], "W": W["W"]}, tmp_path / "m" / "b.safetensors")
    refused(index, "'W'.*one file")


def test_links_out_of_the_folder(tmp_path: Path):
    index = with_index(tmp_path / "m", GOOD)
    shard = tmp_path / "m" / "b.safetensors"
    shard.rename(tmp_path / "b.safetensors")
    shard.symlink_to(tmp_path / "b.safetensors")
    with pytest.raises(InputError, match=r"b\.safetensors: tensor 'v'.*a link to"):
        open_weights(index)
    shard.unlink()
    (tmp_path / "b.safetensors").rename(tmp_path / "m" / "real.safetensors")
    shard.symlink_to("real.safetensors")  # a link that stays inside is fine
    assert open_weights(index).names() == ["W", "v"]


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_links_out_of_a_folder_without_index(name: str, tmp_path: Path):
    folder = tmp_path / "m"
    folder.mkdir()
    save_file(W, folder / "model.safetensors")
    (folder / "config.json").write_text("{}")
    (folder / name).rename(tmp_path / name)
    (folder / name).symlink_to(tmp_path / name)
    with pytest.raises(InputError, match="a link to"):
        open_weights(folder)


def test_a_false_cache_does_not_lead_out(tmp_path: Path):
    """`blobs` itself may not be a link."""
    snapshot, away = tmp_path / "m" / "snapshots" / "1", tmp_path / "away"
    snapshot.mkdir(parents=True)
    away.mkdir()
    save_file(W, away / "x")
    (tmp_path / "m" / "blobs").symlink_to(away)
    (snapshot / "model.safetensors").symlink_to("../../blobs/x")
    with pytest.raises(InputError, match="a link to"):
        open_weights(snapshot)


def test_what_is_no_file(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.safetensors")
    refused(tmp_path / "pipe.safetensors", "regular file")  # and does not wait for a writer
    refused(tmp_path / "absent.safetensors", "readable file")
    (tmp_path / "none").mkdir()
    refused(tmp_path / "none", "a folder with one of")
    (tmp_path / "a.gguf").write_bytes(b"GGUF")
    refused(tmp_path / "a.gguf", "ends in")
    (tmp_path / "model.safetensors").symlink_to("nowhere")
    with pytest.raises(InputError, match=r"model\.safetensors"):
        open_weights(tmp_path)
    with pytest.raises(InputError, match="readable file"):
        open_weights("a\0b")
    with pytest.raises(InputError, match="a path, a torch module"):
        open_weights(3)


@pytest.mark.parametrize("other", ["adapter_model.safetensors", "b.safetensors"])
def test_a_folder_that_could_mean_two_things(other: str, tmp_path: Path):
    name = "model.safetensors" if other.startswith("adapter") else "a.safetensors"
    save_file(W, tmp_path / name)
    save_file(W, tmp_path / other)
    with pytest.raises(InputError, match=r"expected (a model or an adapter|one \.safetensors)"):
        open_weights(tmp_path)


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', "[]", "{", '{"a": NaN}', '{"a":' * 99])
def test_configs(text: str, tmp_path: Path):
    save_file(W, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(InputError, match=r"config\.json"):
        open_weights(tmp_path)


def test_a_huge_config(tmp_path: Path):
    save_file(W, tmp_path / "model.safetensors")
    with (tmp_path / "config.json").open("wb") as file:
        file.truncate(2**30)
    with pytest.raises(InputError, match=r"config\.json.*at most"):
        open_weights(tmp_path)
