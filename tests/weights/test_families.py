"""Which family a checkpoint is of: refused, or measured with the right numbers; never guessed
in silence.

Many model types store tensors under the names of a supported one and compute otherwise: Gemma adds
1 to the gains, Granite multiplies residuals, GPT-NeoX interleaves queries, keys and values.
"""

from __future__ import annotations

import numpy as np
import pytest

import checkpoints
import dudley as du
from checkpoints import H, d
from dudley.core.errors import InputError
from dudley.core.norms import NORMS
from dudley.weights.computation import INERT
from dudley.weights.layout import LAYOUTS
from dudley.weights.network import describe
from each import each

LIKE = {  # the family whose names a model type uses ↦ model types that are not that family
    "llama": (
        "gemma3n_text", "granitemoe", "cohere", "cohere2", "olmo", "olmo2", "qwen2_moe",
        "nemotron", "minicpm", "deepseek_v2", "deepseek_v3", "glm", "glm4", "exaone4",
        "persimmon", "falcon", "mllama", "llama4_text", "helium", "bitnet", "arcee",
    ),
    "gpt2": ("gpt_bigcode", "gpt_neo", "gptj", "codegen", "openai-gpt", "imagegpt", "bloom"),
    "bert": ("deberta", "megatron-bert", "ernie", "nomic_bert", "layoutlm"),
    "roberta": ("longformer", "roberta-prelayernorm", "xlm-roberta-xl", "xmod", "luke", "mpnet"),
    "vit": ("beit", "dinov2_with_registers", "vit_mae", "vit_msn", "yolos"),
}  # fmt: skip
CASES = [(family, name) for family, names in LIKE.items() for name in names]
SUPPORTED = r"a model type that is supported \(bert, .*--layout FILE\.toml"


pytestmark = pytest.mark.usefixtures("measured_once")


def write(folder, family: str = "llama", **config):
    stated, tensors = checkpoints.FAMILIES[family]()
    return checkpoints.write(folder, stated | config, tensors)


@each(("family", "name"), CASES)
def test_a_model_type_that_is_not_supported_is_refused(tmp_path, family: str, name: str):
    folder = write(tmp_path, family, model_type=name)
    for path in (folder, folder / "model.safetensors"):  # the config beside a file is read as well
        for layout in (None, family):
            with pytest.raises(InputError, match=SUPPORTED):
                du.measure(path, layout=layout)


@pytest.mark.parametrize("name", ["CohereForCausalLM", "Qwen2MoeForCausalLM", "LlamaMoeModel"])
def test_a_class_names_the_family_where_no_type_does(tmp_path, name: str):
    folder = write(tmp_path, model_type=None, architectures=[name])
    with pytest.raises(InputError, match=SUPPORTED):
        du.measure(folder)
    known = write(tmp_path, model_type=None, architectures=["LlamaForCausalLM"])
    assert (du.measure(known).layout, du.measure(known).assumed) == ("llama", "")


@pytest.mark.parametrize("family", sorted(checkpoints.FAMILIES))
def test_a_file_is_measured_as_its_folder_is(tmp_path, family: str):
    folder = write(tmp_path, family)
    ours, theirs = du.measure(folder / "model.safetensors"), du.measure(folder)
    assert ours.architecture == theirs.architecture and ours.layout == theirs.layout
    assert [row.norms for row in ours.rows] == [row.norms for row in theirs.rows]
    assert ours.assumed == "" and theirs.assumed == ""


def test_a_layout_against_the_config_is_refused_unless_it_computes_the_same(tmp_path):
    llama, roberta = write(tmp_path / "llama"), write(tmp_path / "roberta", "roberta")
    with pytest.raises(InputError, match="--layout: expected llama, as its config says, got qwen3"):
        du.measure(llama, layout="qwen3")
    with pytest.raises(InputError, match="expected roberta, as its config says, got bert"):
        du.measure(roberta, layout="bert")
    with pytest.raises(InputError, match="expected llama"):
        du.measure(llama, layout="gpt2")
    for folder, same in ((llama, "mistral"), (llama, "qwen2"), (roberta, "camembert")):
        ours, theirs = du.measure(folder, layout=same), du.measure(folder)
        assert ours.architecture == theirs.architecture and ours.layout == theirs.layout


def test_a_mapping_stands_among_the_assumptions(tmp_path):
    file = tmp_path / "m.toml"
    file.write_text(MAPPED_BERT, encoding="utf-8")
    description = describe(du.measure("tiny-bert", layout=file), {"T": 4})
    (assumption,) = [str(a) for a in description.assumptions if a.name == "layout"]
    assert assumption == "layout: m.toml: roles as the mapping file says [declared]"


