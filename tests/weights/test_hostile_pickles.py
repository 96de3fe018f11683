"""Pickles and torch files that strangers may have written: refused in one line, never executed."""

import io
import pickle
import zipfile
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings, strategies as st

from dudley.core.errors import DudleyError, InputError
from dudley.weights.named_tensors import open_weights
from each import each
from weight_files import matrix, refused

W = {"W": matrix(3, 2), "v": matrix(4)}


class Payload:
    """Creates a file when it is unpickled."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def new_format(value: object, path: Path) -> None:
    torch.save(value, path)


def old_format(value: object, path: Path) -> None:
    torch.save(value, path, _use_new_zipfile_serialization=False)


def bare_pickle(value: object, path: Path) -> None:
    path.write_bytes(pickle.dumps(value))


@pytest.mark.parametrize("write", [new_format, old_format, bare_pickle])
@pytest.mark.parametrize("place", ["alone", "beside tensors", "as a key's value in a folder"])
def test_a_pickle_with_code_is_refused_and_not_executed(
    write, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    # Even where the user's environment asks torch to be careless.
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    trace, path = tmp_path / "executed", tmp_path / "pytorch_model.bin"
    payload = Payload(trace)
    write(payload if place == "alone" else {"W": W["W"], "x": payload}, path)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(InputError, match=r"pytorch_model\.bin") as caught:
        open_weights(tmp_path if "folder" in place else path)
    assert not trace.exists() and sorted(tmp_path.iterdir()) == before
    assert str(caught.value).isprintable()
    # The payload is live: the trap would have sprung.
    pickle.loads(pickle.dumps(payload)).close()
    assert trace.exists()


def test_a_pickled_module_is_refused(tmp_path: Path):
    torch.save(torch.nn.Linear(2, 2), tmp_path / "m.pt")
    assert "asks for torch.nn.modules.linear.Linear" in refused(tmp_path / "m.pt", "tensors alone")


def test_a_torchscript_archive_is_refused(tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "m.pt", "w") as archive:
        archive.writestr("m/constants.pkl", b"x")
        archive.writestr("m/data.pkl", b"x")
        archive.writestr("m/version", b"3")
    refused(tmp_path / "m.pt", "tensors alone")


def repacked(path: Path, change, compression: int = zipfile.ZIP_STORED) -> Path:
    """A torch file with its pickle changed."""
    whole = io.BytesIO()
    torch.save({"W": W["W"]}, whole)
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(path, "w", compression) as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, change(data) if name.endswith("data.pkl") else data)
    return path


def test_a_zip_bomb_is_refused(tmp_path: Path):
    path = tmp_path / "m.pt"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("m/data.pkl", bytes(10**7))
    refused(path, "uncompressed")


@pytest.mark.parametrize("lie", [b"K\xff", b"M\xff\xff", b"J\xff\xff\xff\x7f"])
def test_a_storage_that_claims_more_than_there_is(lie: bytes, tmp_path: Path):
    """The pickle says how many values a storage has (here 6): more than the file holds."""

    def change(data: bytes) -> bytes:
        assert data.count(b"K\x06") == 1
        return data.replace(b"K\x06", lie)

    assert open_weights(repacked(tmp_path / "good.pt", bytes)).names() == ["W"]
    path = repacked(tmp_path / "m.pt", change)
    try:
        loaded = open_weights(path).load("W")
    except InputError as error:
        assert "m.pt" in str(error)
    else:  # the storage was cut to the file; the tensor itself is as it was
        assert torch.equal(loaded, W["W"])


@pytest.mark.parametrize("old", [b"K\x03K\x02\x86", b"K\x02K\x01\x86"])
def test_a_tensor_that_reaches_beyond_its_storage(old: bytes, tmp_path: Path):
    """Shape (3, 2) and strides (2, 1), made larger than the storage."""

    def change(data: bytes) -> bytes:
        assert data.count(old) == 1
        return data.replace(old, b"K\xffK\xff\x86")

    refused(repacked(tmp_path / "m.pt", change), "tensors alone")


@each("size", [0, 1, 100, 400, -1])
@each("write", [new_format, old_format])
def test_truncated_torch_files(write, size: int, tmp_path: Path):
    path = tmp_path / "m.pt"
    write(W, path)
    path.write_bytes(path.read_bytes()[:size])
    refused(path, "expected")


@pytest.mark.parametrize("value", [[1, 2], {1: torch.ones(2)}, torch.ones(2), "text"])
def test_a_torch_file_without_a_state_dict(value: object, tmp_path: Path):
    torch.save(value, tmp_path / "m.pt")
    refused(tmp_path / "m.pt", "state dict")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 255)), min_size=1, max_size=4),
       inside=st.booleans())  # fmt: skip
def test_changed_torch_files_never_crash(tmp_path: Path, edits, inside: bool):
    def change(data: bytes) -> bytes:
        raw = bytearray(data)
        for at, byte in edits:
            raw[at % len(raw)] = byte
        return bytes(raw)

    path = tmp_path / "m.pt"
    if inside:
        repacked(path, change)
    else:
        new_format(W, path)
        path.write_bytes(change(path.read_bytes()))
    try:
        with open_weights(path) as weights:
            for name in weights.names():
                weights.load(name).sum()
    except DudleyError as error:
        assert str(error).isprintable()
