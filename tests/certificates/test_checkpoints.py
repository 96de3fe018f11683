"""A checkpoint as a model computes what its own library computes, and says what is missing."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import checkpoints
from checkpoints import V, d
from dudley.certificates.checkpoints.assemble import is_checkpoint, open_checkpoint
from dudley.certificates.checkpoints.unstored import Unstored
from dudley.certificates.data import Dataset
from dudley.certificates.hypothesis import load
from dudley.core.errors import DudleyError, InputError
from weights.test_forward import BODIES, classes_of, tokens_of

CODES = np.array([[3, 0, 10, 3, 7], [1, 2, 3, 4, 5], [9, 9, 0, 0, 1]])


def written(tmp_path, made):
    config, tensors = made
    stored = {key: torch.from_numpy(value).double() for key, value in tensors.items()}
    return checkpoints.write(tmp_path, config, tensors), stored


def reference(name: str, stored, x, logits) -> np.ndarray:
    body = BODIES[name.removesuffix("-apart")]
    return np.stack([logits(name, stored, body(stored, row)).numpy() for row in x])


@pytest.mark.parametrize("name", checkpoints.classifiers())
def test_a_classifier_computes_what_its_library_computes(tmp_path, name):
    folder, stored = written(tmp_path, checkpoints.classifiers()[name])
    if name == "vit":
        X = np.random.default_rng(0).standard_normal((3, 3, 4, 4)).astype(np.float32)
    else:
        X = CODES
    model = open_checkpoint(folder, X, Unstored())
    rows = torch.from_numpy(X)
    if name == "vit":  # as a convolution of stride 2 reads them
        rows = torch.nn.functional.unfold(rows.double(), 2, stride=2).transpose(1, 2)
    theirs = reference(name, stored, rows, classes_of)
    np.testing.assert_allclose(model.outputs(X), theirs, rtol=1e-8, atol=1e-9)
    model.save(tmp_path / "own.safetensors")
    again = load(tmp_path / "own.safetensors")
    assert again.sha256 == model.sha256
    size = (tmp_path / "own.safetensors").stat().st_size
    assert name == "vit" or size < 1.5 * (folder / "model.safetensors").stat().st_size + 8192
    np.testing.assert_array_equal(again.outputs(X), model.outputs(X))


@pytest.mark.parametrize("name", ["gpt2", "llama", "qwen2", "qwen3"])
def test_a_causal_language_model_is_a_predictor_of_the_next_token(tmp_path, name):
    folder, stored = written(tmp_path, checkpoints.language_models()[name])
    theirs = reference(name, stored, torch.from_numpy(CODES), tokens_of)
    model = open_checkpoint(folder, CODES, Unstored())
    np.testing.assert_allclose(model.outputs(CODES), theirs, rtol=1e-8, atol=1e-9)


def test_what_a_network_file_cannot_say_is_refused(tmp_path):
    config, tensors = checkpoints.llama()
    settings = {"granite": {"residual_multiplier": 0.5}, "gemma": {}}
    for name, more in settings.items():
        folder = checkpoints.write(tmp_path / name, config | {"model_type": name} | more, tensors)
        with pytest.raises(InputError, match=f"a network file can describe, got {name} with"):
            open_checkpoint(folder, CODES, Unstored())


class Script(torch.nn.Module):
    """An encoder as scripts have it."""

    def __init__(self, first: bool, row: str, norm: bool = False, features: int = 0):
        super().__init__()
        layer = torch.nn.TransformerEncoderLayer(
            d, 2, 12, 0.1, "gelu", batch_first=True, norm_first=first
        )
        self.tokens = torch.nn.Linear(features, d) if features else torch.nn.Embedding(V, d)
        self.places = torch.nn.Embedding(5, d)
        end = torch.nn.LayerNorm(d) if norm else None
        self.layers = torch.nn.TransformerEncoder(layer, 2, end, enable_nested_tensor=False)
        self.readout, self.row = torch.nn.Linear(d, 3), row

    def forward(self, X):
        rows = self.layers(self.tokens(X) + self.places(torch.arange(X.shape[1])))
        read = {"mean": rows.mean(1), "first": rows[:, 0], "last": rows[:, -1]}
        return self.readout(read[self.row])


ROLES = ("tokens=embedding", "places=positions", "readout=readout")


@pytest.mark.parametrize(
    ("first", "row", "norm", "features"),
    [(False, "mean", False, 0), (True, "first", True, 0), (True, "last", True, 4)],
)
def test_an_encoder_of_torch_computes_what_torch_computes(tmp_path, first, row, norm, features):
    torch.manual_seed(0)
    script = Script(first, row, norm, features).eval()
    for weight in script.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    save_file(script.state_dict(), tmp_path / "mine.safetensors")
    torch.save(script.state_dict(), tmp_path / "mine.pt")
    X = CODES if not features else np.random.default_rng(0).standard_normal((3, 5, features))
    entrance = ("tokens=projection",) if features else ROLES[:1]
    unstored = Unstored(
        heads=2, norm_first=first, epsilon=1e-5, activation="gelu", row=row,
        roles=(*entrance, *ROLES[1:]),
    )  # fmt: skip
    with torch.no_grad():
        theirs = script.double()(torch.from_numpy(X)).numpy()
    for name in ("mine.safetensors", "mine.pt"):
        model = open_checkpoint(tmp_path / name, X, unstored)
        np.testing.assert_allclose(model.outputs(X), theirs, rtol=1e-9, atol=1e-10)
    other = open_checkpoint(tmp_path / name, X, replace(unstored, norm_first=not first))
    assert not np.allclose(other.outputs(X), theirs)


def test_padding_is_cut_and_order_does_not_matter(tmp_path):
    folder, stored = written(tmp_path, checkpoints.classifiers()["bert"])
    X = CODES.copy()
    X[0, 3:] = X[2, 4:] = 0
    model = open_checkpoint(folder, X, Unstored(pad=0))
    theirs = [
        classes_of("bert", stored, BODIES["bert"](stored, torch.from_numpy(row[:length]))).numpy()
        for row, length in zip(X, (3, 5, 2), strict=True)  # a 0 before the padding is a padding
    ]
    np.testing.assert_allclose(model.outputs(X), np.stack(theirs), rtol=1e-8, atol=1e-9)
    from dudley.certificates.methods.norm_cover.method import NormCover

    with pytest.raises(InputError, match="examples of one length"):
        NormCover()(model, Dataset(X, np.array([0, 1, 1])))


def test_padding_that_nobody_spoke_of_is_refused(tmp_path):
    config, tensors = checkpoints.classifiers()["bert"]
    folder = checkpoints.write(tmp_path, config | {"pad_token_id": 0}, tensors)
    X = CODES.copy()
    X[1, 4] = 0
    with pytest.raises(InputError, match="--pad 0 cuts it"):
        open_checkpoint(folder, X, Unstored())
    assert open_checkpoint(folder, X, Unstored(pad=-1)).encoding.inputs.T == 5


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"roles": ROLES[1:]}, "tokens.weight 11×8"),
        ({"roles": (*ROLES[:2], "head=readout")}, "a tensor or a module of the file, got head"),
        ({"roles": (*ROLES[:2], "readout=logits")}, "unknown role of readout"),
        ({"heads": None, "epsilon": None}, "--heads H, --epsilon ε"),
        ({"heads": 3}, "a divisor of the width 8"),
        ({"row": None}, "--row first, last or mean"),
        ({"row": "all"}, "first or last or mean"),
        ({"activation": "sine"}, "unknown activation 'sine'"),
        ({"pad": 11}, "a code below V = 11"),
    ],
)
def test_what_is_missing_is_named_with_its_option(tmp_path, change, says):
    save_file(Script(False, "mean").state_dict(), tmp_path / "mine.safetensors")
    fields: dict[str, Any] = {
        "heads": 2,
        "norm_first": False,
        "epsilon": 1e-5,
        "activation": "gelu",
    }
    with pytest.raises(DudleyError, match=says.replace("(", r"\(")):
        unstored = Unstored(**fields | {"epsilon": 1e-5, "row": "mean", "roles": ROLES} | change)
        open_checkpoint(tmp_path / "mine.safetensors", CODES, unstored)


def test_settings_that_change_the_function_are_refused(tmp_path):
    config, tensors = checkpoints.classifiers()["llama"]
    for more in (
        {"rope_theta": 500000.0},
        {"rope_scaling": {"rope_type": "linear", "factor": 2.0}},
        {"final_logit_softcapping": 30.0},
    ):
        folder = checkpoints.write(tmp_path, config | more, tensors)
        with pytest.raises(InputError, match=r"rotary positions|architecture"):
            open_checkpoint(folder, CODES, Unstored())


def test_examples_that_do_not_fit_are_refused(tmp_path):
    folder, _ = written(tmp_path, checkpoints.classifiers()["bert"])
    with pytest.raises(InputError, match="token codes below 11"):
        open_checkpoint(folder, CODES.astype(float), Unstored())
    model = open_checkpoint(folder, CODES, Unstored())
    with pytest.raises(InputError, match="below 11"):
        model.outputs(CODES + 5)
    with pytest.raises(InputError, match="at most 6 tokens, the positions"):
        open_checkpoint(folder, np.zeros((2, 7), int), Unstored())


def test_our_own_files_are_no_checkpoints(tmp_path):
    from dudley.networks.files import EXAMPLES

    assert not is_checkpoint(EXAMPLES / "sparse-and" / "model.safetensors")
    save_file({"a": torch.zeros(2)}, tmp_path / "theirs.safetensors")
    assert is_checkpoint(tmp_path / "theirs.safetensors") and is_checkpoint(tmp_path)
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({}), encoding="utf-8")
    assert is_checkpoint(tmp_path / "model.safetensors.index.json")