def test_the_assumed_family_stands_among_the_assumptions(tmp_path):
    config, tensors = checkpoints.distilbert()  # whose ε and order need no config
    folder = checkpoints.write(tmp_path, None, tensors)
    measurement = du.measure(folder, heads=H)
    with pytest.raises(InputError, match="activation"):
        describe(measurement, {"T": 4})
    whole = checkpoints.write(tmp_path, {"activation": config["activation"]}, tensors)
    description = describe(du.measure(whole, heads=H), {"T": 4})
    (assumption,) = [a for a in description.assumptions if a.name == "layout"]
    assert "distilbert: assumed" in assumption.statement and assumption.status.value == "declared"


# -- settings that change the computation ---------------------------------------------------------

OTHER = {"no_rope_layers": [1, 0], "num_local_experts": 8, "num_experts": 8, "n_routed_experts": 8}


@each("name", INERT)
def test_a_setting_that_changes_the_computation_gets_no_bound(tmp_path, name: str):
    value = OTHER.get(name, not INERT[name][0] if INERT[name] else 0.37)
    value = 0.37 if INERT[name] == (1,) else value
    plain = du.measure(write(tmp_path / "plain"))
    measurement = du.measure(write(tmp_path / "other", **{name: value}))
    assert [row.norms for row in measurement.rows] == [row.norms for row in plain.rows]
    with pytest.raises(InputError, match=name):
        describe(measurement, {"T": 4})
    for idle in (None, *INERT[name]):
        describe(du.measure(write(tmp_path / "idle", **{name: idle})), {"T": 4})


def test_settings_within_the_rotations(tmp_path):
    for table in ({"rope_type": "default", "partial_rotary_factor": 0.5}, {"rope_type": "yarn"}):
        measurement = du.measure(write(tmp_path, rope_parameters=table))
        with pytest.raises(InputError, match=r"partial_rotary_factor|yarn"):
            describe(measurement, {"T": 4})


@pytest.mark.parametrize("size", ["n_embd", "n_head", "n_layer"])
def test_scores_that_are_not_scaled_are_not_taken_for_scaled_ones(tmp_path, size: str):
    """Without the sizes the scale of the scores was 1/√k, whatever the config said of it."""
    heads = H if size == "n_head" else None
    settings = ({"scale_attn_weights": False}, {"scale_attn_by_inverse_layer_idx": True})
    for setting in settings:
        describe(du.measure(write(tmp_path / "whole", "gpt2", **setting)), {"T": 4})
        measurement = du.measure(
            write(tmp_path / "part", "gpt2", **setting, **{size: None}), heads=heads
        )
        with pytest.raises(InputError, match="scale of the scores"):
            describe(measurement, {"T": 4})
    plain = du.measure(write(tmp_path / "plain", "gpt2", **{size: None}), heads=heads)
    assert describe(plain, {"T": 4})


def test_a_window_matters_where_it_is_shorter_than_the_text(tmp_path):
    windowed = du.measure(write(tmp_path / "a", "mistral", sliding_window=3))
    assert describe(windowed, {}).inputs.T == 3
    describe(windowed, {"T": 3})
    with pytest.raises(InputError, match="at most 3, the sliding window"):
        describe(windowed, {"T": 4})
    off = du.measure(write(tmp_path / "b", "qwen2", sliding_window=3, use_sliding_window=False))
    assert describe(off, {"T": 4}).inputs.T == 4
    mixed = du.measure(write(tmp_path / "c", layer_types=["full_attention", "linear_attention"]))
    with pytest.raises(InputError, match="layer_types"):
        describe(mixed, {"T": 4})


def test_biases_are_those_that_the_config_says(tmp_path):
    describe(du.measure(write(tmp_path / "a", attention_bias=False)), {"T": 4})
    with pytest.raises(InputError, match="queries with a bias, as the config says, got none"):
        describe(du.measure(write(tmp_path / "b", attention_bias=True)), {"T": 4})
    with pytest.raises(InputError, match="without a bias, as the config says, got a stored"):
        describe(du.measure(write(tmp_path / "c", "qwen2", attention_bias=False)), {"T": 4})


