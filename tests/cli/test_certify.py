"""The commands: a certificate made, written, verified and refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dudley.networks.files import EXAMPLES

SHIPPED = EXAMPLES / "sparse-and"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The shipped example where it may be changed."""
    for file in SHIPPED.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path


def test_the_shipped_certificate_holds_and_one_digit_more_does_not(dudley, folder):
    done = dudley("verify", folder)
    assert done.code == 0 and done.out.startswith("holds: probability that the model errs")
    path = folder / "certificate.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(record | {"value": record["value"] / 2}), encoding="utf-8")
    done = dudley("verify", folder)
    assert done.code == 1 and "✗ value: the file says" in done.out
    item = dudley("verify", folder, "--json").json()["items"][0]
    assert item["holds"] is False and [d["field"] for d in item["differences"]] == ["value"]


def test_auto_tries_what_the_data_allow_and_writes_the_best(dudley, folder):
    X = np.random.default_rng(5).integers(0, 2, (3000, 16), dtype=np.uint8)
    with np.load(folder / "train.npz") as file:
        y = file["y"]
    np.savez(folder / "holdout.npz", X=X[: len(y)], y=y)  # labels of other bits: mostly wrong
    out = folder / "best.json"
    done = dudley("certify", "model", folder, "--holdout", folder / "holdout.npz", "--out", out)
    assert done.code == 0 and "beside it" in done.out and "hold-out" in done.out
    record = json.loads(out.read_text(encoding="utf-8"))
    assert record["method"] == "occam" and record["declared"]["among"] == 3
    check = dudley(
        "verify", out, "--model", folder / "model.safetensors", "--data", folder / "train.npz"
    )
    assert check.code == 0
    other = dudley(
        "verify", out, "--model", folder / "model.safetensors", "--data", folder / "holdout.npz"
    )
    assert other.code == 1 and "data.sha256" in other.out


def test_what_was_tried_before_multiplies_the_methods(dudley, folder):
    declared = ["--declare", "occam.among=3"]
    done = dudley("certify", "model", folder, *declared, "--out", folder / "best.json")
    assert done.code == 0, done.err
    record = json.loads((folder / "best.json").read_text(encoding="utf-8"))
    assert record["method"] == "occam" and record["declared"]["among"] == 6
    files = ["--model", folder / "model.safetensors", "--data", folder / "train.npz"]
    assert dudley("verify", folder / "best.json", *files).code == 0
    refused = dudley("certify", "model", folder, "--declare", "occam.among=0").refused()
    assert "a whole number ≥ 1" in refused


def test_weights_of_ones_own_are_described_and_compressed(dudley, folder):
    from safetensors.numpy import save_file

    T, rng = 6, np.random.default_rng(0)
    v, u = 0.01 * rng.standard_normal((2, 2 * T + 1, 1))
    u[0] -= 1.0
    u[T] += 1.0
    save_file(
        {"weights.0.v": v.astype(np.float32), "weights.0.W_v": u.astype(np.float32)},
        folder / "own.safetensors",
    )
    (folder / "own.toml").write_text(
        f'schema = "dudley.net/1"\n[input]\nT = {T + 1}\nV = {2 * T + 1}\n'
        '[[layer]]\nnode = "head"\n'
        'query = "fixed"\nv = "free"\nW_v = "free"\nk = 1\nsigma = "identity"\n',
        encoding="utf-8",
    )
    X = rng.integers(0, 2, (3000, T), dtype=np.uint8)
    np.savez(folder / "own.npz", X=X, y=X[:, 0].astype(np.int64))
    args = ["certify", "model", folder / "own.safetensors", "--train", folder / "own.npz"]
    described = ["--network", folder / "own.toml", "--encoding", f'{{"name": "bits", "T": {T}}}']
    done = dudley(*args, *described, "--out", folder / "own.json")
    assert done.code == 0, done.err
    assert "occam refused" in done.out and "Of the compressed model" in done.out
    for name in ("own", "own.compressed"):
        model = folder / ("own.model.safetensors" if name == "own" else f"{name}.safetensors")
        assert (
            dudley(
                "verify", folder / f"{name}.json", "--model", model, "--data", folder / "own.npz"
            ).code
            == 0
        )
    small = json.loads((folder / "own.compressed.json").read_text(encoding="utf-8"))
    whole = json.loads((folder / "own.json").read_text(encoding="utf-8"))
    assert small["method"] == "occam" and small["value"] < whole["value"]
    assert dudley(*args, "--network", folder / "own.toml").code == 2
    assert dudley(*args).code == 2


