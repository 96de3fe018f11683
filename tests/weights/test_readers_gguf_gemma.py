"""Gemma as GGUF: written as llama.cpp's converter does, read as the folder that it came from."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

import dudley as du
from checkpoints import write
from dudley.core.errors import InputError
from dudley.weights.family import choose
from dudley.weights.measure import measure
from dudley.weights.named_tensors import open_weights
from dudley.weights.network import describe
from each import each
from library_models import GROUPED, randomise
from weights.test_readers_gguf import gguf

D, HEADS, GROUPS, K, HIDDEN, SYMBOLS = 32, 2, 1, 16, 64, 40
EPS = 2.0**-20  # a float32, as the format stores it
CONFIG = {
    "hidden_size": D, "num_hidden_layers": 2, "num_attention_heads": HEADS, "head_dim": K,
    "num_key_value_heads": GROUPS, "intermediate_size": HIDDEN, "vocab_size": SYMBOLS,
    "max_position_embeddings": 48, "rms_norm_eps": EPS, "hidden_activation": "gelu_pytorch_tanh",
}  # fmt: skip
SANDWICH = {"sliding_window": 8, "query_pre_attn_scalar": K}
FAMILIES = {
    "gemma": ("gemma", CONFIG | {"rope_theta": 10000.0}),
    "gemma2": ("gemma2", CONFIG | SANDWICH
               | {"attn_logit_softcapping": 25.0, "final_logit_softcapping": 15.0}),
    "gemma3": ("gemma3_text", CONFIG | SANDWICH | {"num_hidden_layers": 6, "rope_theta": 1e6}),
}  # fmt: skip
SETTINGS = {
    "hidden_size": "embedding_length", "num_hidden_layers": "block_count",
    "num_attention_heads": "attention.head_count", "head_dim": "attention.key_length",
    "num_key_value_heads": "attention.head_count_kv", "intermediate_size": "feed_forward_length",
    "max_position_embeddings": "context_length",
    "rms_norm_eps": "attention.layer_norm_rms_epsilon",
    "sliding_window": "attention.sliding_window", "rope_theta": "rope.freq_base",
    "attn_logit_softcapping": "attn_logit_softcapping",
    "final_logit_softcapping": "final_logit_softcapping",
}  # fmt: skip
STORED = {
    "embed_tokens": "token_embd", "norm": "output_norm", "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down", "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}  # fmt: skip
MATRICES = {
    "self_attn.q_proj": (HEADS * K, D), "self_attn.k_proj": (GROUPS * K, D),
    "self_attn.v_proj": (GROUPS * K, D), "self_attn.o_proj": (D, HEADS * K),
    "mlp.gate_proj": (HIDDEN, D), "mlp.up_proj": (HIDDEN, D), "mlp.down_proj": (D, HIDDEN),
}  # fmt: skip
GAINS = {
    "gemma": {"input_layernorm": D, "post_attention_layernorm": D},
    "gemma2": {"pre_feedforward_layernorm": D, "post_feedforward_layernorm": D},
    "gemma3": {"self_attn.q_norm": K, "self_attn.k_norm": K},
}
GAINS["gemma2"] |= GAINS["gemma"]
GAINS["gemma3"] |= GAINS["gemma2"]


def tensors_of(name: str) -> dict[str, np.ndarray]:
    """Random weights by the names of the family; gains to which 1 is added without a rounding."""
    rng = np.random.default_rng(3)
    made = {"model.embed_tokens.weight": rng.standard_normal((SYMBOLS, D))}
    made["model.norm.weight"] = gain(rng, D)
    for layer in range(FAMILIES[name][1]["num_hidden_layers"]):
        for part, shape in MATRICES.items():
            made[f"model.layers.{layer}.{part}.weight"] = 0.3 * rng.standard_normal(shape)
        for part, size in GAINS[name].items():
            made[f"model.layers.{layer}.{part}.weight"] = gain(rng, size)
    return {key: W.astype(np.float32) for key, W in made.items()}


def gain(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.integers(-900, 900, size) / 1024


def blocks(W: np.ndarray, kind: str) -> tuple[bytes, np.ndarray]:
    """Blocks of 32, and the numbers that they stand for."""
    rows = W.reshape(-1, 32)
    most = 127 if kind == "Q8_0" else 7
    d = (np.abs(rows).max(1, keepdims=True) / most).astype("<f2")
    q = np.clip(np.round(rows / d.astype(float)), -most, most).astype(np.int8)
    meant = (d.astype(float) * q).astype(np.float32).reshape(W.shape)  # exact: 11 + 7 bits
    if kind == "Q4_0":
        shifted = (q + 8).astype(np.uint8)
        q = (shifted[:, :16] | shifted[:, 16:] << 4).view(np.int8)
    return b"".join(a.tobytes() + b.tobytes() for a, b in zip(d, q, strict=True)), meant


def converted(name: str, tensors, settings: dict, kind: str = "float32"):
    """A file as the converter writes it, and the tensors that it stands for."""
    stored, meant = {}, {}
    for key, W in tensors.items():
        part, layer = key.removeprefix("model.").removesuffix(".weight"), ""
        if part.startswith("layers."):
            _, number, part = part.split(".", 2)
            layer = f"blk.{number}."
        after = "ffn_norm" if name == "gemma" else "post_attention_norm"
        place = f"{layer}{(STORED | {'post_attention_layernorm': after})[part]}.weight"
        meant[key] = W
        if part.endswith("norm"):
            stored[place] = ("float32", W.shape, (W + np.float32(1)).tobytes())
        elif kind == "float32":
            stored[place] = (kind, W.shape, W.tobytes())
        else:
            raw, meant[key] = blocks(W, kind)
            stored[place] = (kind, W.shape, raw)
    head = {"general.architecture": name}
    return gguf(stored, head | {f"{name}.{key}": value for key, value in settings.items()}), meant


def settings_of(name: str, **more) -> dict:
    config = FAMILIES[name][1]
    return {SETTINGS[key]: value for key, value in config.items() if key in SETTINGS} | more


def both(tmp_path: Path, name: str, kind: str = "float32") -> tuple[Path, Path]:
    """The file, and the folder of the tensors that it stands for."""
    file, meant = converted(name, tensors_of(name), settings_of(name), kind)
    path, (family, config) = tmp_path / f"{name}-{kind}.gguf", FAMILIES[name]
    path.write_bytes(file)
    return path, write(tmp_path / f"{name}-{kind}", config | {"model_type": family}, meant)


def expect_same(path: Path, folder: Path) -> None:
    first, second = measure(path), measure(folder)
    said = {name: getattr(second.architecture, name) for name in ("head", "bias")}
    assert replace(first.architecture, **said) == second.architecture  # by the tensors, in a file
    assert not first.architecture.odd
    assert len(first.rows) == len(second.rows) > 10
    for a, b in zip(first.rows, second.rows, strict=True):
        assert (a.role, a.layer, a.norms, a.op) == (b.role, b.layer, b.norms, b.op)
    networks = [describe(each, {"T": 4.0, "margin": 1.0}).network for each in (first, second)]
    assert str(networks[0]) == str(networks[1])


@each(
    ("name", "kind"), [(n, "float32") for n in FAMILIES] + [("gemma3", "Q8_0"), ("gemma3", "Q4_0")]
)
def test_a_gemma_is_the_network_of_its_folder(tmp_path, name, kind):
    path, folder = both(tmp_path, name, kind)
    expect_same(path, folder)


def test_gains_are_stored_with_the_one_that_the_norm_adds(tmp_path):
    path, _ = both(tmp_path, "gemma3")
    weights, tensors = open_weights(path), tensors_of("gemma3")
    assert set(weights.names()) == set(tensors)
    for key, W in tensors.items():
        assert np.array_equal(weights.load(key).double().numpy(), W.astype(float)), key
        assert weights.error(key) == 0.0


def test_a_gain_that_the_subtraction_rounds_says_by_how_much(tmp_path):
    path = tmp_path / "m.gguf"
    g = np.array([2.0**-70, 2.0**-60, 0.5], np.float32)
    path.write_bytes(gguf({"output_norm.weight": ("float32", (3,), g.tobytes())}, SMALL))
    weights = open_weights(path)
    assert weights.load("model.norm.weight").tolist() == [-1.0, -1.0, -0.5]
    lost = float(np.hypot(2.0**-70, 2.0**-60))
    assert lost <= weights.error("model.norm.weight") <= 1.01 * lost


SMALL = {"general.architecture": "gemma"} | {
    f"gemma.{key}": value for key, value in settings_of("gemma").items()
}


def test_a_model_of_the_library_is_the_network_of_its_folder(tmp_path, require):
    require("transformers", find_spec("transformers") is not None, "pip install transformers")
    import transformers  # pyright: ignore[reportMissingImports]

    turned = {"full_attention": {"rope_type": "linear", "rope_theta": 1e5, "factor": 4.0},
              "sliding_attention": {"rope_type": "default", "rope_theta": 500.0}}  # fmt: skip
    config = transformers.Gemma3TextConfig(
        **GROUPED, head_dim=8, query_pre_attn_scalar=8, final_logit_softcapping=0.75,
        sliding_window=8, layer_types=["sliding_attention", "full_attention"],
        rms_norm_eps=EPS, rope_parameters=turned,
    )  # fmt: skip
    model = transformers.Gemma3ForCausalLM(config)
    randomise(model)
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if key.endswith("norm.weight"):
                parameter.copy_((parameter * 1024).round() / 1024)
    model.save_pretrained(tmp_path / "folder")
    tensors = load_file(tmp_path / "folder" / "model.safetensors")
    saved = json.loads((tmp_path / "folder" / "config.json").read_text())
    settings = {SETTINGS[key]: saved[key] for key in SETTINGS if saved.get(key) is not None}
    settings |= {"rope.freq_base": 1e5, "rope.freq_base_swa": 500.0, "rope.scaling.type": "linear",
                 "rope.scaling.factor": 4.0, "attention.sliding_window_pattern": 2}  # fmt: skip
    (tmp_path / "m.gguf").write_bytes(converted("gemma3", tensors, settings)[0])
    expect_same(tmp_path / "m.gguf", tmp_path / "folder")


def described(tmp_path: Path, name: str, **more):
    """The architecture that a file with these settings has."""
    file, _ = converted(name, {"model.norm.weight": np.ones(D, np.float32)}, more)
    (tmp_path / "m.gguf").write_bytes(file)
    with open_weights(tmp_path / "m.gguf") as weights:
        return choose(weights, dict(weights.config), None)[1]


@each(("name", "layers", "divisor"), [
    ("gemma3", 6, 16), ("gemma3", 62, 10), ("gemma2", 62, 16), ("gemma2", 46, 10),
])  # fmt: skip
def test_the_largest_models_scale_scores_by_their_whole_width(tmp_path, name, layers, divisor):
    more = {"block_count": layers, "attention.head_count": 3, "embedding_length": D}
    architecture = described(tmp_path, name, **(settings_of(name) | more))
    assert architecture.scales == (divisor**-0.5,) * layers


def test_gemma3_turns_every_sixth_layer_by_the_other_base(tmp_path):
    plain = settings_of("gemma3")
    near, far = 1e4 ** (-1 / 8), 1e6 ** (-1 / 8)
    pattern = "attention.sliding_window_pattern"
    assert turned(tmp_path, plain) == [near] * 5 + [far]
    assert turned(tmp_path, plain | {pattern: 3}) == [near, near, far] * 2
    assert turned(tmp_path, plain | {pattern: [0, 1, 1, 0, 1, 0]}) == [
        far, near, near, far, near, far,
    ]  # fmt: skip
    with pytest.raises(InputError, match=r"sliding_window_pattern for each layer, got 2"):
        turned(tmp_path, plain | {pattern: [0, 1]})
    del plain["attention.sliding_window"]
    assert turned(tmp_path, plain) == [far] * 6
    assert described(tmp_path, "gemma3", **plain).window is None


def turned(tmp_path: Path, settings: dict) -> list[float]:
    """The second angle of each layer."""
    turns = described(tmp_path, "gemma3", **settings).turns
    assert turns is not None
    return [angles[1] for angles in turns]


@each(("name", "setting", "value"), [
    ("gemma3", "attention.scale", 0.5), ("gemma", "attention.sliding_window", 8),
    ("gemma3", "rope.dimension_count", 8), ("gemma3", "attn_logit_softcapping", 50.0),
])  # fmt: skip
def test_a_setting_that_is_not_known_is_refused_by_name(tmp_path, name, setting, value):
    architecture = described(tmp_path, name, **settings_of(name), **{setting: value})
    assert architecture.odd == f"unread setting is '{name}.{setting} = {value}'"
    assert not described(tmp_path, name, **settings_of(name), **{"rope.dimension_count": K}).odd


def test_another_architecture_is_refused_with_the_way_to_a_mapping_file(tmp_path):
    W = np.ones((2, 2), np.float32)
    entry = {"blk.0.attn_q.weight": ("float32", (2, 2), W.tobytes())}
    (tmp_path / "m.gguf").write_bytes(gguf(entry, {"general.architecture": "qwen9"}))
    with pytest.raises(InputError, match=r"gemma3\), got qwen9(.|\n)*mapping\s+file"):
        du.measure(tmp_path / "m.gguf")


def test_two_names_of_one_tensor_are_refused(tmp_path):
    entry = ("float32", (1,), bytes(4))
    names = ("output_norm.weight", "model.norm.weight")
    (tmp_path / "m.gguf").write_bytes(gguf(dict.fromkeys(names, entry), SMALL))
    with pytest.raises(InputError, match="two names of the same one"):
        open_weights(tmp_path / "m.gguf")