@pytest.mark.parametrize(
    ("family", "name"),
    [
        ("bert", "encoder.layer.0.output.LayerNorm.weight"),
        ("llama", "model.layers.1.input_layernorm.weight"),
        ("qwen3", "model.layers.0.self_attn.q_norm.weight"),
    ],
)
def test_a_gain_that_is_not_stored_is_not_one(tmp_path, family: str, name: str):
    config, tensors = checkpoints.FAMILIES[family]()
    del tensors[name]
    measurement = du.measure(checkpoints.write(tmp_path, config, tensors))
    with pytest.raises(InputError, match="gain"):
        describe(measurement, {"T": 4})


# -- mapping files --------------------------------------------------------------------------------

MAPPED_BERT = """\
schema = "dudley.layout/1"
[network]
H = 2
order = "post"
eps = 1e-12
sigma = "gelu"
row = "first"
[tensors]
"embeddings.word_embeddings.weight" = "W_E"
"embeddings.position_embeddings.weight" = "P"
"embeddings.token_type_embeddings.weight" = "W_S"
"embeddings.LayerNorm.weight" = "ln_E.gain"
"embeddings.LayerNorm.bias" = "ln_E.bias"
"encoder.layer.{layer}.attention.self.query.weight" = "W_Q"
"encoder.layer.{layer}.attention.self.key.weight" = "W_K"
"encoder.layer.{layer}.attention.self.value.weight" = "W_v"
"encoder.layer.{layer}.attention.output.dense.weight" = "W_c"
"encoder.layer.{layer}.attention.self.query.bias" = "b_Q"
"encoder.layer.{layer}.attention.self.key.bias" = "b_K"
"encoder.layer.{layer}.attention.self.value.bias" = "b_v"
"encoder.layer.{layer}.attention.output.dense.bias" = "b_c"
"encoder.layer.{layer}.attention.output.LayerNorm.weight" = "ln_1.gain"
"encoder.layer.{layer}.attention.output.LayerNorm.bias" = "ln_1.bias"
"encoder.layer.{layer}.intermediate.dense.weight" = "W_1"
"encoder.layer.{layer}.intermediate.dense.bias" = "b_1"
"encoder.layer.{layer}.output.dense.weight" = "W_2"
"encoder.layer.{layer}.output.dense.bias" = "b_2"
"encoder.layer.{layer}.output.LayerNorm.weight" = "ln_2.gain"
"encoder.layer.{layer}.output.LayerNorm.bias" = "ln_2.bias"
"pooler.dense.weight" = "W_pool"
"pooler.dense.bias" = "b_pool"
[skip]
'position_ids' = "indices"
"""


def test_a_mapping_describes_what_the_family_does(tmp_path):
    file = tmp_path / "m.toml"
    file.write_text(MAPPED_BERT, encoding="utf-8")
    ours = describe(du.measure("tiny-bert", layout=file), {"T": 4})
    theirs = describe(du.measure("tiny-bert"), {"T": 4})
    assert ours.network == theirs.network and ours.loss == theirs.loss