@pytest.mark.parametrize("method", ["occam", "pac-bayes"])
def test_training_on_a_file_of_ones_own(dudley, tmp_path, method):
    X = np.random.default_rng(1).integers(0, 2, (1500, 5), dtype=np.uint8)
    np.savez(tmp_path / "own.npz", X=X, y=(X[:, 1] & X[:, 3]).astype(np.int64))
    args = [
        "certify",
        "train",
        tmp_path / "own.npz",
        "--method",
        method,
        "--out",
        tmp_path / "made",
    ]
    done = dudley(*args, "--encoding", '{"name": "bits", "T": 5}')
    assert done.code == 0, done.err
    assert sorted(p.name for p in (tmp_path / "made").iterdir()) == [
        "certificate.json", "model.safetensors", "train.npz",
    ]  # fmt: skip
    assert dudley("verify", tmp_path / "made").code == 0
    refused = dudley(*args)
    assert refused.code == 2 and "--encoding" in refused.err


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["certify", "model", "absent.safetensors", "--train", "x.npz"], "no file"),
        (["certify", "model", "sparse-and", "--method", "magic"], "unknown method"),
        (["certify", "model", "sparse-and", "--declare", "seed=1"], "method.name=value"),
        (["certify", "model", "sparse-and", "--delta", "1.5"], "delta"),
        (["certify", "train", "and", "--method", "hold-out"], "method to train for"),
        (["verify", "absent.json", "--model", "m", "--data", "d"], "no file"),
        (["verify", SHIPPED / "certificate.json"], "got no --model and no --data"),
        (["certify", "model", "sparse-and", "--method", "hold-out"], "give --holdout"),
        (["certify", "model", SHIPPED / "model.safetensors"], "give --train or --holdout"),
        (["certify", "model", SHIPPED / "train.npz"], "got an .npz file; weights go into"),
        (["certify", "train", SHIPPED / "train.npz", "--encoding", "bits"],
         'JSON such as {"name": "bits", "T": 32}, got bits'),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_leaves_nothing(dudley, tmp_path, monkeypatch, args, says):
    monkeypatch.chdir(tmp_path)
    done = dudley(*args)
    assert done.code == 2 and says in done.err and done.err.count("\n") <= 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["and", "--n", "1"], "training set: expected at least 2 examples, got 1"),
        (["mnist01", "--n", "1"], "training set: expected at least 2 examples, got 1"),
        (["and", "--T", "2", "--s", "3"], "s: expected at most T = 2 hidden bits, got 3"),
        (["and", "--T", "100000", "--n", "10"], "at most 200,000,000 in all, got 100,000 examples"),
        (["and", "--n", "1000000000000"], "at most 200,000,000 in all"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("method", ["norm-cover", "occam", "pac-bayes"])
def test_data_that_no_model_can_be_trained_on_are_refused(
    dudley, tmp_path, monkeypatch, args, says, method
):
    monkeypatch.chdir(tmp_path)
    assert says in dudley("certify", "train", *args, "--method", method).refused()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("method", ["norm-cover", "occam", "pac-bayes"])
def test_a_file_that_does_not_fit_its_encoding_is_refused(dudley, tmp_path, method):
    X = np.random.default_rng(1).integers(0, 2, (50, 5), dtype=np.uint8)
    np.savez(tmp_path / "own.npz", X=X, y=X[:, 1].astype(np.int64))
    np.savez(tmp_path / "many.npz", X=X, y=1000 * X[:, 1].astype(np.int64))
    for name, T, says in (("own", 6, "shape (n, 6)"), ("many", 5, "a label 1000")):
        args = ["--encoding", f'{{"name": "bits", "T": {T}}}', "--out", tmp_path / "made"]
        done = dudley("certify", "train", tmp_path / f"{name}.npz", "--method", method, *args)
        assert says in done.refused() and not (tmp_path / "made").exists()


def test_a_language_certificate_wants_a_language_model(dudley, folder):
    path = folder / "certificate.json"
    record = json.loads(path.read_text(encoding="utf-8")) | {"method": "language"}
    path.write_text(json.dumps(record), encoding="utf-8")
    assert "dudley.language-model/1" in dudley("verify", folder).refused()


# -- checkpoints ------------------------------------------------------------------------------

WHICH = ("--heads", "2", "--norm-last", "--epsilon", "1e-5", "--activation", "relu")
AROUND = ("--row", "mean", "--role", "tokens=embedding", "--role", "readout=readout")


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    """A state dict of torch's encoder with an embedding and a readout, and data."""
    import torch
    from safetensors.torch import save_file

    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(8, 2, 12, batch_first=True)
    parts = torch.nn.ModuleDict({
        "tokens": torch.nn.Embedding(6, 8),
        "layers": torch.nn.TransformerEncoder(layer, 1, enable_nested_tensor=False),
        "readout": torch.nn.Linear(8, 2),
    }).eval()  # fmt: skip
    save_file(parts.state_dict(), tmp_path / "mine.safetensors")
    with torch.no_grad():
        for name, n in (("train", 700), ("holdout", 300)):
            X = torch.randint(0, 6, (n, 12))
            f = parts["readout"](parts["layers"](parts["tokens"](X)).mean(1))
            y = (f[:, 1] - f[:, 0] > (f[:, 1] - f[:, 0]).median()).long()
            np.savez(tmp_path / f"{name}.npz", X=X.numpy(), y=y.numpy())
        bias: Any = parts["readout"].bias
        bias[0] += (f[:, 1] - f[:, 0]).median()  # half of each class
    save_file(parts.state_dict(), tmp_path / "mine.safetensors")
    return tmp_path


def test_an_encoder_of_torch_is_certified_and_verified(dudley, encoder):
    data = ["--train", encoder / "train.npz", "--holdout", encoder / "holdout.npz"]
    out = encoder / "made.json"
    args = ["certify", "model", encoder / "mine.safetensors", *data, *WHICH, *AROUND]
    done = dudley(*args, "--method", "hold-out,norm-cover", "--out", out)
    assert done.code == 0, done.err
    assert "hold-out wins" in done.out and "norm-cover: 1, vacuous" in done.out
    assert json.loads(out.read_text(encoding="utf-8"))["facts"]["errors"] < 30
    check = ["--model", encoder / "made.model.safetensors", "--data", encoder / "holdout.npz"]
    assert dudley("verify", out, *check).code == 0
    named = [*args, "--method", "norm-cover"]
    vacuous = dudley(*named).out.splitlines()
    assert vacuous[0].startswith("vacuous: norm-cover gives 1 with confidence 0.95, guessing ")
    assert vacuous[1].startswith("  to blame: ") and vacuous[2].startswith("  instead: ")
    assert vacuous[3].split()[:3] == ["beside", "it", "hold-out:"]
    items = dudley(*named, "--json").json()["items"]
    assert [item["method"] for item in items] == ["norm-cover", "hold-out"]


def test_a_folder_of_hugging_face_says_it_all(dudley, tmp_path):
    import checkpoints

    folder = checkpoints.write(tmp_path / "bert", *checkpoints.classifiers()["bert"])
    X = np.random.default_rng(0).integers(0, checkpoints.V, (200, 5))
    np.savez(tmp_path / "holdout.npz", X=X, y=X[:, 0] % 3)
    args = ["certify", "model", folder, "--holdout", tmp_path / "holdout.npz"]
    done = dudley(*args, "--out", tmp_path / "made.json")
    assert done.code == 0, done.err
    check = ["--model", tmp_path / "made.model.safetensors", "--data", tmp_path / "holdout.npz"]
    assert dudley("verify", tmp_path / "made.json", *check).code == 0


def test_what_a_checkpoint_does_not_say_is_one_line(dudley, encoder):
    args = ["certify", "model", encoder / "mine.safetensors", "--train", encoder / "train.npz"]
    rows = [
        ((), "a role for each, got none for readout.bias 2, readout.weight 2×8, tokens.weight 6×8"),
        (AROUND, "--heads H, --norm-first or --norm-last, --epsilon ε, --activation NAME"),
        ((*WHICH, *AROUND[2:]), "--row first, last or mean"),
        ((*WHICH, *AROUND, "--role", "x=readout"), "a tensor or a module of the file, got x"),
        (
            (*WHICH, *AROUND, "--encoding", '{"name": "tokens", "V": 5, "T": 12}'),
            "of shape (5, 8), got",
        ),
    ]
    for more, says in rows:
        done = dudley(*args, *more, "--out", encoder / "made.json")
        assert says in done.refused(), done.err
        assert not (encoder / "made.json").exists()
    assert "leave it out" in dudley("certify", "model", "sparse-and", "--heads", "2").refused()


def test_a_pickle_is_never_executed(dudley, encoder):
    import pickle

    class Bomb:
        def __reduce__(self):
            return (Path(encoder / "executed").touch, ())

    (encoder / "bomb.pt").write_bytes(pickle.dumps(Bomb()))
    args = ["certify", "model", encoder / "bomb.pt", "--train", encoder / "train.npz"]
    dudley(*args).refused()
    assert not (encoder / "executed").exists()
