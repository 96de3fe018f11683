"""Llama, Mistral, Qwen2, Qwen3: pre-norm, RMSNorm, rotary positions, grouped-query heads, SwiGLU.

Qwen2 has biases on queries, keys and values; Qwen3 normalises queries and keys.

>>> from dudley.weights.layout import LAYOUTS
>>> sizes = {"hidden_size": 8, "num_attention_heads": 4, "num_key_value_heads": 2}
>>> LAYOUTS["mistral"].architecture(sizes).heads()
(4, 2, 2)
"""

from __future__ import annotations

from dudley.weights.architecture import Architecture, Config, reader
from dudley.weights.layout import LAYOUTS, Layout, Skip, Slot, linear, norm, table
from dudley.weights.output import Output

_LAYER = "layers.{layer}"
SLOTS = (
    *table("embed_tokens.weight", "W_E"),
    *norm(f"{_LAYER}.input_layernorm", "ln_1"),
    *linear(f"{_LAYER}.self_attn.q_proj", "Q"),
    *linear(f"{_LAYER}.self_attn.k_proj", "K"),
    *linear(f"{_LAYER}.self_attn.v_proj", "v"),
    *linear(f"{_LAYER}.self_attn.o_proj", "c"),
    Slot(f"{_LAYER}.self_attn.q_norm.weight", ("g_q",), "column"),
    Slot(f"{_LAYER}.self_attn.k_norm.weight", ("g_k",), "column"),
    *norm(f"{_LAYER}.post_attention_layernorm", "ln_2"),
    *linear(f"{_LAYER}.mlp.gate_proj", "1"),
    *linear(f"{_LAYER}.mlp.up_proj", "3"),
    *linear(f"{_LAYER}.mlp.down_proj", "2"),
    *norm("norm", "ln_f"),
    Slot("lm_head.weight", ("W_out",)),
    Slot("score.weight", ("W_cls",)),
)
SKIPS = (
    Skip(r"rotary_emb\.inv_freq$", "buffer: rotary frequencies, no weights"),
    Skip(r"^(classifier|qa_outputs)\.", "another head", head=True),
)
_ROTATIONS = (None, "default", "linear", "dynamic", "llama3")  # the others also scale the scores


def _odd(config: Config) -> str:
    """Why the scores are not those of plain rotations, if they are not."""
    rope = [config.values.get(name) or {} for name in ("rope_scaling", "rope_parameters")]
    rope += [inner for setting in rope for inner in getattr(setting, "values", list)() if inner]
    for setting in rope:
        kind = setting.get("rope_type", setting.get("type")) if isinstance(setting, dict) else None
        if kind not in _ROTATIONS:
            return f"rotary positions of type {kind!r}, which scale the scores"
    return ""


def _family(name: str, tied: bool) -> None:
    @reader
    def architecture(config: Config) -> Architecture:
        return Architecture(
            d=config.size("hidden_size"),
            L=config.size("num_hidden_layers"),
            H=config.size("num_attention_heads"),
            groups=config.size("num_key_value_heads"),
            k=config.size("head_dim"),
            T=config.size("max_position_embeddings"),
            order="pre",
            rms=True,
            eps=config.number("rms_norm_eps"),
            sigma=config.sigma("hidden_act"),
            gated=True,
            causal=True,
            rope=True,
            qk_norm=name == "qwen3",
            bias=config.flag("attention_bias", False)
            if "attention_bias" in config.values
            else None,
            tied=config.flag("tie_word_embeddings", tied),
            window=config.window(default=not name.startswith("qwen")),
            head=config.head(),
            outputs=(Output("classes"), Output("language")),
            odd=_odd(config),
        )

    anchor = "layers.0.self_attn.q_proj.weight"
    layout = Layout(name, SLOTS, SKIPS, architecture, anchor, ("lm_head.weight", "score.weight"))
    LAYOUTS.register(name)(layout)


for _name in ("llama", "mistral", "qwen2", "qwen3"):
    _family(_name, tied=False)
