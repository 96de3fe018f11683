"""Whatever was stored comes back: every format, every dtype, one tensor at a time."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from dudley.core.errors import InputError, UnknownName
from dudley.core.extras import ExtraMissing
from dudley.weights.named_tensors import finite, open_weights
from each import each
from weight_files import FLOATS, matrix, same, sharded

STORED = {str(dtype): matrix(5, 3, dtype=dtype) for dtype in FLOATS}
STORED |= {
    "ids": torch.arange(7),
    "mask": torch.tensor([True, False]),
    "scalar": torch.tensor(3.5),
    "empty": torch.zeros(0, 4),
    "cube": matrix(2, 3, 4),
    "complex": torch.zeros(2, dtype=torch.complex64),
}


def pickle_new(path: Path) -> Path:
    torch.save(STORED, path)
    return path


def pickle_old(path: Path) -> Path:
    """The format before torch 1.6, which has no 8-bit floats."""
    old = {n: t for n, t in STORED.items() if "float8" not in n}
    torch.save(old, path, _use_new_zipfile_serialization=False)
    return path


def tensors_file(path: Path) -> Path:
    save_file(STORED, path)
    return path


def shards(path: Path) -> Path:
    names = list(STORED)
    return sharded(
        path,
        {
            "model-00001-of-00002.safetensors": {n: STORED[n] for n in names[:4]},
            "model-00002-of-00002.safetensors": {n: STORED[n] for n in names[4:]},
        },
    )


def pickled_shards(path: Path) -> Path:
    path.mkdir()
    names, weight_map = list(STORED), {}
    for i, part in enumerate((names[:4], names[4:])):
        torch.save({n: STORED[n] for n in part}, path / f"pytorch_model-{i}.bin")
        weight_map |= dict.fromkeys(part, f"pytorch_model-{i}.bin")
    (path / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": weight_map}))
    return path


WRITERS = {
    "a.safetensors": tensors_file,
    "a.pt": pickle_new,
    "a.bin": pickle_old,
    "shards": shards,
    "pickled-shards": pickled_shards,
}


@pytest.mark.parametrize("name", WRITERS)
def test_round_trip(name: str, tmp_path: Path):
    path = WRITERS[name](tmp_path / name)
    before = sorted(tmp_path.rglob("*"))
    with open_weights(path) as weights:
        stored = {n: t for n, t in STORED.items() if path.name != "a.bin" or "float8" not in n}
        assert sorted(weights.names()) == sorted(stored)
        assert not weights.skipped and not weights.tied
        for name, tensor in stored.items():
            info = weights.info(name)
            assert info.shape == tuple(tensor.shape)
            assert f"torch.{info.dtype}" == str(tensor.dtype)
            assert info.nbytes == tensor.numel() * tensor.element_size()
            assert Path(info.file).is_file() and tmp_path in Path(info.file).parents
            assert same(weights.load(name), tensor)
            assert weights.error(name) == 0.0
        with pytest.raises(UnknownName, match="scalar"):
            weights.load("scalr")
    assert sorted(tmp_path.rglob("*")) == before  # nothing is written


@pytest.mark.parametrize("name", ["a.safetensors", "a.pt"])
def test_what_was_loaded_outlives_the_reader(name: str, tmp_path: Path):
    with open_weights(WRITERS[name](tmp_path / name)) as weights:
        tensor = weights.load("cube")
    assert same(tensor, STORED["cube"])


@pytest.mark.parametrize("file", ["model.safetensors", "other.safetensors", "pytorch_model.bin"])
def test_a_folder_with_its_config(file: str, tmp_path: Path):
    writer = tensors_file if file.endswith(".safetensors") else pickle_new
    writer(tmp_path / file)
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with open_weights(str(tmp_path)) as weights:
        assert weights.config == {"model_type": "bert"}
        assert weights.source == str(tmp_path)
        assert same(weights.load("cube"), STORED["cube"])


def test_safetensors_go_before_a_pickle(tmp_path: Path):
    save_file({"W": torch.ones(2)}, tmp_path / "model.safetensors")
    torch.save({"W": torch.zeros(2)}, tmp_path / "pytorch_model.bin")
    assert float(open_weights(tmp_path).load("W").sum()) == 2.0


def test_home_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    tensors_file(tmp_path / "a.safetensors")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert "cube" in open_weights("~/a.safetensors").names()


def test_the_cache_of_hugging_face_is_read_through_its_links(tmp_path: Path):
    snapshot = tmp_path / "models--x" / "snapshots" / "abc"
    blobs = tmp_path / "models--x" / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    tensors_file(blobs / "0123.safetensors").rename(blobs / "0123")
    (snapshot / "model.safetensors").symlink_to("../../blobs/0123")
    assert "cube" in open_weights(snapshot).names()


def test_a_live_module_names_what_is_tied():
    module = torch.nn.ModuleDict({"embed": torch.nn.Embedding(5, 3), "head": torch.nn.Linear(3, 5)})
    module["head"].weight = module["embed"].weight
    module.register_buffer("ids", torch.arange(4))
    weights = open_weights(module)
    assert weights.names() == ["ids", "embed.weight", "head.weight", "head.bias"]
    assert weights.tied == {"head.weight": "embed.weight"}
    loaded = weights.load("embed.weight")
    assert not loaded.requires_grad and torch.equal(loaded, module["embed"].weight)


def test_a_pickle_keeps_what_is_tied(tmp_path: Path):
    W = matrix(4, 3)
    torch.save({"a": W, "b": W, "row": W[0]}, tmp_path / "a.pt")
    assert open_weights(tmp_path / "a.pt").tied == {"b": "a"}


def test_a_state_dict_inside_a_checkpoint(tmp_path: Path):
    torch.save({"epoch": 3, "state_dict": {"W": matrix(2, 2)}}, tmp_path / "a.ckpt")
    weights = open_weights(tmp_path / "a.ckpt")
    assert weights.names() == ["W"] and list(weights.skipped) == ["epoch"]


def test_what_has_no_values_is_skipped_with_the_reason():
    weights = open_weights(
        {
            "W": matrix(2, 2),
            "step": 3,
            "sparse": torch.eye(2).to_sparse(),
            "meta": torch.empty(2, device="meta"),
            "wide": torch.zeros(1).expand(10**6, 10**6),
        }
    )
    assert weights.names() == ["W"]
    assert set(weights.skipped) == {"step", "sparse", "meta", "wide"}
    assert "expanded" in weights.skipped["wide"]


@each("dtype", FLOATS)
@each("bad", [float("nan"), float("inf"), -float("inf")])
def test_only_finite_values_are_measured(dtype: torch.dtype, bad: float):
    W = matrix(3, 4, dtype=dtype)
    assert finite(W, "W", "f") is W
    values = W.to(torch.float64)
    values[1, 2] = bad
    damaged = values.to(dtype)
    if not bool(torch.isfinite(damaged.double()).all()):  # e4m3 saturates instead of infinities
        with pytest.raises(InputError, match=r"f: tensor 'W'.* at position \(1, 2\)"):
            finite(damaged, "W", "f")


def test_without_safetensors_there_is_one_clear_error(monkeypatch, tmp_path: Path):
    path = tensors_file(tmp_path / "a.safetensors")
    monkeypatch.setitem(sys.modules, "safetensors", None)  # torch is loaded here already
    with pytest.raises(ExtraMissing, match=re.escape("pip install '.[torch]'")):
        open_weights(str(path)).load("cube")


def test_without_torch_there_is_one_clear_error(tmp_path: Path):
    path = tensors_file(tmp_path / "a.safetensors")
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from dudley.weights.named_tensors import open_weights\n"
        f"try:\n    open_weights({str(path)!r}).load('cube')\n"
        "except ImportError as error:\n    print(type(error).__name__, error)"
    )
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
    )
    assert done.stdout.startswith("ExtraMissing") and "pip install '.[torch]'" in done.stdout
