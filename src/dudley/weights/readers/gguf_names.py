"""Architectures of GGUF files whose tensors and settings are known by their family's names.

An architecture is data: the names of its tensors and of its settings, what every network of it has,
and what the format does to the tensors. Rows of queries and keys may be in the order of rotations
(pairs side by side). Gains of Gemma are stored with the 1 that its norms add, 1 + w, so 1 is taken
off again. Scores of Gemma 2 and 3 are divided by √k for heads of width k; at one number of layers,
that of the 27B models, by √⌊d/H⌋.

A setting that is neither read nor without effect is kept in the config as an unread one: the norms
are those of the matrices all the same, and a bound is refused with its name.

>>> sorted(ARCHITECTURES)
['gemma', 'gemma2', 'gemma3', 'llama']
>>> ARCHITECTURES["gemma3"].name("blk.4.post_ffw_norm.weight")
'model.layers.4.post_feedforward_layernorm.weight'
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dudley.core.boundary.gguf import GgufHeader
from dudley.core.boundary.refusal import refusal

TOP = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
PARTS = {
    "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}  # fmt: skip
SANDWICH = PARTS | {
    "post_attention_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
}
NORMED = SANDWICH | {"attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm"}
SIZES = {
    "hidden_size": "embedding_length", "num_hidden_layers": "block_count",
    "intermediate_size": "feed_forward_length", "num_attention_heads": "attention.head_count",
    "num_key_value_heads": "attention.head_count_kv", "max_position_embeddings": "context_length",
    "rms_norm_eps": "attention.layer_norm_rms_epsilon", "rope_theta": "rope.freq_base",
    "head_dim": "attention.key_length",
}  # fmt: skip
WINDOWS = SIZES | {
    "sliding_window": "attention.sliding_window",
    "sliding_window_pattern": "attention.sliding_window_pattern",
    "final_logit_softcapping": "final_logit_softcapping",
}
GELU = {"hidden_activation": "gelu_pytorch_tanh", "rope_theta": 10000.0}
# Settings that the config holds in another form, or that change nothing.
BESIDE = (
    "rope.scaling.type", "rope.scaling.factor", "rope.scaling.original_context_length",
    "rope.scaling.finetuned", "vocab_size", "tensor_data_layout",
)  # fmt: skip
INERT = {"expert_count": 0, "expert_used_count": 0, "attention.causal": True}
WIDTHS = ("attention.value_length", "rope.dimension_count")  # that of a head


@dataclass(frozen=True)
class GgufArchitecture:
    """What a file of one ``general.architecture`` holds, by the names of its family.

    ``settings``: name in the config ↦ name in the file. ``fixed``: of every network, unless the
    file says otherwise. ``pairs``: are rows of queries and keys in pairs? ``added``: to every
    stored gain. ``deep``: the number of layers at which scores are divided by √⌊d/H⌋ and not √k;
    None where the family always has √k.
    """

    model_type: str
    parts: Mapping[str, str] = field(default_factory=lambda: PARTS)
    settings: Mapping[str, str] = field(default_factory=lambda: SIZES)
    fixed: Mapping[str, Any] = field(default_factory=lambda: GELU)
    pairs: bool = False
    added: int = 1
    deep: int | None = None

    def name(self, stored: str) -> str:
        """The family's name of a tensor; its own where the family has none."""
        if stored in TOP:
            return TOP[stored]
        part = re.fullmatch(r"blk\.(\d+)\.(\w+)\.(weight|bias)", stored)
        if part is None or part[2] not in self.parts:
            return stored
        return f"model.layers.{part[1]}.{self.parts[part[2]]}.{part[3]}"


ARCHITECTURES = {
    "llama": GgufArchitecture("llama", fixed={"hidden_act": "silu"}, pairs=True, added=0),
    "gemma": GgufArchitecture("gemma"),
    "gemma2": GgufArchitecture(
        "gemma2",
        SANDWICH,
        WINDOWS | {"attn_logit_softcapping": "attn_logit_softcapping"},
        GELU
        | {"sliding_window": 4096, "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0},
        deep=46,
    ),
    "gemma3": GgufArchitecture(
        "gemma3_text",
        NORMED,
        WINDOWS | {"rope_local_base_freq": "rope.freq_base_swa"},
        GELU | {"sliding_window": None, "rope_local_base_freq": 10000.0},
        deep=62,
    ),
}


def config_of(header: GgufHeader, path: Path) -> dict[str, Any]:
    """The config of a known architecture, from the settings of a file and the shapes in it."""
    name = header.settings["general.architecture"]
    known = ARCHITECTURES[name]
    mine = {
        key.removeprefix(f"{name}."): value
        for key, value in header.settings.items()
        if key.startswith(f"{name}.")
    }
    config: dict[str, Any] = {"model_type": known.model_type, **known.fixed}
    config |= {key: mine[stored] for key, stored in known.settings.items() if stored in mine}
    config.setdefault("num_key_value_heads", config.get("num_attention_heads"))
    for key in ("hidden_size", "num_attention_heads", "num_key_value_heads"):
        if type(config.get(key)) is not int or not 1 <= config[key] < 1 << 32:
            raise refusal(path, f"a whole number {name}.{SIZES[key]}", config.get(key))
    whole = config["hidden_size"] // config["num_attention_heads"]
    width = config.get("head_dim", whole)
    if known.deep is not None:
        deep = config.get("num_hidden_layers") == known.deep
        config["query_pre_attn_scalar"] = whole if deep else width
    if config.get("sliding_window", 1) in (None, 0):  # every layer looks back to the start
        config |= {"sliding_window": None, "sliding_window_pattern": 1}
    if isinstance(layers := config.get("sliding_window_pattern"), list):  # one for each layer
        if len(layers) != config.get("num_hidden_layers"):
            expected = f"{name}.{WINDOWS['sliding_window_pattern']} for each layer"
            raise refusal(path, expected, f"{len(layers)} of them")
        config["layer_types"] = [f"{'sliding' if each else 'full'}_attention" for each in layers]
        del config["sliding_window_pattern"]
    factor = mine.get("rope.scaling.factor")
    kind = mine.get("rope.scaling.type", "linear" if factor else "none")
    if kind != "none":
        config["rope_scaling"] = {"rope_type": str(kind), "factor": factor}
    config["tie_word_embeddings"] = "output.weight" not in header.entries
    if (table := header.entries.get("token_embd.weight")) is not None and table.shape:
        config["vocab_size"] = table.shape[0]
    plain = {*known.settings.values(), *BESIDE}
    inert = INERT | dict.fromkeys(WIDTHS, width)
    for key, value in mine.items():
        if key not in plain and (key not in inert or value != inert[key]):
            config.setdefault("unread setting", f"{name}.{key} = {value}"[:160])
    return config