def neox(groups: int | None = None, **config):
    """One layer with queries, keys and values in turn, as GPT-NeoX (or Falcon) stores them."""
    heads, k = 4, 3
    kv = heads if groups is None else groups
    m = checkpoints.Maker(3)
    width = (heads // kv + 2) * kv * k
    m.put("l.0.qkv.weight", width, d)
    m.put("l.0.qkv.bias", width)
    m.put("l.0.out.weight", d, heads * k)
    parts = m.tensors["l.0.qkv.weight"].astype(float).reshape(kv, heads // kv + 2, k, d)
    q = parts[:, :-2].reshape(heads, k, d)
    return m.tensors, q, parts[:, -2], parts[:, -1], dict(H=heads, k=k, groups=kv)


def mapped(folder, tensors, sizes: dict, how: str, config: dict | None = None):
    sizes_text = "\n".join(f"{name} = {value}" for name, value in sizes.items())
    text = f"""\
schema = "dudley.layout/1"
[network]
{sizes_text}
[tensors]
"l.{{layer}}.qkv.weight" = {{ roles = ["W_Q", "W_K", "W_v"]{how} }}
"l.{{layer}}.qkv.bias" = {{ roles = ["b_Q", "b_K", "b_v"]{how} }}
"l.{{layer}}.out.weight" = "W_c"
"""
    folder = checkpoints.write(folder, config, tensors)
    (folder / "m.toml").write_text(text, encoding="utf-8")
    return du.measure(folder, layout=folder / "m.toml")


def check(norms: dict[str, float], W: np.ndarray) -> None:
    for name in ("op", "fro", "l11", "col21", "row2inf"):
        true = NORMS[name](W)
        assert true * (1 - 1e-12) <= norms[name] <= true * (1 + 1e-9), name


@pytest.mark.parametrize(("groups", "how"), [(None, "heads"), (None, "groups"), (2, "groups")])
def test_interleaved_heads_are_split_as_the_model_splits_them(tmp_path, groups, how: str):
    tensors, q, key, value, sizes = neox(groups)
    measurement = mapped(tmp_path, tensors, sizes, f', interleaved = "{how}"')
    bias = tensors["l.0.qkv.bias"].reshape(sizes["groups"], -1, sizes["k"])
    check(measurement.row("b_K", 0).norms, bias[:, -2].reshape(1, -1).astype(float))
    check(measurement.row("W_Q", 0).norms, q.reshape(-1, d).T)
    for h in range(4):
        g = h * sizes["groups"] // 4
        check(measurement.row("W_Q", 0, h).norms, q[h].T)
        check(measurement.row("W_K", 0, g).norms, key[g].T)
        check(measurement.row("W_v", 0, g).norms, value[g].T)
        check(measurement.row("W_QK", 0, h).norms, q[h].T @ key[g])
    assert "of every" in measurement.row("W_Q", 0).source
    if groups is None:  # read as one after the other, the heads would be others
        other = mapped(tmp_path, tensors, sizes, ', interleaved = "none"')
        assert other.row("W_Q", 0, 1).norms["op"] != pytest.approx(np.linalg.norm(q[1], 2))


def test_a_fused_tensor_must_say_its_order(tmp_path):
    tensors, *_, sizes = neox()
    with pytest.raises(InputError, match='interleaved = "none" or interleaved = "heads"'):
        mapped(tmp_path, tensors, sizes, "")
    for how in (', interleaved = "yes"', ", interleaved = 3"):
        with pytest.raises(InputError, match="order of"):
            mapped(tmp_path, tensors, sizes, how)
    with pytest.raises(InputError, match="number of heads"):
        mapped(tmp_path, tensors, {"order": '"pre"'}, ', interleaved = "heads"')
    tensors, *_, sizes = neox(2)
    with pytest.raises(InputError, match='interleaved = "groups"'):
        mapped(tmp_path, tensors, sizes, ', interleaved = "heads"')


def test_a_config_beside_a_mapping_is_read(tmp_path):
    tensors, *_, sizes = neox()
    how = ', interleaved = "heads"'
    config = {"model_type": "gpt_neox", "num_attention_heads": 4, "rotary_pct": 0.25}
    assert mapped(tmp_path, tensors, {"k": 3}, how, config).architecture.H == 4
    with pytest.raises(InputError, match="rotary_pct"):
        describe(mapped(tmp_path, tensors, sizes, how, config), {"X.row2inf": 1.0, "T": 4})
    with pytest.raises(InputError, match="H: expected 2, as num_attention_heads"):
        mapped(tmp_path, tensors, sizes, how, config | {"num_attention_heads": 2})


def test_gains_to_which_the_network_adds_one(tmp_path):
    config, tensors = checkpoints.llama()
    folder = checkpoints.write(tmp_path, config | {"model_type": "gemma"}, tensors)
    names = {slot.pattern: slot for slot in LAYOUTS["llama"].slots}
    lines = []
    for pattern, slot in names.items():
        name = pattern if pattern.startswith("lm_head") else f"model.{pattern}"
        plus = ", plus = 1" if slot.stored == "column" else ""
        stored = f', stored = "{slot.stored}"'
        lines.append(f'"{name}" = {{ role = "{slot.roles[0]}"{stored}{plus} }}')
    head = 'schema = "dudley.layout/1"\n[skip]\n"inv_freq" = "buffer"\n[tensors]\n'
    lines = [line for line in lines if "_norm" not in line and "score" not in line]
    file = tmp_path / "m.toml"
    file.write_text(head + "\n".join(lines), encoding="utf-8")
    gain = 1 + tensors["model.layers.0.input_layernorm.weight"].astype(float)[:, None]
    row = du.measure(folder, layout=file).row("ln_1.gain", 0)
    check(row.norms, gain)
    assert row.norms["linf"] >= np.abs(gain).max() and "+ 1" in row.source
    file.write_text(head + "\n".join(lines).replace(", plus = 1", ""), encoding="utf-8")
    with pytest.raises(InputError, match="plus = 1, since norms of gemma"):
        du.measure(folder, layout=file)
    file.write_text(head + '"model.embed_tokens.weight" = { role = "W_E", plus = 1 }')
    with pytest.raises(InputError, match="for a gain"):
        du.measure(folder, layout=file)
