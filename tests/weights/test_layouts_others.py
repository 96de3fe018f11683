"""Checkpoints of no family: torch's own layers, live modules, mapping files, LoRA adapters."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

import checkpoints
import dudley as du
from checkpoints import K, L, d
from dudley.core.errors import DudleyError, InputError, UnknownName
from dudley.weights.network import describe
from each import each


def encoder(**how) -> torch.nn.TransformerEncoder:
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(d, 2, K, batch_first=True, dropout=0.0, **how)
    return torch.nn.TransformerEncoder(layer, L, enable_nested_tensor=False)


def test_a_live_encoder_says_its_heads(tmp_path):
    module = encoder()
    live = du.measure(module)
    assert (live.layout, live.layers) == ("torch-encoder", L)
    fused = module.layers[0].self_attn.in_proj_weight.detach().double().numpy()
    for role, part in zip(("W_Q", "W_K", "W_v"), np.split(fused, 3), strict=True):
        true = np.linalg.norm(part.T, axis=1).max()
        assert live.row(role, 0).norms["row2inf"] == pytest.approx(true, rel=1e-9)
    assert len(live.heads("W_QK", 1)) == 2

    file = tmp_path / "model.pt"
    torch.save(module.state_dict(), file)
    stored = du.measure(file, heads=2)
    assert [row.norms for row in stored.rows] == [row.norms for row in live.rows]
    assert not du.measure(file).heads("W_QK", 0)


def test_one_layer_and_one_attention():
    layer = encoder().layers[0]
    assert du.measure(layer).layout == "torch-encoder-layer"
    alone = du.measure(layer.self_attn)
    assert (alone.layout, alone.layers) == ("torch-attention", 1)
    assert alone.tensors_used == 4


def test_a_module_that_contains_an_encoder():
    torch.manual_seed(0)
    module = torch.nn.ModuleDict({"body": encoder(), "head": torch.nn.Linear(d, 2)})
    measured = du.measure(module)
    assert measured.layers == L
    assert {use.name for use in measured.tensors if not use.used} == {"head.weight", "head.bias"}


def renamed() -> dict[str, np.ndarray]:
    """BERT's tensors under names of our own: fused unequally, heads apart, output as it acts."""
    _, bert = checkpoints.bert()
    out = {"tokens": bert["embeddings.word_embeddings.weight"]}
    for i in range(L):
        at = f"encoder.layer.{i}."
        q, k, v = (bert[f"{at}attention.self.{name}.weight"] for name in ("query", "key", "value"))
        out[f"b{i}.qk"] = np.concatenate([q, k])
        for h, part in enumerate(np.split(v, 2)):
            out[f"b{i}.v.{h}"] = part
        for h, part in enumerate(np.split(bert[f"{at}attention.output.dense.weight"].T, 2)):
            out[f"b{i}.o.{h}"] = np.ascontiguousarray(part)
        out[f"b{i}.up"] = np.ascontiguousarray(bert[f"{at}intermediate.dense.weight"].T)
        out[f"b{i}.down"] = bert[f"{at}output.dense.weight"]
        out[f"b{i}.gain"] = bert[f"{at}output.LayerNorm.weight"]
    out["steps"] = np.arange(3)
    return out


MAPPING = """\
schema = "dudley.layout/1"
[network]
H = 2
order = "post"
eps = 1e-12
sigma = "gelu"
[tensors]
"tokens" = "W_E"
"b{layer}.qk" = { roles = ["W_Q", "W_K"], split = [8, 8], interleaved = "none" }
"b{layer}.v.{head}" = { role = "W_v" }
"b{layer}.o.{head}" = { role = "W_c", stored = "in-out" }
"b{layer}.up" = { role = "W_1", stored = "in-out" }
"b{layer}.down" = { role = "W_2" }
"b{layer}.gain" = { role = "ln_2.gain" }
[skip]
'^steps$' = "a counter"
"""


def mapped(tmp_path, text: str = MAPPING):
    checkpoints.write(tmp_path, None, renamed())
    file = tmp_path / "layout.toml"
    file.write_text(text, encoding="utf-8")
    return du.measure(tmp_path, layout=file)


