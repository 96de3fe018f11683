"""Llama, Mistral, Qwen2, Qwen3: pre-norm, RMSNorm, rotary positions, grouped-query heads, SwiGLU.

Qwen2 has biases on queries, keys and values; Qwen3 normalises queries and keys.

>>> from dudley.weights.layout import LAYOUTS
>>> sizes = {"hidden_size": 8, "num_attention_heads": 4, "num_key_value_heads": 2}
>>> LAYOUTS["mistral"].architecture(sizes).heads()
(4, 2, 2)
"""

from __future__ import annotations

from dataclasses import replace

from dudley.weights.architecture import Architecture, Config, reader
from dudley.weights.layout import LAYOUTS, Layout, Skip, Slot, linear, norm, table
from dudley.weights.output import Output
from dudley.weights.rotary import USUAL, rotary_table, turns_of

LAYER = "layers.{layer}"
ATTENTION = (
    *linear(f"{LAYER}.self_attn.q_proj", "Q"),
    *linear(f"{LAYER}.self_attn.k_proj", "K"),
    *linear(f"{LAYER}.self_attn.v_proj", "v"),
    *linear(f"{LAYER}.self_attn.o_proj", "c"),
)
GATED = (
    *linear(f"{LAYER}.mlp.gate_proj", "1"),
    *linear(f"{LAYER}.mlp.up_proj", "3"),
    *linear(f"{LAYER}.mlp.down_proj", "2"),
)
OUTSIDE = (
    *table("embed_tokens.weight", "W_E"),
    *linear("lm_head", "out"),
    Slot("score.weight", ("W_cls",)),
)
SLOTS = (
    *OUTSIDE,
    *norm(f"{LAYER}.input_layernorm", "ln_1"),
    *ATTENTION,
    Slot(f"{LAYER}.self_attn.q_norm.weight", ("g_q",), "column"),
    Slot(f"{LAYER}.self_attn.k_norm.weight", ("g_k",), "column"),
    *norm(f"{LAYER}.post_attention_layernorm", "ln_2"),
    *GATED,
    *norm("norm", "ln_f"),
)
SKIPS = (
    Skip(r"rotary_emb\.inv_freq$", "buffer: rotary frequencies, no weights"),
    Skip(r"^(classifier|qa_outputs)\.", "another head", head=True),
)
ANCHOR = "layers.0.self_attn.q_proj.weight"
NAMES_OUTSIDE = ("lm_head.weight", "lm_head.bias", "score.weight")


def decoder(config: Config, base: float = USUAL, part: float = 1.0, **more) -> Architecture:
    """What Llama and its relatives have in common; ``base`` and ``part`` of its rotations."""
    values = {
        "rms": True,
        "eps": config.number("rms_norm_eps"),
        "sigma": config.sigma("hidden_act"),
        "gated": True,
        "bias": config.flag("attention_bias", False) if "attention_bias" in config.values else None,
        "tied": config.flag("tie_word_embeddings", False),
        "window": config.window(default=True),
        "groups": config.size("num_key_value_heads"),
        "order": "pre",
    }
    architecture = Architecture(
        d=config.size("hidden_size"),
        L=config.size("num_hidden_layers"),
        H=config.size("num_attention_heads"),
        k=config.size("head_dim"),
        T=config.size("max_position_embeddings"),
        causal=True,
        rope=True,
        head=config.head(),
        outputs=(Output("classes"), Output("language")),
        **(values | more),
    )
    turns, odd = turns_of(architecture, [rotary_table(config, base, part)] * (architecture.L or 1))
    return replace(architecture, turns=turns, odd=architecture.odd or odd)


def register_decoder(name: str, slots, architecture, anchor: str = ANCHOR, honours=()) -> None:
    """A family whose names outside the layers are Llama's."""
    LAYOUTS.register(name)(
        Layout(
            name,
            slots,
            SKIPS,
            architecture,
            anchor,
            NAMES_OUTSIDE,
            honours=honours,
            assumable=slots is SLOTS and not honours,
        )
    )


def _family(name: str) -> None:
    @reader
    def architecture(config: Config) -> Architecture:
        window = config.window(default=not name.startswith("qwen"))
        return decoder(config, qk_norm=name == "qwen3", window=window)

    register_decoder(name, SLOTS, architecture)


for _name in ("llama", "mistral", "qwen2", "qwen3"):
    _family(_name)