def test_a_mapping_file_says_what_a_family_would(tmp_path):
    ours, theirs = mapped(tmp_path), du.measure("tiny-bert")
    for row in ours.rows:
        twin = theirs.row(row.role, row.layer, row.head)
        assert row.shape == twin.shape
        for name, value in row.norms.items():
            assert value == pytest.approx(twin.norms[name], rel=1e-9), (row.role, name)
    assert {(r.role, r.layer, r.head) for r in ours.rows} >= {("W_VO", 1, 1), ("W_2", 0, None)}
    (skipped,) = [use for use in ours.tensors if not use.used]
    assert (skipped.name, skipped.why) == ("steps", "a counter")


BAD = {
    "schema": ('"dudley.layout/1"', '"dudley.net/1"', InputError, "schema"),
    "role": ('role = "W_2"', 'role = "W_5"', UnknownName, "did you mean"),
    "storage": ('"W_1", stored = "in-out"', '"W_1", stored = "up"', InputError, "out-in"),
    "split": ("split = [8, 8]", "split = [8, 9]", InputError, "parts"),
    "two": ('{ role = "W_2" }', '{ role = "W_1" }', InputError, "W_1.*one tensor"),
    "key": ("stored", "saved", UnknownName, "did you mean stored"),
    "network": ("order", "ordre", UnknownName, "did you mean order"),
    "order": ('"post"', '"after"', InputError, "pre or post"),
    "bias": ("H = 2", 'H = 2\nbias = "no"', InputError, "true or false"),
    "section": ("[skip]", "[skips]", UnknownName, "did you mean skip"),
    "regex": ("'^steps$'", "'('", InputError, "regular expression"),
    "repeats": ("'^steps$'", "'(s+)+$'", InputError, "one group and one repeat"),
    "optional": ("'^steps$'", "'s?s?s?ss'", InputError, "one group and one repeat"),
    "alternatives": ("'^steps$'", "'(s|s)(s|s)'", InputError, "one group and one repeat"),
    "toml": ("[tensors]", "[tensors", InputError, "valid TOML"),
}  # fmt: skip


@each("what", BAD)
def test_a_bad_mapping_file_is_refused(tmp_path, what: str):
    old, new, error, words = BAD[what]
    assert old in MAPPING
    with pytest.raises(error, match=words):
        mapped(tmp_path, MAPPING.replace(old, new))


@pytest.mark.parametrize("scales", [[1.0], [1.0, 1.0, 1.0]])
def test_every_layer_has_a_scale_of_its_scores(tmp_path, scales):
    measurement = mapped(tmp_path, MAPPING.replace("H = 2", f"H = 2\nscales = {scales}"))
    with pytest.raises(InputError, match=f"one for each of 2 layers, got {len(scales)}"):
        describe(measurement, {"T": 4})


def test_an_adapter_is_measured_with_its_base(tmp_path):
    config, tensors = checkpoints.bert()
    base = checkpoints.write(tmp_path / "base", config, tensors)
    name = "encoder.layer.0.attention.self.query"
    rng = np.random.default_rng(0)
    A, B = (rng.standard_normal(s).astype(np.float32) for s in ((2, d), (d, 2)))
    below = f"base_model.model.{name}"
    delta = {f"{below}.lora_A.weight": A, f"{below}.lora_B.weight": B}
    adapter = checkpoints.write(tmp_path / "adapter", None, delta)
    (adapter / "model.safetensors").rename(adapter / "adapter_model.safetensors")
    settings = {"peft_type": "LORA", "r": 2, "lora_alpha": 4, "target_modules": ["query"]}
    (adapter / "adapter_config.json").write_text(json.dumps(settings), encoding="utf-8")
    merged = tensors[f"{name}.weight"].astype(float) + 2.0 * (B.astype(float) @ A.astype(float))
    row = du.measure(adapter, base=base).row("W_Q", 0)
    assert row.norms["col21"] == pytest.approx(np.linalg.norm(merged.T, axis=0).sum(), rel=1e-9)
    assert row.norms["op"] >= np.linalg.norm(merged, 2) * (1 - 1e-13)


def test_what_is_no_checkpoint_is_refused(tmp_path):
    for bad in (tmp_path / "absent", tmp_path, "no-such-example"):
        with pytest.raises(DudleyError):
            du.measure(bad)


def test_expressions_of_ordinary_kind_skip(tmp_path):
    for pattern in (r"^st[a-e*+]+ps$", r"(?:steps|\+\+)", r"^\w+$"):
        mapped(tmp_path, MAPPING.replace("^steps$", pattern))
